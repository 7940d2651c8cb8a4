"""The reports that there are, and which of them a run is to have.

Two of ours are written for every run. The others are asked for, as those of other packages are, which come by entry
point and are the same classes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple, TypeGuard

from karat.errors import ConfigError, UsageError
from karat.plugins.packages import FIX, find_entry_points, load_entry_point, where
from karat.plugins.project import Project
from karat.reports.base import ParallelReport, Report
from karat.reports.json import JsonReport
from karat.reports.markdown import MarkdownReport
from karat.text.wording import did_you_mean

ENTRY_POINTS: Final = "karat.reports"
_EXTENSION: Final = re.compile(r"\w+(\.\w+)*")
NO_REPORT: Final = "is not a report: it must be a class with `extension` and the methods `case` and `end`."


class Wanted(NamedTuple):
    """A report that a run is to have, and its file or folder; without one, next to the journal."""

    name: str
    report: type[Report]
    place: str = ""


EVERY_RUN: Final[Mapping[str, type[ParallelReport]]] = {"json": JsonReport, "markdown": MarkdownReport}
ON_REQUEST: Final[Mapping[str, str]] = {
    "html": "karat.reports.html.report:HtmlReport",
    "junit": "karat.reports.junit:JunitReport",
    "github": "karat.reports.github:GithubReport",
    "github-summary": "karat.reports.github:GithubSummary",
    "gitlab": "karat.reports.gitlab:GitlabReport",
    "csv": "karat.reports.rows:CsvReport",
    "jsonl": "karat.reports.rows:JsonlReport",
}
"""Where each of them is found: only those asked for are loaded."""
BUILT_IN: Final = (*EVERY_RUN, *ON_REQUEST)


def select_reports(
    asked: Sequence[str], project: Project, spared: Sequence[str] = (), base: str = ""
) -> tuple[Wanted, ...]:
    """The reports that `NAME` or `NAME=PATH` and the project ask for, in addition to those that every run has.

    Those of `spared` are files that none may replace. Relative paths are below `base`, by default this folder.
    """
    named = [(name, path) for name, _, path in (text.partition("=") for text in asked)]
    listed = {name for name, _ in named}
    named += [
        (name, _path_from_base(project, own.path, base)) for name, own in project.reports.items() if name not in listed
    ]
    found = [Wanted(name, find(name, project), path) for name, path in named]
    _refuse_shared(found, spared, base)
    return tuple(report for report in found if report.place or report.name not in EVERY_RUN)


def _refuse_shared(reports: Sequence[Wanted], spared: Sequence[str], base: str) -> None:
    """Two reports at one place would be one, and a report at the place of the suite would be the end of it."""
    taken = {os.path.realpath(os.path.join(base, file)): f"the file {file}" for file in spared}
    for report in reports:
        if not report.place:
            continue
        path = report_path(report.place, f"usual.{report.report.extension}", base)
        place = os.path.realpath(os.path.join(base, path))
        if place in taken:
            why = f"{taken[place]} and the report {report.name!r} cannot both be at {report.place}."
            raise UsageError(why, fix="Give the report another file.", slug="bad-option")
        taken[place] = f"the report {report.name!r}"


def refuse_one_file(asked: Sequence[str], project: Project) -> None:
    """Several runs would write over each other's report where it has a file of its own."""
    for report in select_reports(asked, project):
        if report.place and report_path(report.place, "usual") == Path(report.place):
            fix = "Name a folder, as in 'reports/', or leave the path out."
            why = f"several suites cannot have one report {report.name!r} at {report.place}."
            raise UsageError(why, fix=fix, slug="bad-option")


def find(name: str, project: Project) -> type[Report]:
    """The report of this name; code of others is loaded only if it is the one that was meant."""
    own = project.reports.get(name)
    if own is not None and own.use:
        return _of_project(name, own.use, project)
    if name in EVERY_RUN:
        return EVERY_RUN[name]
    if name in ON_REQUEST:
        return _ours(ON_REQUEST[name])
    outside = find_entry_points(ENTRY_POINTS)
    if name not in outside:
        known = [*BUILT_IN, *sorted({*outside, *project.reports} - {name, *BUILT_IN})]
        fix = did_you_mean(name, known) or f"Known: {', '.join(known)}."
        at = project.where("reports", name) if own else ""
        raise UsageError(f"unknown report {name!r}.", where=at, fix=fix, slug="unknown-report")
    found = load_entry_point(outside[name])
    if not is_report(found):
        raise ConfigError(NO_REPORT, where=where(outside[name]), fix=FIX)
    return found


def _ours(spec: str) -> type[Report]:
    module, _, name = spec.partition(":")
    found = getattr(import_module(module), name)
    assert is_report(found)
    return found


def _of_project(name: str, spec: str, project: Project) -> type[Report]:
    at = project.where("reports", name)
    if name in BUILT_IN or name in find_entry_points(ENTRY_POINTS):
        raise ConfigError(f"there is already a report called {name!r}.", where=at, fix="Give it another name.")
    found = project.load("reports", name, spec)
    if not is_report(found):
        raise ConfigError(f"{spec!r} {NO_REPORT}", where=at, fix="Fix it; see docs/extending.md.")
    return found


def _path_from_base(project: Project, path: str, base: str) -> str:
    """A path of the project's file, which is relative to it, as it is written from the folder of the run."""
    return os.path.relpath(project.root / path, base or ".") + path[len(path.rstrip(os.sep)) :] if path else ""


def is_report(found: object) -> TypeGuard[type[Report]]:
    extension = getattr(found, "extension", None)
    return (
        isinstance(found, type)
        and isinstance(extension, str)
        and _EXTENSION.fullmatch(extension) is not None
        and all(callable(getattr(found, name, None)) for name in ("case", "end"))
    )


def report_path(place: str, usual: str, base: str = "") -> Path:
    """A folder takes the usual name; whatever else is named is the file."""
    path = Path(place)
    return path / usual if place.endswith(os.sep) or Path(base, place).is_dir() else path
