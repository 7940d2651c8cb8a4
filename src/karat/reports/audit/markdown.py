"""`<journal>.audit.md`: figures, the matrix of cases and operators as a table, survivors, brittleness, redundancy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karat.model.audit import AuditSummary, CaseAudit, SetAside
from karat.reports.artifacts import BinaryWriter
from karat.reports.audit.facts import Shown, headline, interval, marked, rate, remarks, verdict
from karat.reports.inert import markdown_cell
from karat.text.wording import counted

CASES: Final = 1000
LINES: Final = 500
EXCERPT: Final = 400


class AuditMarkdown:
    """Keeps what is to be shown, and writes it once the figures are known."""

    def __init__(self, out: BinaryWriter, min_kill: float) -> None:
        self._out = out
        self._min_kill = min_kill
        self._shown = Shown(CASES, LINES, LINES)

    def case(self, entry: CaseAudit | SetAside) -> None:
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
        yield f"- Cases: {summary.audited} audited, {summary.set_aside} set aside"
        yield f"- {headline(summary)}"
        for remark in remarks(summary):
            yield f"- {remark}"
        if summary.rate.tried:
            yield from _operators(summary)
            yield from self._matrix(summary)
        yield from self._set_aside(summary)
        yield from self._listed(
            "Controls that pass", [(c, f"an agent that {name}") for c, name in self._shown.controls], summary.controls
        )
        yield from self._survivors(summary)
        yield from self._apart(summary)
        yield from self._holdings()
        yield from self._listed("Brittle checks", self._shown.brittle, summary.brittle)
        redundant = [(case_id, ", ".join(checks)) for case_id, checks in self._shown.redundant]
        yield from self._listed("Redundant checks", redundant, len(redundant))

    def _matrix(self, summary: AuditSummary) -> Iterator[str]:
        marks = list(marked(summary))
        yield "\n## Cases\n"
        yield "Survivors of each operator; 0: all killed, empty: nothing to change.\n"
        yield f"| Case | Killed | Rate | 95% interval | {' | '.join(mark for mark, _ in marks)} |"
        yield f"|---|---|---|---|{'---|' * len(marks)}"
        for case in self._shown.cases:
            cells = " | ".join(_cell(case, name) for _, name in marks)
            figures = f"{case.rate.killed}/{case.rate.tried} | {rate(case.rate)} | {interval(case.rate)}"
            yield f"| {markdown_cell(case.case_id)} | {figures} | {cells} |"
        if self._shown.left_out:
            yield f"\n{counted(self._shown.left_out, 'more case')}: see the JSON beside this file."

    def _set_aside(self, summary: AuditSummary) -> Iterator[str]:
        pairs = [(e.case_id, f"{e.status}: {e.reason}" if e.reason else e.status) for e in self._shown.set_aside]
        yield from self._listed("Set aside", pairs, summary.set_aside)

    def _survivors(self, summary: AuditSummary) -> Iterator[str]:
        if not summary.survivors:
            return
        yield "\n## Survivors\n"
        yield "| Field | Survivors that it would catch | In cases |"
        yield "|---|---|---|"
        for remedy in summary.remedies:
            yield f"| {markdown_cell(remedy.field)} | {remedy.survivors} | {remedy.cases} |"
        yield ""
        yield "| Case | Operator | Change | Seen | To mend it |"
        yield "|---|---|---|---|---|"
        for case_id, survivor in self._shown.survivors:
            cells = (case_id, survivor.operator, survivor.change, survivor.evidence, survivor.hint)
            yield f"| {' | '.join(markdown_cell(cell, EXCERPT) for cell in cells)} |"
        yield from _more(summary.survivors - len(self._shown.survivors))

    def _holdings(self) -> Iterator[str]:
        if not self._shown.holdings:
            return
        yield "\n## Which check holds what\n"
        yield "Without a check, the mutants that only it catches would pass.\n"
        yield "| Case | Check | Catches | Only it | Which |"
        yield "|---|---|---|---|---|"
        for case_id, held in self._shown.holdings:
            figures = str(held.kills), str(len(held.alone))
            cells = (case_id, held.check, *figures, "; ".join(held.alone))
            yield f"| {' | '.join(markdown_cell(cell, EXCERPT) for cell in cells)} |"
        yield from _more(self._shown.holdings_left_out)

    def _apart(self, summary: AuditSummary) -> Iterator[str]:
        if not any(operator.unseen for operator in summary.apart):
            return
        yield "\n## What no contract of this suite can see\n"
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

    def _listed(self, title: str, pairs: list[tuple[str, str]], count: int) -> Iterator[str]:
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
    for (mark, name), operator in zip(marked(summary), summary.operators, strict=True):
        found = operator.rate
        figures = f"{found.killed}/{found.tried} | {rate(found)} | {interval(found)}"
        yield f"| {mark} | {name} | {operator.about} | {figures} |"


def _cell(case: CaseAudit, operator: str) -> str:
    killed, tried = case.operators.get(operator, (0, 0))
    return str(tried - killed) if tried else ""


def _more(count: int) -> Iterator[str]:
    if count > 0:
        yield f"\n{count} more: see the JSON beside this file."
