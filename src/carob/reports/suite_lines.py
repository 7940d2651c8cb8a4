"""The suite file of a run, where it is at hand and is the one that was run: its path, its lines, those of a case.

A journal may name any file as its suite, a pipe or a device too, and what was recorded is reported without it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Final, NamedTuple

from carob.checks.catalog import CheckCatalog
from carob.errors import CarobError
from carob.journal.views import RunView
from carob.model.run import Header
from carob.suites.documents.source import read_bytes
from carob.suites.reading import CheckKey, LocatedSuite, locate_suite

LARGEST_PAGE: Final = 4 << 20
"""The size up to which a suite is shown."""
LARGEST: Final = 1 << 19
"""To locate the checks of a larger file takes longer than a page may; its cases are shown as the journal holds them."""
LONGEST_LINE: Final = 2_000
"""A file with a longer line in a case is not one that people read by lines."""


class SuitePlace(NamedTuple):
    """The file of a suite, relative to its repository, and the lines of its cases as far as they are known."""

    file: str
    lines: Mapping[str, int]


class CaseSource(NamedTuple):
    """A case in its file: the number of its first line, its lines, and the line of each check."""

    first: int
    lines: Sequence[str]
    checks: Mapping[CheckKey, int]


def suite_place(run: RunView) -> SuitePlace:
    """The suite file of a run and the lines of its cases. Reads the suite again, so only reports with lines use it."""
    suite, path = run.header.suite, _path(run.header, run.catalog)
    located = _locate(path, run.header.suite_sha256, run.catalog)
    return SuitePlace(_in_repository(suite, path), located.case_lines() if located else {})


def suite_lines(header: Header, catalog: CheckCatalog) -> list[str]:
    """The lines of a suite's file; none if it is not at hand as it was run."""
    path, sha256 = _path(header, catalog), header.suite_sha256
    with suppress(CarobError, ValueError, OSError):
        if os.path.isfile(path) and os.path.getsize(path) <= LARGEST_PAGE:
            data = read_bytes(path)
            if hashlib.sha256(data).hexdigest() == sha256 or _locate(path, sha256, catalog):
                return data.decode("utf-8", "replace").splitlines()
    return []


class SuiteLines:
    """A suite file, read when the first case asks for its lines."""

    def __init__(self, header: Header, catalog: CheckCatalog) -> None:
        self._path = _path(header, catalog)
        self._sha256 = header.suite_sha256
        self._catalog = catalog

    def find(self, case_id: str) -> CaseSource | None:
        """The lines of a case; None where its file is not at hand, was changed since, or is not of lines."""
        suite = _read_text(self._path, self._sha256, self._catalog)
        if suite is None or case_id not in suite.numbers:
            return None
        number = suite.numbers[case_id]
        checks = suite.located.check_lines(number, self._catalog)
        start = suite.located.document.place(suite.located.expectations[number].case)
        last = max([_last_line(suite, start), *checks.values()])
        lines = suite.lines[start[0] - 1 : last]
        return None if any(len(line) > LONGEST_LINE for line in lines) else CaseSource(start[0], lines, checks)


class _SuiteText(NamedTuple):
    located: LocatedSuite
    lines: list[str]
    offsets: list[int]
    numbers: dict[str, int]


@lru_cache(maxsize=2)
def _read_text(path: str, sha256: str, catalog: CheckCatalog) -> _SuiteText | None:
    with suppress(OSError, ValueError):
        if os.path.getsize(path) <= LARGEST and (located := _locate(path, sha256, catalog)):
            lines = located.file.text.split("\n")
            offsets = [0, *accumulate(len(line) + 1 for line in lines)]
            numbers = {case.id: number for number, case in enumerate(located.suite.cases)}
            return _SuiteText(located, lines, offsets, numbers)
    return None


def _path(header: Header, catalog: CheckCatalog) -> str:
    return os.path.abspath(os.path.join(catalog.project.folder, header.suite))


def _locate(path: str, sha256: str, catalog: CheckCatalog) -> LocatedSuite | None:
    """The suite of a file, if it has this hash now."""
    with suppress(CarobError, ValueError, OSError):
        if os.path.isfile(path):
            located = _locate_version(path, catalog, os.stat(path).st_mtime_ns)
            return located if located.suite.sha256 == sha256 else None
    return None


@lru_cache(maxsize=4)
def _locate_version(path: str, catalog: CheckCatalog, modified: int) -> LocatedSuite:
    return locate_suite(read_bytes(path), path, catalog)


def _last_line(suite: _SuiteText, start: tuple[int, int]) -> int:
    """The last line of the value that starts there: where its JSON ends, else before what is indented less."""
    line, column = start
    text, offset = suite.located.file.text, suite.offsets[line - 1] + column - 1
    if text[offset] == "{":
        with suppress(ValueError, RecursionError):
            return line + text.count("\n", offset, json.JSONDecoder().raw_decode(text, offset)[1])
    last = line
    for number, content in enumerate(suite.lines[line:], line + 1):
        if content.strip() and not content.lstrip().startswith("#"):
            if len(content) - len(content.lstrip(" ")) < column - 1:
                break
            last = number
    return last


def _in_repository(suite: str, path: str) -> str:
    """The path as forges write it: from the folder that holds `.git`, else as the run had it."""
    with suppress(OSError, ValueError):
        for folder in Path(path).parents:
            if (folder / ".git").exists():
                return Path(path).relative_to(folder).as_posix()
    return suite.replace(os.sep, "/")
