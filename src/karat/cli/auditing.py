"""Auditing a journal from the command line."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

import msgspec

from karat.api import load_suite
from karat.audits.run_audit import Auditor
from karat.errors import JournalError
from karat.journal.reader import Journal
from karat.model.suite import Suite
from karat.reports.artifacts import whole_file
from karat.reports.audit.json import AuditJson
from karat.reports.audit.markdown import AuditMarkdown
from karat.reports.audit.terminal import AuditLines
from karat.reports.terminal import wants_colour

NAMED = 5


def audit_journal(
    journal: Journal, min_kill: float, seed: int, results_dir: Path | None, out: TextIO, environ: Mapping[str, str]
) -> int:
    """Audit every case as it is read, write the reports beside the journal, and show what was found."""
    place = (results_dir or Path(journal.path).parent) / Path(journal.path).stem
    auditor = Auditor(journal, seed)
    lines = AuditLines(out, min_kill, colour=wants_colour(out, environ))
    with ExitStack() as stack:
        files = [
            stack.enter_context(whole_file(place.with_name(f"{place.name}.audit.{end}"))) for end in ("json", "md")
        ]
        json, markdown = AuditJson(files[0], min_kill), AuditMarkdown(files[1], min_kill)
        for entry in auditor.cases():
            json.case(entry)
            markdown.case(entry)
            lines.case(entry)
        summary = auditor.summary()
        json.end(summary)
        markdown.end(summary)
    lines.end(summary, [file.path for file in files])
    return summary.exit_code(min_kill)


def suitable(path: str, suite_file: str | None) -> Journal:
    """The journal, if it is whole, has traces, and is of the suite that was named."""
    suite = load_suite(suite_file) if suite_file else None
    journal = Journal(path)
    finish = f"Finish it first: karat resume {path}"
    if journal.torn:
        raise JournalError("the journal is torn: its last line is cut off.", where=path, fix=finish)
    if journal.footer is None or journal.summary.incomplete or journal.summary.interrupted:
        why = journal.summary.incomplete or "it was interrupted"
        raise JournalError(f"the run is not complete: {why}.", where=path, fix=finish)
    first = next(journal.lines(), None)
    if first is None:
        raise JournalError("the journal holds no case.", where=path, fix="Run the suite first: karat run")
    if not _has_trace(first):
        fix = "Only what was seen of an agent can be audited: run the suite again."
        raise JournalError("the journal holds no traces.", where=path, fix=fix)
    if suite is not None:
        _refuse_another(journal, suite)
    return journal


class _Traced(msgspec.Struct):
    trace: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def _has_trace(line: bytes) -> bool:
    trace = msgspec.json.decode(line, type=_Traced).trace
    return isinstance(trace, msgspec.Raw) and bytes(trace) not in (b"null", b"{}")


def _refuse_another(journal: Journal, suite: Suite) -> None:
    if journal.header.suite_sha256 == suite.sha256:
        return
    known = {case.id for case in suite.cases}
    strange = list(dict.fromkeys(record.case.id for record in journal.records() if record.case.id not in known))
    if strange:
        names = ", ".join(map(repr, strange[:NAMED])) + (" ..." if len(strange) > NAMED else "")
        message = f"the journal is of another suite, {journal.header.suite}: {suite.file} has no case {names}."
        raise JournalError(message, where=journal.path, fix="Name the suite that was run.")
    raise JournalError(
        f"{suite.file} has changed since this run.",
        where=journal.path,
        fix=f"Judge it by the suite of now, and audit that: karat rescore {journal.path} --suite {suite.file}",
    )
