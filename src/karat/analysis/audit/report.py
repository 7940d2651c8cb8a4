"""An audit as JSON and Markdown, the JSON read again, and the words that both share with the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec
from msgspec import Raw, Struct

from karat.analysis.audit.model import (
    AuditReport,
    AuditSummary,
    CaseAudit,
    Holding,
    Rate,
    Survivor,
    UnauditedCase,
    format_rate,
)
from karat.reports.artifacts import BinaryWriter
from karat.reports.encoding import encode
from karat.reports.escaping import markdown_cell
from karat.text.wording import pluralize

RATE_DIGITS = 4
CASES: Final = 1000
LINES: Final = 500
EXCERPT: Final = 400


class Shown:
    """What a report shows of an audit: all cases of a small one, of a large one those with something to fix.

    Whatever the journal's size, no more is kept than is shown. Of each case there are at most `most_survivors`.
    """

    def __init__(self, most_cases: int, most_lines: int, most_survivors: int) -> None:
        self._most_cases = most_cases
        self._most_lines = most_lines
        self._most_survivors = most_survivors
        self._all: list[CaseAudit] = []
        self._faulty: list[CaseAudit] = []
        self._counted = 0
        self.survivors: list[tuple[str, Survivor]] = []
        self.unseen: list[tuple[str, tuple[str, ...]]] = []
        self.brittle: list[tuple[str, str]] = []
        self.controls: list[tuple[str, str]] = []
        self.redundant: list[tuple[str, tuple[str, ...]]] = []
        self.holdings: list[tuple[str, Holding]] = []
        self.holdings_left_out = 0
        self.set_aside: list[UnauditedCase] = []

    def add(self, entry: CaseAudit | UnauditedCase) -> None:
        room = self._most_lines
        if isinstance(entry, UnauditedCase):
            self.set_aside += [entry][: room - len(self.set_aside)]
            return
        self._counted += 1
        if self._counted <= self._most_cases:
            self._all.append(entry)
        if entry.survivors and len(self._faulty) < self._most_cases:
            self._faulty.append(entry)
        self.controls += [(entry.case_id, name) for name in entry.controls][: room - len(self.controls)]
        survivors = entry.survivors[: self._most_survivors]
        self.survivors += [(entry.case_id, survivor) for survivor in survivors][: room - len(self.survivors)]
        unseen = tuple(dict.fromkeys(found.operator for found in entry.unseen))
        if unseen and len(self.unseen) < room:
            self.unseen.append((entry.case_id, unseen))
        brittle = [
            (entry.case_id, f"{b.check} rejects {b.equivalent}, it expects {b.expected}: {b.hint}")
            for b in entry.brittle
        ]
        holdings = [(entry.case_id, held) for held in entry.holdings if held.kills]
        kept = holdings[: room - len(self.holdings)]
        self.holdings += kept
        self.holdings_left_out += len(holdings) - len(kept)
        self.brittle += brittle[: room - len(self.brittle)]
        if entry.redundant and len(self.redundant) < room:
            self.redundant.append((entry.case_id, entry.redundant))

    @property
    def cases(self) -> list[CaseAudit]:
        """The rows of the matrix."""
        return self._all if self._counted <= self._most_cases else self._faulty

    @property
    def left_out(self) -> int:
        return self._counted - len(self.cases)


MARKS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def operator_marks(summary: AuditSummary) -> Iterator[tuple[str, str]]:
    """A letter for the matrix and the name of each operator that was tried."""
    for number, operator in enumerate(summary.operators):
        yield MARKS[number % len(MARKS)], operator.name


def rate(found: Rate) -> str:
    """`0.87`, or a dash where nothing was tried."""
    return format_rate(found) if found.tried else "-"


def interval(found: Rate) -> str:
    return f"{found.low:.2f} to {found.high:.2f}"


def headline(summary: AuditSummary) -> str:
    """The kill rate of the suite in one sentence."""
    found = summary.rate
    if not found.tried:
        return "Kill rate: nothing was tried"
    return f"Kill rate {rate(found)}: {found.killed} of {found.tried} mutants killed (95% interval {interval(found)})"


def remarks(summary: AuditSummary) -> Iterator[str]:
    """What the kill rate does not say."""
    if summary.partial:
        yield (
            f"{pluralize(summary.partial, 'kill')} left the case PARTIAL:"
            " a run that accepts such a case would not notice"
        )
    if summary.undecided:
        yield f"{pluralize(summary.undecided, 'mutant')} could not be judged because a check broke: not counted"


def verdict(summary: AuditSummary, min_kill: float) -> str:
    """Whether the suite is proved, and if not why."""
    unmet = summary.unmet(min_kill)
    if unmet:
        return f"NOT PROVED: {'; '.join(unmet)}"
    return f"PROVED: the kill rate {rate(summary.rate)} is at least {min_kill:g}, and no control passes"


class AuditJson:
    """Written as the audit goes on; the figures come last because they are known last."""

    def __init__(self, out: BinaryWriter, min_kill: float) -> None:
        self._out = out
        self._min_kill = min_kill
        self._before = b"\n"
        out.write(b'{\n "cases": [')

    def case(self, entry: CaseAudit | UnauditedCase) -> None:
        self._out.write(self._before + encode(_row(entry)))
        self._before = b",\n"

    def end(self, summary: AuditSummary) -> None:
        row = {**msgspec.to_builtins(summary), "rate": _rate(summary.rate), "operators": _operator_rows(summary)}
        unmet = summary.unmet(self._min_kill)
        verdict = {"min_kill": self._min_kill, "met": not unmet, "unmet": unmet}
        self._out.write(b'\n],\n "summary": %s,\n "verdict": %s\n}\n' % (encode(row), encode(verdict)))


def _row(entry: CaseAudit | UnauditedCase) -> dict[str, object]:
    if isinstance(entry, UnauditedCase):
        return {"id": entry.case_id, "audited": False, "status": entry.status, "reason": entry.reason}
    row = msgspec.to_builtins(entry)
    del row["case_id"]
    matrix = {name: {"killed": killed, "tried": tried} for name, (killed, tried) in entry.operators.items()}
    apart = {name: {"killed": killed, "tried": tried} for name, (killed, tried) in entry.apart.items()}
    checks = msgspec.to_builtins(entry.holdings)
    figures = {"rate": _rate(entry.rate), "operators": matrix, "apart": apart, "checks": checks}
    return {"id": entry.case_id, "audited": True, **row, **figures}


def _operator_rows(summary: AuditSummary) -> list[dict[str, object]]:
    return [{"name": o.name, "about": o.about, "rate": _rate(o.rate)} for o in summary.operators]


def _rate(rate: Rate) -> dict[str, object]:
    value = round(rate.value, RATE_DIGITS) if rate.tried else None
    return {"value": value, "killed": rate.killed, "tried": rate.tried, "low": rate.low, "high": rate.high}


class AuditVerdict(Struct, frozen=True):
    """Whether the suite is proved, and why not."""

    min_kill: float
    met: bool
    unmet: tuple[str, ...]


class WrittenAudit(NamedTuple):
    """An audit as its file holds it."""

    report: AuditReport
    verdict: AuditVerdict


class _File(Struct):
    cases: list[Raw]
    summary: AuditSummary
    verdict: AuditVerdict


class _Count(Struct):
    killed: int
    tried: int


class _Row(Struct):
    """What a row spells otherwise than `CaseAudit` and `UnauditedCase` do."""

    id: str
    audited: bool
    operators: dict[str, _Count] = {}
    apart: dict[str, _Count] = {}
    checks: tuple[Holding, ...] = ()


def read_audit(data: bytes) -> WrittenAudit:
    """Read such a file. Raises DecodeError for any other."""
    found = msgspec.json.decode(data, type=_File)
    entries = [_entry(row) for row in found.cases]
    cases = tuple(entry for entry in entries if isinstance(entry, CaseAudit))
    set_aside = tuple(entry for entry in entries if isinstance(entry, UnauditedCase))
    return WrittenAudit(AuditReport(summary=found.summary, cases=cases, set_aside=set_aside), found.verdict)


def _entry(data: Raw) -> CaseAudit | UnauditedCase:
    row = msgspec.json.decode(data, type=_Row)
    given = {**msgspec.json.decode(data), "case_id": row.id}
    if not row.audited:
        return msgspec.convert(given, UnauditedCase)
    given["operators"] = {name: (one.killed, one.tried) for name, one in row.operators.items()}
    given["apart"] = {name: (one.killed, one.tried) for name, one in row.apart.items()}
    given["checks"] = [one.check for one in row.checks]
    return msgspec.convert(given, CaseAudit)


class AuditMarkdown:
    """Keeps what is to be shown, and writes it once the figures are known."""

    def __init__(self, out: BinaryWriter, min_kill: float) -> None:
        self._out = out
        self._min_kill = min_kill
        self._shown = Shown(CASES, LINES, LINES)

    def case(self, entry: CaseAudit | UnauditedCase) -> None:
        self._shown.add(entry)

    def end(self, summary: AuditSummary) -> None:
        for line in self._lines(summary):
            self._out.write(f"{line}\n".encode())

    def _lines(self, summary: AuditSummary) -> Iterator[str]:
        yield "# Audit\n"
        yield f"**{verdict(summary, self._min_kill)}**\n"
        yield f"- Eval file: {markdown_cell(summary.suite)}"
        yield f"- Target: {markdown_cell(summary.target)}"
        yield f"- Journal: {markdown_cell(summary.journal)}"
        yield f"- Seed: {summary.seed}"
        yield f"- Cases: {summary.audited} audited, {summary.set_aside} not audited"
        yield f"- {headline(summary)}"
        for remark in remarks(summary):
            yield f"- {remark}"
        if summary.rate.tried:
            yield from _operators(summary)
            yield from self._matrix(summary)
        yield from self._set_aside(summary)
        yield from self._list_lines(
            "Controls that pass", [(c, f"an agent that {name}") for c, name in self._shown.controls], summary.controls
        )
        yield from self._survivors(summary)
        yield from self._unrated_lines(summary)
        yield from self._holdings()
        yield from self._list_lines("Brittle checks", self._shown.brittle, summary.brittle)
        redundant = [(case_id, ", ".join(checks)) for case_id, checks in self._shown.redundant]
        yield from self._list_lines("Redundant checks", redundant, len(redundant))

    def _matrix(self, summary: AuditSummary) -> Iterator[str]:
        marks = list(operator_marks(summary))
        yield "\n## Cases\n"
        yield "Survivors of each operator; 0: all killed, empty: nothing to change.\n"
        yield f"| Case | Killed | Rate | 95% interval | {' | '.join(mark for mark, _ in marks)} |"
        yield f"|---|---|---|---|{'---|' * len(marks)}"
        for case in self._shown.cases:
            cells = " | ".join(_cell(case, name) for _, name in marks)
            figures = f"{case.rate.killed}/{case.rate.tried} | {rate(case.rate)} | {interval(case.rate)}"
            yield f"| {markdown_cell(case.case_id)} | {figures} | {cells} |"
        if self._shown.left_out:
            yield f"\n{pluralize(self._shown.left_out, 'more case')}: see the JSON next to this file."

    def _set_aside(self, summary: AuditSummary) -> Iterator[str]:
        pairs = [(e.case_id, f"{e.status}: {e.reason}" if e.reason else e.status) for e in self._shown.set_aside]
        yield from self._list_lines("Not audited", pairs, summary.set_aside)

    def _survivors(self, summary: AuditSummary) -> Iterator[str]:
        if not summary.survivors:
            return
        yield "\n## Survivors\n"
        yield "| Field | Survivors that it would catch | In cases |"
        yield "|---|---|---|"
        for remedy in summary.remedies:
            yield f"| {markdown_cell(remedy.field)} | {remedy.survivors} | {remedy.cases} |"
        yield ""
        yield "| Case | Operator | Change | Seen | Fix |"
        yield "|---|---|---|---|---|"
        for case_id, survivor in self._shown.survivors:
            cells = (case_id, survivor.operator, survivor.change, survivor.evidence, survivor.hint)
            yield f"| {' | '.join(markdown_cell(cell, EXCERPT) for cell in cells)} |"
        yield from _more(summary.survivors - len(self._shown.survivors))

    def _holdings(self) -> Iterator[str]:
        if not self._shown.holdings:
            return
        yield "\n## Which check catches what\n"
        yield "Without a check, the mutants that only it catches would pass.\n"
        yield "| Case | Check | Catches | Only it | Which |"
        yield "|---|---|---|---|---|"
        for case_id, held in self._shown.holdings:
            figures = str(held.kills), str(len(held.alone))
            cells = (case_id, held.check, *figures, "; ".join(held.alone))
            yield f"| {' | '.join(markdown_cell(cell, EXCERPT) for cell in cells)} |"
        yield from _more(self._shown.holdings_left_out)

    def _unrated_lines(self, summary: AuditSummary) -> Iterator[str]:
        if not any(operator.unseen for operator in summary.apart):
            return
        yield "\n## What this suite cannot catch\n"
        yield "Not in the kill rate.\n"
        yield "| Operator | What it makes wrong | Unseen in cases | Tried on cases | What would help |"
        yield "|---|---|---|---|---|"
        for found in summary.apart:
            cells = (found.operator, found.about, str(found.unseen), str(found.cases), found.help)
            yield f"| {' | '.join(markdown_cell(cell, EXCERPT) for cell in cells)} |"
        yield ""
        for case_id, operators in self._shown.unseen:
            yield f"- {markdown_cell(case_id)}: {markdown_cell(', '.join(operators), EXCERPT)}"
        yield from _more(summary.blind - len(self._shown.unseen))

    def _list_lines(self, title: str, pairs: list[tuple[str, str]], count: int) -> Iterator[str]:
        if not pairs:
            return
        yield f"\n## {title}\n"
        for name, text in pairs:
            yield f"- {markdown_cell(name)}: {markdown_cell(text, EXCERPT)}"
        yield from _more(count - len(pairs))


def _operators(summary: AuditSummary) -> Iterator[str]:
    yield "\n## Operators\n"
    yield "| | Operator | What it makes wrong | Killed | Rate | 95% interval |"
    yield "|---|---|---|---|---|---|"
    for (mark, name), operator in zip(operator_marks(summary), summary.operators, strict=True):
        found = operator.rate
        figures = f"{found.killed}/{found.tried} | {rate(found)} | {interval(found)}"
        yield f"| {mark} | {name} | {operator.about} | {figures} |"


def _cell(case: CaseAudit, operator: str) -> str:
    killed, tried = case.operators.get(operator, (0, 0))
    return str(tried - killed) if tried else ""


def _more(count: int) -> Iterator[str]:
    if count > 0:
        yield f"\n{count} more: see the JSON next to this file."
