"""The Markdown report: the summary, a table of the cases, and details of those that did not pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import ClassVar, Final

import msgspec
from msgspec import Struct

from carob.journal.views import RunView
from carob.model.run import CaseRecord
from carob.model.verdict import CaseStatus
from carob.reports import run_facts
from carob.reports.base import OutcomeReport
from carob.reports.case_details import CheckDetail, case_details
from carob.reports.case_facts import (
    BROKEN,
    CaseOutcome,
    case_name,
    check_facts,
    describe_attempts,
    missing_parts,
)
from carob.reports.escaping import markdown_cell, markdown_link
from carob.scoring.figures import run_words

DETAILED_CASES: Final = 200
LISTED: Final = 12
EXCERPT: Final = 400
TRANSCRIPT_LINE: Final = 800

COLUMNS: Final = (
    "Case", "Status", "Soft score", "Missing sources", "Missing numbers", "Hard-fail groups", "Failed checks",
    "Unknown checks",
)  # fmt: skip

_escaped = lru_cache(maxsize=1024)(markdown_cell)


class ReportedCases(Struct, array_like=True):
    """What is said of some cases: their rows, details of the first that did not pass, and how many have none."""

    rows: str = ""
    details: list[str] = []
    undetailed: int = 0


_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(ReportedCases).decode


class MarkdownReport(OutcomeReport):
    """Writes the table as cases come, and keeps a bounded number of details for its end."""

    extension: ClassVar = "md"

    def _begin_run(self, run: RunView) -> None:
        self._catalog = run.catalog
        self._details: list[str] = []
        self._undetailed = 0
        self._detailed = 0
        self._unjudged = bool(run.summary.unjudged)
        self._repeats = run.header.repeat > 1
        self._out.write("".join(_head(run)).encode())

    def case(self, record: CaseRecord) -> None:
        if self._repeats:
            super().case(record)
        else:
            self._add(self._report_cases([record]))

    def part(self, records: Sequence[CaseRecord]) -> bytes:
        return _pack(self._report_cases(records))

    def add(self, part: bytes) -> None:
        self._add(_unpack(part))

    def _report_cases(self, records: Sequence[CaseRecord]) -> ReportedCases:
        cases = ReportedCases()
        for record in records:
            name = case_name(record.case.id, record.repeat)
            cases.rows += f"{self._row(name, record.verdict.status, record, describe_attempts(record))}\n"
            if record.verdict.status in BROKEN:
                self._detail(cases, name, record)
        return cases

    def _write_case(self, outcome: CaseOutcome) -> None:
        case_id = outcome.shown.case.id
        row = self._row(case_id, outcome.status, outcome.shown)
        cases = ReportedCases(f"{row} {markdown_cell(str(outcome))} |\n")
        for record in outcome.not_passed:
            self._detail(cases, f"{case_id} #{record.repeat + 1}", record)
        self._add(cases)

    def _row(self, name: str, status: CaseStatus, record: CaseRecord, attempts: str = "") -> str:
        verdict, facts = record.verdict, check_facts(record)
        score = _score(None if status is CaseStatus.ERROR else verdict.soft.value)
        start = f"| {markdown_cell(name)} | {status}{attempts} | {score} |"
        if not (any(facts) or verdict.hard_fail_triggered):
            return f"{start} | | | | |{' |' * self._unjudged}"
        missing = missing_parts(record, self._catalog)
        names = [missing.sources, missing.numbers, verdict.hard_fail_triggered]
        names += [[check.label for check in checks] for checks in facts[: 3 if self._unjudged else 2]]
        return f"{start} {' | '.join(map(_list_some, names))} |"

    def _detail(self, cases: ReportedCases, name: str, record: CaseRecord) -> None:
        if self._detailed < DETAILED_CASES:
            cases.details.append("".join(_detail(name, record)))
            self._detailed += 1
        else:
            cases.undetailed += 1

    def _add(self, cases: ReportedCases) -> None:
        self._out.write(cases.rows.encode())
        free = DETAILED_CASES - len(self._details)
        self._details += cases.details[:free]
        self._undetailed += cases.undetailed + len(cases.details[free:])

    def _end_file(self) -> None:
        if self._details:
            self._out.write(f"\n## {'Runs' if self._repeats else 'Cases'} that did not pass\n".encode())
            self._out.write("".join(self._details).encode())
        if self._undetailed:
            self._out.write(f"\n{self._undetailed} more did not pass: see the JSON next to this file.\n".encode())


def _head(run: RunView) -> Iterator[str]:
    header, summary = run.header, run.summary
    yield "# Eval results\n\n"
    if missing := run_facts.incomplete(run):
        yield f"**{markdown_cell(missing)}**\n\n"
    if draft := run_facts.draft_words(run):
        yield f"**{draft}**\n\n"
    yield f"- Eval file: {markdown_cell(header.suite)}\n"
    yield f"- Target: {markdown_cell(header.target)}\n"
    if replayed := run_facts.replay_words(run.header):
        yield f"- {markdown_cell(replayed[0].upper() + replayed[1:])}\n"
    yield f"- Generated at: {markdown_cell(run.finished_at or header.started_at)}\n"
    total = (
        f"{run_facts.count_finished(summary)} of {run_facts.count_planned(run)} cases"
        if missing
        else f"{summary.total} total"
    )
    yield f"- Result: {run_facts.counts(summary)}, {total}\n"
    yield f"- Pass rate: {run_words(summary, run.prices)}\n"
    if repeated := run_facts.repeats(summary):
        yield f"- {repeated}\n"
    yield from (f"- {markdown_cell(line[0].upper() + line[1:])}\n" for line in run_facts.guard_words(summary))
    yield f"- Average soft score: {_score(summary.avg_soft_score) or 'none'}\n\n"
    columns = (*COLUMNS, *["Not judged"] * bool(summary.unjudged), *["Repeats"] * (header.repeat > 1))
    yield f"| {' | '.join(columns)} |\n"
    yield f"|{'---|' * len(columns)}\n"


def _detail(name: str, record: CaseRecord) -> Iterator[str]:
    details = case_details(record)
    yield f"\n### {markdown_cell(name)}: {record.verdict.status}{describe_attempts(record)}\n"
    for reason in details.reasons:
        yield f"\nReason: {markdown_cell(reason, EXCERPT)}\n"
    if details.log:
        # Four spaces make it code, and unlike a fence nothing within a line can end that.
        yield "\n" + "".join(f"    {line}\n" for line in details.log)
    yield "\n"
    for kind, lines in details.transcript:
        yield f"- {kind.capitalize()}: {markdown_cell(' '.join(lines), TRANSCRIPT_LINE)}\n"
    for check in details.checks:
        yield from _check(check)
    if details.more:
        yield f"- {details.more} more checks: see the JSON next to this file.\n"
    if record.trace.attachments:
        yield f"\nSee: {', '.join(markdown_link(*file) for file in record.trace.attachments.items())}\n"


def _check(check: CheckDetail) -> Iterator[str]:
    result = check.result
    yield f"- {_escaped(check.label)} ({_escaped(result.group)}): {result.status.value}\n"
    yield f"  - Expected: {markdown_cell(result.expected)}\n"
    if result.found:
        yield f"  - Found: {markdown_cell(result.found)}\n"
    if result.at is not None and check.around:
        yield f"  - In {_escaped(result.at.channel)}: {markdown_cell(check.around, EXCERPT)}\n"
    for event in check.timeline.entries:
        mark = " (evidence)" if event.is_evidence else ""
        yield f"  - Event {event.index}{mark}: {markdown_cell(event.words, EXCERPT)}\n"


def _list_some(names: Iterable[str]) -> str:
    escaped = [_escaped(name) for name in names]
    more = [f"{len(escaped) - LISTED} more"] if len(escaped) > LISTED else []
    return ", ".join(escaped[:LISTED] + more)


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
