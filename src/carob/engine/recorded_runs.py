"""What a path holds that was recorded: a journal, files of others, or a folder of both."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from carob.engine.rescoring import AnyJournal, begins_a_journal, find_journals, journal_files
from carob.evidence.exports.files import find_files
from carob.journal.reader import Journal
from carob.model.trace import Trace
from carob.plugins.project import Project
from carob.reports.run_result import RunResult
from carob.targets.recordings.exports import ExportedTraces, is_recorded

BareTraces: TypeAlias = Iterable[Trace]
"""Traces of which no case is known."""


def open_runs(source: AnyJournal, project: Project) -> tuple[list[Journal], list[BareTraces]]:
    """The journals that a path holds, and the traces of all else that was recorded there.

    What is next to the journals of a folder may be a report: there, files of no known format are passed by.
    """
    if isinstance(source, Journal | RunResult):
        return find_journals(source, project), []
    path = Path(source)
    if str(source).startswith("@") and not path.exists():
        return find_journals(source, project), []
    if not path.is_dir():
        return (find_journals(path, project), []) if begins_a_journal(path) else ([], [ExportedTraces(path)])
    journals = {*journal_files(path)}
    if not journals and any(map(is_recorded, find_files(path))):
        return [], [ExportedTraces(path)]
    others = [file for file in map(Path, find_files(path)) if file.parent == path and file not in journals]
    recorded = [file for file in others if is_recorded(file)]
    return find_journals(path, project), [ExportedTraces(*recorded)] if recorded else []
