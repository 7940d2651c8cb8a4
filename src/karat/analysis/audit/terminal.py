"""What an audit looks like in a terminal: figures, the matrix, what survived and how to catch it, the verdict."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from karat.analysis.audit.model import AuditSummary, CaseAudit, Rate, Remedy, UnauditedCase
from karat.analysis.audit.report import (
    AuditJson,
    AuditMarkdown,
    Shown,
    headline,
    interval,
    operator_marks,
    rate,
    remarks,
    verdict,
)
from karat.reports.artifacts import open_atomic
from karat.reports.escaping import terminal
from karat.terminal.screen import BOLD, GREEN, PLAIN, RED, YELLOW, show, wants_colour, width
from karat.text.wording import pluralize

if TYPE_CHECKING:
    from karat.analysis.audit.run_audit import Auditor

CASES: Final = 30
LINES: Final = 20
LINE: Final = 200
NAME: Final = 32
LISTED: Final = 6
OF_A_CASE: Final = 8


def show_audit(auditor: Auditor, place: Path, min_kill: float) -> int:
    """Audit one case after the other, write the reports to `place`, and print what was found; the exit code."""
    lines = AuditLines(sys.stdout, min_kill, colour=wants_colour(sys.stdout, os.environ))
    with ExitStack() as stack:
        files = [
            stack.enter_context(open_atomic(place.with_name(f"{place.name}.audit.{end}"))) for end in ("json", "md")
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


class AuditLines:
    """Keeps what is to be shown, and shows it at the end."""

    def __init__(self, out: TextIO, min_kill: float, *, colour: bool = False) -> None:
        self._out = out
        self._min_kill = min_kill
        self._colour = colour
        self._shown = Shown(CASES, LINES, OF_A_CASE)

    def case(self, entry: CaseAudit | UnauditedCase) -> None:
        self._shown.add(entry)

    def end(self, summary: AuditSummary, artifacts: Sequence[Path]) -> None:
        lines = [*self._lines(summary), "", *self._verdict(summary), *(f"  {terminal(str(a))}" for a in artifacts)]
        show(self._out, "".join(f"{line}\n" for line in lines))

    def _lines(self, summary: AuditSummary) -> Iterator[str]:
        yield self._bold(f"Audit of {terminal(summary.suite)}")
        yield f"  {terminal(summary.journal)}, {pluralize(summary.audited, 'case')} audited, seed {summary.seed}"
        yield from self._set_aside(summary)
        yield from self._controls(summary)
        if summary.rate.tried:
            yield from self._operators(summary)
            yield from self._matrix(summary)
        yield from self._survivors(summary)
        yield from self._unrated_lines(summary)
        yield from self._pairs("Brittle: right answers that these checks fail", self._shown.brittle, summary.brittle)
        redundant = [(case_id, _list_some(checks)) for case_id, checks in self._shown.redundant]
        more = summary.redundant - sum(len(checks) for _, checks in self._shown.redundant)
        title = "Redundant: you can remove any one of these checks without losing a kill"
        yield from self._pairs(title, redundant, len(redundant) + max(more, 0))

    def _set_aside(self, summary: AuditSummary) -> Iterator[str]:
        pairs = [
            (entry.case_id, f"{entry.status}{f', {entry.reason}' if entry.reason else ''}")
            for entry in self._shown.set_aside
        ]
        yield from self._pairs("Not audited: these cases did not pass", pairs, summary.set_aside)

    def _controls(self, summary: AuditSummary) -> Iterator[str]:
        pairs = [(case_id, f"passes with an agent that {name}") for case_id, name in self._shown.controls]
        title = "Controls that pass: agents that do not do the work"
        yield from self._pairs(title, pairs, summary.controls, RED)

    def _operators(self, summary: AuditSummary) -> Iterator[str]:
        yield ""
        yield self._bold(f"{'':4}{'Operator':<22}{'killed':>9}  rate  95% interval  what it makes wrong")
        for (mark, name), operator in zip(operator_marks(summary), summary.operators, strict=True):
            found = operator.rate
            killed = f"{found.killed}/{found.tried}"
            yield f"  {mark} {name:<22}{killed:>9}  {self._rate(found)}  {interval(found)}  {operator.about}"

    def _matrix(self, summary: AuditSummary) -> Iterator[str]:
        marks = list(operator_marks(summary))
        names = [terminal(case.case_id, NAME) for case in self._shown.cases]
        column = max((width(name) for name in names), default=0) + 2
        yield ""
        head = f"{'Case':<{column}}{'killed':>9}  rate  95% interval  {' '.join(mark for mark, _ in marks)}"
        yield self._bold(f"  {head}")
        for name, case in zip(names, self._shown.cases, strict=True):
            cells = " ".join(self._cell(case, operator) for _, operator in marks)
            killed = f"{case.rate.killed}/{case.rate.tried}"
            figures = f"{killed:>9}  {self._rate(case.rate)}  {interval(case.rate)}"
            yield f"  {name}{' ' * (column - width(name))}{figures}  {cells}".rstrip()
        if self._shown.left_out:
            yield f"  {pluralize(self._shown.left_out, 'more case')}: see the reports"
        yield "  . all killed, 1 to 9 survivors, + more, blank: nothing to change"

    def _cell(self, case: CaseAudit, operator: str) -> str:
        if operator not in case.operators:
            return " "
        killed, tried = case.operators[operator]
        left = tried - killed
        if not left:
            return "."
        return self._paint(str(left) if left < 10 else "+", RED)

    def _survivors(self, summary: AuditSummary) -> Iterator[str]:
        if not summary.survivors:
            return
        yield ""
        yield self._bold("Survivors: wrong answers that the suite would pass")
        last = ""
        for case_id, survivor in self._shown.survivors:
            if case_id != last:
                yield f"  {terminal(case_id, NAME)}"
                last = case_id
            yield f"    {self._paint(terminal(survivor.operator, NAME), RED)}: {terminal(survivor.change, LINE)}"
            yield f"      seen  {terminal(survivor.evidence, LINE)}"
            yield f"      fix   {terminal(survivor.hint, LINE)}"
        yield from _more(summary.survivors - len(self._shown.survivors))
        yield ""
        yield self._bold("Fields that would catch them")
        for remedy in summary.remedies:
            yield f"  {terminal(remedy.field):<36}{_of(remedy)}"

    def _unrated_lines(self, summary: AuditSummary) -> Iterator[str]:
        blind = [operator for operator in summary.apart if operator.unseen]
        if not blind:
            return
        yield ""
        yield self._bold("What this suite cannot catch; not in the kill rate")
        for operator in blind:
            seen = f"unseen in {operator.unseen} of {pluralize(operator.cases, 'case')}"
            yield f"  {terminal(operator.operator, NAME):<22}{seen:<24}  {terminal(operator.about, LINE)}"
            yield f"      helps  {terminal(operator.help, LINE)}"
        for case_id, operators in self._shown.unseen:
            yield f"  {terminal(case_id, NAME)}: {terminal(_list_some(operators), LINE)}"
        yield from _more(summary.blind - len(self._shown.unseen))

    def _pairs(self, title: str, pairs: Sequence[tuple[str, str]], count: int, colour: str = "") -> Iterator[str]:
        if not pairs:
            return
        yield ""
        yield self._paint(self._bold(title), colour)
        for name, text in pairs:
            yield f"  {terminal(name, NAME)}: {terminal(text, LINE)}"
        yield from _more(count - len(pairs))

    def _verdict(self, summary: AuditSummary) -> Iterator[str]:
        unmet = summary.unmet(self._min_kill)
        yield headline(summary)
        yield from remarks(summary)
        yield self._paint(self._bold(verdict(summary, self._min_kill)), RED if unmet else GREEN)

    def _rate(self, found: Rate) -> str:
        return self._paint(f"{rate(found):>4}", YELLOW if found.value < self._min_kill else "")

    def _bold(self, text: str) -> str:
        return self._paint(text, BOLD)

    def _paint(self, text: str, colour: str) -> str:
        return f"{colour}{text}{PLAIN}" if self._colour and colour else text


def _of(remedy: Remedy) -> str:
    return f"{pluralize(remedy.survivors, 'survivor'):<14}in {pluralize(remedy.cases, 'case')}"


def _list_some(names: Sequence[str]) -> str:
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more


def _more(count: int) -> Iterator[str]:
    if count > 0:
        yield f"  {count} more: see the reports"
