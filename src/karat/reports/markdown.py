"""The Markdown report: the summary, a table of the cases, and details of those that did not pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import ClassVar, Final

import msgspec
from msgspec import Struct

from karat.journal.views import RunView
from karat.model.run import CaseRecord
from karat.model.verdict import CaseStatus
from karat.reports.artifacts import BinaryWriter
from karat.reports.escaping import evidence, markdown_cell, markdown_link
from karat.reports.facts import (
    BROKEN,
    Facts,
    Judged,
    case_name,
    count_finished,
    count_planned,
    counts,
    describe_attempts,
    draft_words,
    facts,
    incomplete,
    lacks,
    log,
    reasons,
    repeats,
)
from karat.reports.repeated import Together, run_name, sum_repeats
from karat.reports.transcript import transcript
from karat.scoring.figures import run_words

DETAILED_CASES: Final = 200
DETAILED_CHECKS: Final = 30
LISTED: Final = 12
EXCERPT: Final = 400
SAID: Final = 800

COLUMNS: Final = (
    "Case",
    "Status",
    "Soft score",
    "Missing sources",
    "Missing numbers",
    "Hard-fail groups",
    "Failed checks",
    "Unknown checks",
)

_escaped = lru_cache(maxsize=1024)(markdown_cell)


class ReportedCases(Struct, array_like=True):
    """What is said of some cases: their rows, details of the first that did not pass, and how many have none."""

    rows: str = ""
    details: list[str] = []
    undetailed: int = 0


_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(ReportedCases).decode


class MarkdownReport:
    """Writes the table as cases come, and keeps a bounded number of details for its end."""

    extension: ClassVar = "md"

    def __init__(self, run: RunView, out: BinaryWriter) -> None:
        self._out = out
        self._catalog = run.catalog
        self._details: list[str] = []
        self._undetailed = 0
        self._made = 0
        self._unjudged = bool(run.summary.unjudged)
        self._what = "Runs" if run.header.repeat > 1 else "Cases"
        self._together = Together(self._add_repeats) if run.header.repeat > 1 else None
        out.write("".join(_head(run)).encode())

    def case(self, record: CaseRecord) -> None:
        if self._together is not None:
            self._together.add(record)
        else:
            self._put(self._report_cases([record]))

    def part(self, records: Sequence[CaseRecord]) -> bytes:
        return _pack(self._report_cases(records))

    def add(self, part: bytes) -> None:
        self._put(_unpack(part))

    def _report_cases(self, records: Sequence[CaseRecord]) -> ReportedCases:
        cases = ReportedCases()
        for record in records:
            known = facts(record)
            name = case_name(record.case.id, record.repeat)
            cases.rows += f"{self._row(name, record.verdict.status, record, known, describe_attempts(record))}\n"
            if record.verdict.status in BROKEN:
                self._detail(cases, name, record, known)
        return cases

    def _add_repeats(self, runs: list[CaseRecord]) -> None:
        total = sum_repeats(runs)
        row = self._row(total.shown.case.id, total.status, total.shown, facts(total.shown))
        cases = ReportedCases(f"{row} {markdown_cell(str(total))} |\n")
        for record in total.not_passed:
            self._detail(cases, run_name(record), record, facts(record))
        self._put(cases)

    def _row(self, name: str, status: CaseStatus, record: CaseRecord, known: Facts, after: str = "") -> str:
        verdict = record.verdict
        score = _score(None if status is CaseStatus.ERROR else verdict.soft.value)
        start = f"| {markdown_cell(name)} | {status}{after} | {score} |"
        if not (known.failed or known.unknown or known.unjudged or verdict.hard_fail_triggered):
            return f"{start} | | | | |{' |' * self._unjudged}"
        lacking = lacks(record, self._catalog)
        cells = (
            _list_some(lacking.missing_sources),
            _list_some(lacking.missing_numbers),
            _list_some(verdict.hard_fail_triggered),
            _list_some(check.label for check in known.failed),
            _list_some(check.label for check in known.unknown),
            *([_list_some(check.label for check in known.unjudged)] if self._unjudged else ()),
        )
        return f"{start} {' | '.join(cells)} |"

    def _detail(self, cases: ReportedCases, name: str, record: CaseRecord, known: Facts) -> None:
        if self._made < DETAILED_CASES:
            cases.details.append("".join(_detail(name, record, known)))
            self._made += 1
        else:
            cases.undetailed += 1

    def _put(self, cases: ReportedCases) -> None:
        self._out.write(cases.rows.encode())
        free = DETAILED_CASES - len(self._details)
        self._details += cases.details[:free]
        self._undetailed += cases.undetailed + len(cases.details[free:])

    def end(self) -> None:
        if self._together is not None:
            self._together.end()
        if not self._details:
            return
        self._out.write(f"\n## {self._what} that did not pass\n".encode())
        for detail in self._details:
            self._out.write(detail.encode())
        if self._undetailed:
            self._out.write(f"\n{self._undetailed} more did not pass: see the JSON next to this file.\n".encode())


def _head(run: RunView) -> Iterator[str]:
    header, summary = run.header, run.summary
    yield "# Eval results\n\n"
    if unfinished := incomplete(run):
        yield f"**{markdown_cell(unfinished)}**\n\n"
    if draft := draft_words(run):
        yield f"**{draft}**\n\n"
    yield f"- Eval file: {markdown_cell(header.suite)}\n"
    yield f"- Target: {markdown_cell(header.target)}\n"
    yield f"- Generated at: {markdown_cell(run.finished_at or header.started_at)}\n"
    total = f"{count_finished(summary)} of {count_planned(run)} cases" if unfinished else f"{summary.total} total"
    yield f"- Result: {counts(summary)}, {total}\n"
    yield f"- Pass rate: {run_words(summary, run.prices)}\n"
    if repeated := repeats(summary):
        yield f"- {repeated}\n"
    yield f"- Average soft score: {_score(summary.avg_soft_score) or 'none'}\n\n"
    unjudged = ("Not judged",) if summary.unjudged else ()
    columns = (*COLUMNS, *unjudged, "Repeats") if header.repeat > 1 else (*COLUMNS, *unjudged)
    yield f"| {' | '.join(columns)} |\n"
    yield f"|{'---|' * len(columns)}\n"


def _detail(name: str, record: CaseRecord, known: Facts) -> Iterator[str]:
    yield f"\n### {markdown_cell(name)}: {record.verdict.status}{describe_attempts(record)}\n"
    for reason in reasons(record):
        yield f"\nReason: {markdown_cell(reason, EXCERPT)}\n"
    if said := log(record):
        # Four spaces make it code, and unlike a fence nothing within a line can end that.
        yield "\n" + "".join(f"    {line}\n" for line in said)
    yield "\n"
    for what, lines in transcript(record):
        yield f"- {what.capitalize()}: {markdown_cell(' '.join(lines), SAID)}\n"
    checks = [*known.failed, *known.unknown, *known.unjudged]
    for check in checks[:DETAILED_CHECKS]:
        yield from _check(record, check)
    if len(checks) > DETAILED_CHECKS:
        yield f"- {len(checks) - DETAILED_CHECKS} more checks: see the JSON next to this file.\n"
    if record.trace.attachments:
        yield f"\nSee: {', '.join(markdown_link(*file) for file in record.trace.attachments.items())}\n"


def _check(record: CaseRecord, check: Judged) -> Iterator[str]:
    label, result = check
    yield f"- {_escaped(label)} ({_escaped(result.group)}): {result.status.value}\n"
    yield f"  - Expected: {markdown_cell(result.expected)}\n"
    if result.found:
        yield f"  - Found: {markdown_cell(result.found)}\n"
    if result.at is not None and (around := evidence(record.trace.of_turn(result.turn), result.at)):
        yield f"  - In {_escaped(result.at.channel)}: {markdown_cell(around, EXCERPT)}\n"


def _list_some(names: Iterable[str]) -> str:
    escaped = [_escaped(name) for name in names]
    more = [f"{len(escaped) - LISTED} more"] if len(escaped) > LISTED else []
    return ", ".join(escaped[:LISTED] + more)


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
