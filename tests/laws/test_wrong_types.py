"""Law 8: a wrong type in a file gets an error with a place. Never a traceback, never advice to uninstall something."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from carob.errors import CarobError, ConfigError, SuiteError
from carob.suites import load
from carob.targets.recordings.exports import ExportedTraces
from laws.coverage import Coverage, require
from laws.files import AS_TEXT, RESULTS, SUITES, VALUES, Place, places, remove, replace
from laws.samples import CATALOG

RAISED = ("KeyError", "TypeError", "AttributeError", "IndexError", "ValueError: ", "NoneType", "RecursionError")
"""What an exception of Python is called, which says nothing to whoever wrote a file."""


def _values() -> Sequence[Any]:
    return VALUES if settings().max_examples > 100 else VALUES[:9:2]


def complaint(read: Callable[[], object]) -> str:
    """What is wrong with how a file was refused; nothing where it was read, or refused as it should be."""
    try:
        read()
    except SuiteError as error:
        for problem in error.problems:
            if problem.line < 1 or not problem.message:
                return f"no place: {problem}"
            if "ninstall" in str(problem) or any(name in problem.message for name in RAISED):
                return f"not for a person: {problem}"
        return "" if error.problems else "no problem is named"
    except ConfigError as error:
        return f"not for a person: {error}" if "ninstall" in str(error) else ""
    except CarobError as error:
        return "" if str(error) else "no message"
    except Exception as error:  # noqa: BLE001 - any other one is what is looked for
        return f"{type(error).__name__}: {error}"
    return ""


def changes(tree: Any, place: Place, values: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """The same values with another one at a place, and without it."""
    for value in values:
        yield f"= {value!r}", replace(tree, place, value)
    if place:
        yield "is missing", remove(tree, place)


def find_tracebacks_of_suites(folder: Path) -> Coverage:
    formats = [suite.format for suite in SUITES]
    coverage = Coverage(8, "a wrong type in a suite has a place", formats=formats, exceptions=AS_TEXT)
    for suite in SUITES:
        for number, place in enumerate(places(suite.tree)):
            values = (
                _values()
                if settings().max_examples > 100
                else [VALUES[(number + at) % len(VALUES)] for at in (0, 5, 9)]
            )
            for change, tree in changes(suite.tree, place, values):
                path = suite.write(folder, tree)
                found = complaint(lambda path=path: load(path, CATALOG))  # type: ignore[misc]
                coverage.try_one(not found, f"{suite.format} {place} {change}: {found[:150]}")
    return coverage


def find_tracebacks_of_results(folder: Path) -> Coverage:
    coverage = Coverage(8, "a wrong type in a recording has a place", formats=RESULTS)
    path = folder / "results.json"
    for name, tree in RESULTS.items():
        for place in places(tree):
            for change, changed in changes(tree, place, _values()):
                path.write_text(json.dumps(changed))
                found = complaint(lambda: list(ExportedTraces(str(path))))
                coverage.try_one(not found, f"results of {name} {place} {change}: {found[:150]}")
    return coverage


def test_a_wrong_type_in_a_suite_has_a_place(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    require(find_tracebacks_of_suites(tmp_path), record_property)


def test_a_wrong_type_in_a_recording_has_a_place(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    require(find_tracebacks_of_results(tmp_path), record_property)


def test_every_format_is_tried() -> None:
    assert {suite.format for suite in SUITES} == {format.name for format in CATALOG.formats}


def test_a_format_that_raises_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the reader of a format trusts its file."""
    monkeypatch.setattr(
        "carob.suites.formats.golden.GoldenSet.read", lambda self, file, catalog: file.tree[0]["input"].x
    )
    assert find_tracebacks_of_suites(tmp_path).violations
