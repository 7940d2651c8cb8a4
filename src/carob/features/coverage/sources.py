"""The conversations of runs: journals, folders of them, and recordings that nothing judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import structs

from carob.checks.catalog import catalog_for
from carob.engine.recorded_runs import open_runs
from carob.engine.rescoring import AnyJournal, name_run
from carob.engine.suite_files import name_suite_format
from carob.errors import UsageError
from carob.features.coverage.kinds import find_unlike
from carob.features.coverage.measuring import CoverageMeter
from carob.features.coverage.model import Coverage
from carob.journal.reader import Journal
from carob.model.run import CaseRecord
from carob.model.suite import Suite
from carob.model.trace import Trace
from carob.plugins.project import Project
from carob.redaction.redactor import Redactor
from carob.reports.artifacts import open_atomic
from carob.reports.escaping import encode
from carob.reports.run_result import RunResult

Conversations = Iterable[CaseRecord | Trace]


def measure_coverage(
    suite: Suite,
    runs: Sequence[AnyJournal],
    project: Project,
    against: Sequence[AnyJournal] = (),
    on_unlike: Callable[[Trace], None] | None = None,
    offered: Iterable[Mapping[str, object]] = (),
) -> Coverage:
    """What a suite and runs reach of what is declared. Every source is read twice: what is offered comes first.

    `against`: conversations whose kinds are held against those of the suite; `on_unlike` is given some of each kind
    that no case resembles. `offered`: the tools of the agent with their schemas, as they are listed.
    """
    sources = [source for run in runs for source in _open_run(run, project)]
    others = [source for run in against for source in _open_run(run, project)]
    meter = CoverageMeter(suite, catalog_for(project))
    for tools in offered:
        meter.add_offered(tools)
    for conversation in _read_all(sources):
        meter.add_schemas(conversation.trace if isinstance(conversation, CaseRecord) else conversation)
    for conversation in _read_all(sources):
        if isinstance(conversation, CaseRecord):
            meter.add_record(conversation)
        else:
            meter.add_trace(conversation)
    coverage = meter.result(tuple(map(name_run, runs)))
    if not against:
        return coverage
    traces = (entry.trace if isinstance(entry, CaseRecord) else entry for entry in _read_all(others))
    unlike = find_unlike(traces, meter.kinds)
    if on_unlike is not None:
        for example in unlike.examples:
            on_unlike(example)
    return structs.replace(coverage, against=unlike.read, unlike=unlike.kinds, more_unlike=unlike.more_kinds)


@contextmanager
def write_unlike(path: Path, redactor: Redactor) -> Iterator[Callable[[Trace], None]]:
    """A file of whole traces that a draft reads, there when all of them are written."""
    with open_atomic(path, replace=True) as out:
        yield lambda trace: out.write(encode({"trace": redactor.trace(trace)}) + b"\n")


def _open_run(run: AnyJournal, project: Project) -> list[Conversations]:
    if not isinstance(run, Journal | RunResult) and (name := name_suite_format(Path(run), project)):
        fix = f"Run it first: carob run {run}. Then name the journal of that run."
        raise UsageError(f"it is a suite ({name}), not a run.", where=str(run), fix=fix, slug="no-traces")
    journals, others = open_runs(run, project)
    return [*map(_JournalRecords, journals), *others]


def _read_all(sources: Sequence[Conversations]) -> Iterator[CaseRecord | Trace]:
    for source in sources:
        yield from source


class _JournalRecords:
    """The records of a journal, read anew each time that they are asked for."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def __iter__(self) -> Iterator[CaseRecord]:
        return self._journal.records()
