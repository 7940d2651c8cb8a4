"""The reports that there are, which of them a run is to have, and how all of them are written.

Ours are written for every run. Those of other packages come by entry point, are the same classes, and are asked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar, Final, NamedTuple, Protocol, TypeGuard

from karat.errors import ArtifactError, ConfigError, UsageError
from karat.model.run import CaseRecord, RunView
from karat.plugins.packages import FIX, brought, loaded, where
from karat.plugins.project import Project, current
from karat.reports.artifacts import Names, Sink, whole_file
from karat.reports.json import JsonReport
from karat.reports.markdown import MarkdownReport
from karat.text.wording import did_you_mean, said

ENTRY_POINTS: Final = "karat.reports"
_EXTENSION: Final = re.compile(r"\w+(\.\w+)*")
NO_REPORT: Final = "is no report: that is a class with `extension`, and the methods `case` and `end`."


class Report(Protocol):
    """A report in the making: made with the run and the place for its bytes, `case` for each record, then `end`.

    Its file is `minimum-eval-results-<timestamp>.<extension>`, unless another is asked for.
    """

    extension: ClassVar[str]

    def __init__(self, run: RunView, out: Sink) -> None: ...

    def case(self, record: CaseRecord) -> None: ...

    def end(self) -> None: ...


class Wanted(NamedTuple):
    """A report that a run is to have, and its file or folder; without, beside the journal."""

    name: str
    report: type[Report]
    place: str = ""


class Written(NamedTuple):
    """The reports that were written, and why each of the others was not."""

    paths: tuple[Path, ...]
    failures: tuple[ArtifactError, ...]


BUILT_IN: Final[Mapping[str, type[Report]]] = {"json": JsonReport, "markdown": MarkdownReport}


def wanted(asked: Sequence[str]) -> tuple[Wanted, ...]:
    """The reports that `NAME` or `NAME=PATH` and the project ask for, beside those that every run has."""
    project = current()
    named = [(name, path) for name, _, path in (text.partition("=") for text in asked)]
    told = {name for name, _ in named}
    named += [(name, _below(project, own.path)) for name, own in project.reports.items() if name not in told]
    found = [Wanted(name, find(name, project), path) for name, path in named]
    return tuple(report for report in found if report.place or report.name not in BUILT_IN)


def refuse_one_file(asked: Sequence[str]) -> None:
    """Several runs would write over each other's report where it has a file of its own."""
    for report in wanted(asked):
        if report.place and _file(report.place, "usual") == Path(report.place):
            fix = "Name a folder, as in 'reports/', or leave the path out."
            why = f"several suites cannot have one report {report.name!r} at {report.place}."
            raise UsageError(why, fix=fix, slug="bad-option")


def find(name: str, project: Project) -> type[Report]:
    """The report of this name; code of others is loaded only if it is the one that was meant."""
    own = project.reports.get(name)
    if own is not None and own.use:
        return _of_project(name, own.use, project)
    if name in BUILT_IN:
        return BUILT_IN[name]
    outside = brought(ENTRY_POINTS)
    if name not in outside:
        known = [*BUILT_IN, *sorted({*outside, *project.reports} - {name})]
        fix = did_you_mean(name, known) or f"Known are {', '.join(known)}."
        at = project.where("reports", name) if own else ""
        raise UsageError(f"there is no report {name!r}.", where=at, fix=fix, slug="unknown-report")
    found = loaded(outside[name])
    if not is_report(found):
        raise ConfigError(NO_REPORT, where=where(outside[name]), fix=FIX)
    return found


def _of_project(name: str, spec: str, project: Project) -> type[Report]:
    at = project.where("reports", name)
    if name in BUILT_IN or name in brought(ENTRY_POINTS):
        raise ConfigError(f"a report is called {name!r} already.", where=at, fix="Give it another name.")
    found = project.load("reports", name, spec)
    if not is_report(found):
        raise ConfigError(f"{spec!r} {NO_REPORT}", where=at, fix="Mend it; docs/extending.md shows how.")
    return found


def _below(project: Project, path: str) -> str:
    """A path of the project's file, which is relative to it, as it is written from here."""
    return os.path.relpath(project.root / path) + path[len(path.rstrip(os.sep)) :] if path else ""


def is_report(found: object) -> TypeGuard[type[Report]]:
    extension = getattr(found, "extension", None)
    return (
        isinstance(found, type)
        and isinstance(extension, str)
        and _EXTENSION.fullmatch(extension) is not None
        and all(callable(getattr(found, name, None)) for name in ("case", "end"))
    )


def write_all(run: RunView, names: Names, others: Sequence[Wanted] = ()) -> Written:
    """Write our reports and others in one reading of the journal. One that fails spoils no other."""
    ours = [Wanted(name, report) for name, report in BUILT_IN.items()]
    writings = [_Writing(report, run, names) for report in (*ours, *others)]
    try:
        for record in run.records():
            for writing in writings:
                writing.case(record)
    except BaseException as error:
        for writing in writings:
            writing.discard(error)
        raise
    for writing in writings:
        writing.end()
    failures = tuple(writing.failure for writing in writings if writing.failure is not None)
    return Written(tuple(writing.file.path for writing in writings if writing.failure is None), failures)


class _Writing:
    """One report in the making. What it raises is kept, and nothing more is asked of it."""

    def __init__(self, wanted: Wanted, run: RunView, names: Names) -> None:
        self._name = wanted.name
        self._stack = ExitStack()
        self.failure: ArtifactError | None = None
        usual = names.report(wanted.report.extension)
        self.file = whole_file(_file(wanted.place, usual.name) if wanted.place else usual, replace=bool(wanted.place))
        self._report: Report
        self._step(self._start, wanted.report, run)

    def case(self, record: CaseRecord) -> None:
        if self.failure is None:
            self._step(self._report.case, record)

    def end(self) -> None:
        if self.failure is None:
            self._step(self._report.end)
        if self.failure is None:
            self._step(self._stack.close)

    def discard(self, error: BaseException) -> None:
        self._stack.__exit__(type(error), error, error.__traceback__)

    def _start(self, report: type[Report], run: RunView) -> None:
        self._report = report(run, self._stack.enter_context(self.file))

    def _step(self, step: Callable[..., object], *given: object) -> None:
        try:
            step(*given)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - code of others may raise anything, and the run has its verdict
            self.discard(error)
            self.failure = self._failed(error)

    def _failed(self, error: BaseException) -> ArtifactError:
        if isinstance(error, ArtifactError):
            return error
        why = f"report {self._name!r} failed: {type(error).__name__}: {said(error)}."
        return ArtifactError(why, where=str(self.file.path), fix="Mend it, or leave it out.", slug="report")


def _file(place: str, usual: str) -> Path:
    """A folder takes the usual name; whatever else is named is the file."""
    path = Path(place)
    return path / usual if place.endswith(os.sep) or path.is_dir() else path
