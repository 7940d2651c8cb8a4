"""The reports that there are, and which of them a run is to have.

Two of ours are written for every run. The others are asked for, as those of other packages are, which come by entry
point and are the same classes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeGuard

from carob.errors import ConfigError, UsageError
from carob.plugins.features import all_features, load
from carob.plugins.packages import FIX, find_entry_points, load_entry_point, where
from carob.plugins.project import Project
from carob.reports.artifacts import safe_stem
from carob.reports.base import ParallelReport, Report
from carob.reports.json import JsonReport
from carob.reports.markdown import MarkdownReport
from carob.text.wording import did_you_mean

ENTRY_POINTS: Final = "carob.reports"
_EXTENSION: Final = re.compile(r"\w+(\.\w+)*")
NO_REPORT: Final = "is not a report: it must be a class with `extension` and the methods `case` and `end`."


class Wanted(NamedTuple):
    """A report that a run is to have, and its file or folder; without one, next to the journal."""

    name: str
    report: type[Report]
    path: str = ""


EVERY_RUN: Final[Mapping[str, type[ParallelReport]]] = {"json": JsonReport, "markdown": MarkdownReport}
ON_REQUEST: Final[Mapping[str, str]] = {
    "html": "carob.reports.html.report:HtmlReport",
    "junit": "carob.reports.junit:JunitReport",
    "github": "carob.reports.github:GithubReport",
    "github-summary": "carob.reports.github:GithubSummary",
    "gitlab": "carob.reports.gitlab:GitlabReport",
    "csv": "carob.reports.rows:CsvReport",
    "jsonl": "carob.reports.rows:JsonlReport",
}
"""Where each of them is found: only those asked for are loaded."""
BUILT_IN: Final = (*EVERY_RUN, *ON_REQUEST)


def select_reports(
    texts: Sequence[str], project: Project, spared: Sequence[str] = (), base: str = ""
) -> tuple[Wanted, ...]:
    """The reports that `NAME` or `NAME=PATH` and the project ask for, in addition to those that every run has.

    Those of `spared` are files that none may replace. Relative paths are below `base`, by default this folder.
    """
    pairs = [(name, path) for name, _, path in (text.partition("=") for text in texts)]
    listed = {name for name, _ in pairs}
    pairs += [
        (name, _path_from_base(project, table.path, base))
        for name, table in project.reports.items()
        if name not in listed
    ]
    selected = [Wanted(name, find(name, project), path) for name, path in pairs]
    _refuse_shared(selected, spared, base)
    return tuple(report for report in selected if report.path or report.name not in EVERY_RUN)


def _refuse_shared(reports: Sequence[Wanted], spared: Sequence[str], base: str) -> None:
    """Two reports at one place would be one, and a report at the place of the suite would be the end of it."""
    users = {os.path.realpath(os.path.join(base, file)): f"the file {file}" for file in spared}
    for report in reports:
        if not report.path:
            continue
        path = report_path(report.path, f"usual.{file_extension(report.name, report.report)}", base)
        real_path = os.path.realpath(os.path.join(base, path))
        if real_path in users:
            why = f"{users[real_path]} and the report {report.name!r} cannot both be at {report.path}."
            raise UsageError(why, fix="Give the report another file.", slug="bad-option")
        users[real_path] = f"the report {report.name!r}"


def refuse_one_file(texts: Sequence[str], project: Project) -> None:
    """Several runs would write over each other's report where it has a file of its own."""
    for report in select_reports(texts, project):
        if report.path and report_path(report.path, "usual") == Path(report.path):
            fix = "Name a folder, as in 'reports/', or leave the path out."
            why = f"several suites cannot have one report {report.name!r} at {report.path}."
            raise UsageError(why, fix=fix, slug="bad-option")


def find(name: str, project: Project) -> type[Report]:
    """The report of this name; code of others is loaded only if it is the one that was meant."""
    table = project.reports.get(name)
    if table is not None and table.use:
        return _of_project(name, table.use, project)
    if name in EVERY_RUN:
        return EVERY_RUN[name]
    if name in ON_REQUEST:
        return _of_feature(load(ON_REQUEST[name]), ON_REQUEST[name])
    if place := next((place for feature in all_features() if (place := feature.reports.get(name))), ""):
        return _of_feature(load(place), place)
    outside = find_entry_points(ENTRY_POINTS)
    if name not in outside:
        names = [*BUILT_IN, *sorted({*outside, *project.reports} - {name, *BUILT_IN})]
        fix = did_you_mean(name, names) or f"Known: {', '.join(names)}."
        at = project.where("reports", name) if table else ""
        raise UsageError(f"unknown report {name!r}.", where=at, fix=fix, slug="unknown-report")
    report = load_entry_point(outside[name])
    if not is_report(report):
        raise ConfigError(NO_REPORT, where=where(outside[name]), fix=FIX)
    return report


def _of_feature(report: object, place: str) -> type[Report]:
    if not is_report(report):
        raise ConfigError(NO_REPORT, where=place, fix=FIX)
    return report


def _of_project(name: str, spec: str, project: Project) -> type[Report]:
    at = project.where("reports", name)
    if name in BUILT_IN or name in find_entry_points(ENTRY_POINTS):
        raise ConfigError(f"there is already a report called {name!r}.", where=at, fix="Give it another name.")
    report = project.load("reports", name, spec)
    if not is_report(report):
        raise ConfigError(f"{spec!r} {NO_REPORT}", where=at, fix="Fix it; see `carob help extending`.")
    return report


def _path_from_base(project: Project, path: str, base: str) -> str:
    """A path of the project's file, which is relative to it, as it is written from the folder of the run."""
    return os.path.relpath(project.root / path, base or ".") + path[len(path.rstrip(os.sep)) :] if path else ""


def file_extension(name: str, report: type[Report]) -> str:
    """How the name of its file ends: with the name of a report of others, which else looks like a copy of ours."""
    return report.extension if name in BUILT_IN else f"{safe_stem(name)}.{report.extension}"


def is_report(value: object) -> TypeGuard[type[Report]]:
    extension = getattr(value, "extension", None)
    return (
        isinstance(value, type)
        and isinstance(extension, str)
        and _EXTENSION.fullmatch(extension) is not None
        and all(callable(getattr(value, name, None)) for name in ("case", "end"))
    )


def report_path(path_text: str, usual: str, base: str = "") -> Path:
    """A folder takes the usual name; whatever else is named is the file."""
    path = Path(path_text)
    return path / usual if path_text.endswith(os.sep) or Path(base, path_text).is_dir() else path
