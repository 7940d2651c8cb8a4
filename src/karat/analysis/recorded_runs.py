"""What a path holds that was recorded: a journal, files of others, or a folder of both."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from karat.engine.rescoring import AnyJournal, begins_a_journal, find_journals
from karat.journal.reader import Journal
from karat.model.trace import Trace
from karat.plugins.project import Project
from karat.reports.run_result import RunResult
from karat.targets.recordings.exports import ExportedTraces, find_recorded, has_exports
from karat.targets.recordings.replay import RecordedTraces

BareTraces: TypeAlias = Iterable[Trace]
"""Traces of which no case is known."""


def open_runs(source: AnyJournal, project: Project) -> tuple[list[Journal], list[BareTraces]]:
    """The journals that a path holds, and the traces of all else that was recorded there.

    What is next to the journals of a folder may be a report: there, files of no known format are passed by.
    """
    if isinstance(source, Journal | RunResult):
        return find_journals(source, project), []
    path = Path(source)
    if not path.is_dir():
        return (find_journals(path, project), []) if begins_a_journal(path) else ([], [RecordedTraces(str(source))])
    if not any(map(begins_a_journal, path.glob("*.jsonl"))) and has_exports(path):
        return [], [ExportedTraces(path)]
    journals = find_journals(path, project)
    others = [file for file in find_recorded(path) if not begins_a_journal(file)]
    return journals, [ExportedTraces(*others)] if others else []
