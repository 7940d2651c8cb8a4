"""The conversations of runs: journals, folders of them, and recordings that nothing judged."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from karat.analysis.coverage.measuring import CoverageMeter
from karat.analysis.coverage.model import Coverage
from karat.checks.catalog import catalog_for
from karat.engine.rescoring import AnyJournal, begins_a_journal, find_journals, name_run
from karat.journal.reader import Journal
from karat.model.run import CaseRecord
from karat.model.suite import Suite
from karat.model.trace import Trace
from karat.plugins.project import Project
from karat.reports.run_result import RunResult
from karat.targets.recordings.exports import ExportedTraces, is_export_folder
from karat.targets.recordings.replay import RecordedTraces

Conversations = Iterable[CaseRecord | Trace]


def measure_coverage(suite: Suite, runs: Sequence[AnyJournal], project: Project) -> Coverage:
    """What a suite and runs reach of what is declared. Every source is read twice: what is offered comes first."""
    sources = [source for run in runs for source in _open_run(run, project)]
    meter = CoverageMeter(suite, catalog_for(project))
    for conversation in _read_all(sources):
        meter.add_schemas(conversation.trace if isinstance(conversation, CaseRecord) else conversation)
    for conversation in _read_all(sources):
        if isinstance(conversation, CaseRecord):
            meter.add_record(conversation)
        else:
            meter.add_trace(conversation)
    return meter.result(tuple(map(name_run, runs)))


def _open_run(run: AnyJournal, project: Project) -> list[Conversations]:
    if not isinstance(run, Journal | RunResult) and os.path.isdir(run) and is_export_folder(Path(run)):
        return [ExportedTraces(run)]
    if isinstance(run, Journal | RunResult) or os.path.isdir(run) or begins_a_journal(Path(run)):
        return [_JournalRecords(journal) for journal in find_journals(run, project)]
    return [RecordedTraces(str(run))]


def _read_all(sources: Sequence[Conversations]) -> Iterator[CaseRecord | Trace]:
    for source in sources:
        yield from source


class _JournalRecords:
    """The records of a journal, read anew each time that they are asked for."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def __iter__(self) -> Iterator[CaseRecord]:
        return self._journal.records()
