"""How reports are written, of an ended run or of recorded ones: each whole or not at all, and none spoils another."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain, count, cycle, islice
from pathlib import Path
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from carob.errors import ArtifactError, CarobError, UsageError
from carob.journal.parallel import map_in_processes
from carob.journal.reader import Journal
from carob.journal.views import RecordSummary, RunView, pack_summaries, unpack_summaries
from carob.model.run import CaseRecord
from carob.model.verdict import CaseStatus
from carob.plugins.project import Project
from carob.reports.artifacts import BinaryWriter, Names, open_atomic
from carob.reports.base import MultiRunReport, Report
from carob.reports.catalog import EVERY_RUN, Wanted, file_extension, find, report_path
from carob.text.wording import error_text

PLACE = "name another place for it"
USUAL = "usual"
PIECE = 250
"""Cases per piece of work where several processes write the reports."""
AT_ONCE = 10
"""Records that it holds meanwhile: more of them would keep the garbage collector busy."""

Made = TypeVar("Made", bound=Report)
Each: TypeAlias = Callable[[CaseRecord | RecordSummary], object]


class Written(NamedTuple):
    """The reports that were written, and why each of the others was not."""

    paths: tuple[Path, ...]
    failures: tuple[ArtifactError, ...]


def write_all(
    run: Journal, names: Names, others: Sequence[Wanted] = (), workers: int = 1, each: Each | None = None
) -> Written:
    """Write our reports and others. One that fails spoils no other.

    Several workers say what ours hold of the cases, unless a case has several records; code of others stays in this
    process. `each` is called with every case, by the same reading where there is one.
    """
    ours = [Wanted(name, report) for name, report in EVERY_RUN.items()]
    if workers < 2 or run.header.repeat > 1:
        return _in_one_reading(run, names, (*ours, *others), each)
    each = _once(each) if each else None
    try:
        dealt = _in_parts(run, names, workers, each)
    except Exception:  # noqa: BLE001 - whatever it is, the error names its report, and the other reports go on
        return _in_one_reading(run, names, (*ours, *others), each)
    written_alone = _in_one_reading(run, names, others) if others else Written((), ())
    return Written((*dealt.paths, *written_alone.paths), (*dealt.failures, *written_alone.failures))


def _once(each: Each) -> Each:
    """Calls it with each case once, even where cases are read again from the first one on."""
    last = (-1, 0)

    def call(record: CaseRecord | RecordSummary) -> None:
        nonlocal last
        if (place := (record.index, record.repeat)) > last:
            last = place
            each(record)

    return call


def _in_one_reading(run: RunView, names: Names, selected: Sequence[Wanted], each: Each | None = None) -> Written:
    writings = [_Writing(report.name, report.report, run, names, report.path) for report in selected]
    with _all_or_none(writings):
        for record in run.records():
            if each is not None:
                each(record)
            for writing in writings:
                if writing.report is not None:
                    writing.step(writing.report.case, record)
    return _sum_up(writings)


def _in_parts(run: Journal, names: Names, workers: int, each: Each | None) -> Written:
    writings = [_Writing(name, report, run, names) for name, report in EVERY_RUN.items()]

    def write_part(number: int) -> Sequence[bytes]:
        """How some cases came out, then what each of the reports holds of the first of them, then of some more."""
        records = run.records(number * PIECE, PIECE)
        summaries: list[RecordSummary] = []
        parts: list[bytes] = []
        while some := list(islice(records, AT_ONCE)):
            summaries += map(RecordSummary.of, some)
            parts += [writing.report.part(some) if writing.report is not None else b"" for writing in writings]
        return pack_summaries(summaries), *parts

    statuses: list[CaseStatus] = []
    with _all_or_none(writings):
        for summaries, *parts in map_in_processes(write_part, -(-len(run) // PIECE), workers, tuple, tuple):
            for summary in unpack_summaries(summaries):
                statuses.append(summary.verdict.status)
                if each is not None:
                    each(summary)
            for writing, part in zip(cycle(writings), parts, strict=False):
                if writing.report is not None:
                    writing.step(writing.report.add, part)
    run.statuses = statuses
    return _sum_up(writings)


@contextmanager
def _all_or_none(writings: Sequence[_Writing[Made]]) -> Iterator[None]:
    """Where none of them can go on, none is left half written."""
    try:
        yield
    except BaseException as error:
        for writing in writings:
            writing.discard(error)
        raise
    for writing in writings:
        writing.end()


def _sum_up(writings: Sequence[_Writing[Made]]) -> Written:
    failures = tuple(writing.failure for writing in writings if writing.failure is not None)
    return Written(tuple(writing.file.path for writing in writings if writing.failure is None), failures)


class _Writing(Generic[Made]):
    """One report in the making. What it raises is kept, and nothing more is asked of it."""

    def __init__(self, name: str, report: type[Made], run: RunView, names: Names, path_text: str = "") -> None:
        self._name, self._journal = name, run.path
        self._stack = ExitStack()
        self.failure: ArtifactError | None = None
        usual = names.report(file_extension(name, report))
        self.file = open_atomic(usual, base=names.base)
        if path_text:
            path = report_path(path_text, usual.name, names.base)
            self.file = open_atomic(path, replace=True, elsewhere=PLACE, base=names.base)
        self.report: Made | None = None
        self.step(self._start, report, run)

    def step(self, step: Callable[..., object], *arguments: object) -> None:
        try:
            step(*arguments)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - code of others may raise anything, and the run has its verdict
            self.discard(error)
            self.failure = self._build_error(error)
            self.report = None

    def end(self) -> None:
        if self.report is not None:
            self.step(self.report.end)
        if self.report is not None:
            self.step(self._stack.close)

    def discard(self, error: BaseException) -> None:
        self._stack.__exit__(type(error), error, error.__traceback__)

    def _start(self, report: type[Made], run: RunView) -> None:
        self.report = report(run, self._stack.enter_context(self.file))

    def _build_error(self, error: BaseException) -> ArtifactError:
        if not isinstance(error, ArtifactError):
            error = report_error(self._name, self.file.path, error)
        error.fix += (
            f" The journal is complete, so you can make the report later: carob report {self._journal} -f {self._name}"
        )
        return error


def report_error(name: str, path: Path, error: BaseException) -> ArtifactError:
    """The error for a report whose code failed."""
    why = f"report {name!r} failed: {type(error).__name__}: {error_text(error)}."
    return ArtifactError(why, where=str(path), fix="Fix it, or leave it out.", slug="report")


def write_into(runs: Sequence[RunView], report: type[Report], out: BinaryWriter) -> None:
    """Write one report of one run, or of several if it can hold them."""
    writer = report(runs[0], out)
    for number, run in enumerate(runs):
        if number and isinstance(writer, MultiRunReport):
            writer.add_run(run)
        for record in run.records():
            writer.case(record)
    writer.end()


def file_report(
    journals: Sequence[Journal], name: str, path: str | Path | BinaryWriter | None, project: Project
) -> tuple[Path, ...]:
    """Write a report of recorded runs: into one file, into a folder, next to each journal, or to what takes bytes."""
    if not journals:
        raise UsageError("no journal was given.", fix="Name at least one.", slug="bad-option")
    kind = find(name, project)
    if isinstance(path, str | Path | None):
        return tuple(
            _write_report(group, name, kind, file) for group, file in _group_by_file(journals, kind, name, path)
        )
    _refuse_several(journals, kind, name)
    write_into(journals, kind, path)
    return ()


def _group_by_file(
    journals: Sequence[Journal], kind: type[Report], name: str, path: str | Path | None
) -> Iterator[tuple[Sequence[Journal], Path]]:
    """Which journals go into which file."""
    if path is not None and (file := report_path(os.fspath(path), USUAL)).name != USUAL:
        _refuse_several(journals, kind, name)
        yield journals, file
        return
    used: set[Path] = set()
    for journal in journals:
        journal_path = Path(journal.path)
        folder = journal_path.parent if path is None else Path(path)
        extension = file_extension(name, kind)
        names = (folder / f"{journal_path.stem}{mark}.{extension}" for mark in chain([""], map("-{}".format, count(2))))
        file = next(candidate for candidate in names if candidate not in used)
        used.add(file)
        yield [journal], file


def _refuse_several(journals: Sequence[Journal], kind: type[Report], name: str) -> None:
    if len(journals) > 1 and not issubclass(kind, MultiRunReport):
        fix = "Name a folder, as in 'reports/', or one journal."
        raise UsageError(f"a {name!r} report covers one run, not {len(journals)}.", fix=fix, slug="bad-option")


def _write_report(journals: Sequence[Journal], name: str, kind: type[Report], file: Path) -> Path:
    precious = [source for journal in journals for source in (journal.path, journal.header.suite)]
    if os.path.realpath(file) in map(os.path.realpath, precious):
        fix = "Name another file with -o."
        raise UsageError("the report would overwrite its own source.", where=str(file), fix=fix, slug="bad-option")
    try:
        with open_atomic(file, replace=True, elsewhere=PLACE) as out:
            write_into(journals, kind, out)
    except (CarobError, KeyboardInterrupt):
        raise
    except BaseException as error:  # code of others may raise anything
        raise report_error(name, file, error) from error
    return file
