"""How reports are written: each whole or not at all, and none spoils another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from karat.errors import ArtifactError
from karat.journal.forks import pieces
from karat.model.run import CaseRecord, RunView
from karat.reports.artifacts import Names, Sink, whole_file
from karat.reports.catalog import EVERY_RUN, Joining, Report, Wanted, placed
from karat.text.wording import said

PLACE = "name another place for it"


class Written(NamedTuple):
    """The reports that were written, and why each of the others was not."""

    paths: tuple[Path, ...]
    failures: tuple[ArtifactError, ...]


class ReportTold(Struct, frozen=True, array_like=True):
    """Where a report came to stand, or why it could not be written."""

    path: str
    message: str = ""
    where: str = ""
    fix: str = ""
    slug: str = ""


_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(ReportTold).decode


def write_all(run: RunView, names: Names, others: Sequence[Wanted] = (), workers: int = 1) -> Written:
    """Write our reports and others. One that fails spoils no other.

    With several workers each report of ours has a process of its own; code of others stays in this one.
    """
    ours = [Wanted(name, report) for name, report in EVERY_RUN.items()]
    if workers < 2:
        return _in_one_reading(run, names, (*ours, *others))
    each = list(pieces(lambda number: _apart(run, names, ours[number]), len(ours), workers, _pack, _unpack))
    rest = _in_one_reading(run, names, others) if others else Written((), ())
    paths = [Path(told.path) for told in each if told.path]
    failures = [
        ArtifactError(told.message, where=told.where, fix=told.fix, slug=told.slug) for told in each if not told.path
    ]
    return Written((*paths, *rest.paths), (*failures, *rest.failures))


def _apart(run: RunView, names: Names, wanted: Wanted) -> ReportTold:
    """Write one report in another process, and tell what became of it."""
    paths, failures = _in_one_reading(run, names, [wanted])
    if paths:
        return ReportTold(str(paths[0]))
    error = failures[0]
    return ReportTold("", error.message, error.where, error.fix, error.slug)


def _in_one_reading(run: RunView, names: Names, wanted: Sequence[Wanted]) -> Written:
    writings = [_Writing(report, run, names) for report in wanted]
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
        self._name, self._journal = wanted.name, run.path
        self._stack = ExitStack()
        self.failure: ArtifactError | None = None
        usual = names.report(wanted.report.extension)
        self.file = whole_file(usual)
        if wanted.place:
            self.file = whole_file(placed(wanted.place, usual.name), replace=True, elsewhere=PLACE)
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
        if not isinstance(error, ArtifactError):
            error = failed(self._name, self.file.path, error)
        error.fix += f" The journal is whole, and it can be made later: karat report {self._journal} -f {self._name}"
        return error


def failed(name: str, path: Path, error: BaseException) -> ArtifactError:
    """What is told of a report whose code broke."""
    why = f"report {name!r} failed: {type(error).__name__}: {said(error)}."
    return ArtifactError(why, where=str(path), fix="Mend it, or leave it out.", slug="report")


def write_into(runs: Sequence[RunView], report: type[Report], out: Sink) -> None:
    """Write one report of one run, or of several if it can hold them."""
    made = report(runs[0], out)
    for number, run in enumerate(runs):
        if number and isinstance(made, Joining):
            made.also(run)
        for record in run.records():
            made.case(record)
    made.end()
