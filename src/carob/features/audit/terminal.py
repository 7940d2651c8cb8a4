"""What an audit looks like in a terminal: figures, the matrix, what survived and how to catch it, the verdict."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from carob.features.audit.model import AuditSummary, CaseAudit, Rate, UnauditedCase
from carob.features.audit.report import (
    MARKS,
    AuditJson,
    AuditMarkdown,
    AuditRows,
    AuditSection,
    headline,
    rate_cells,
    remarks,
    verdict,
)
from carob.reports.artifacts import open_atomic
from carob.reports.escaping import terminal
from carob.terminal.screen import BOLD, GREEN, RED, YELLOW, paint, show, wants_colour, width
from carob.text.wording import pluralize

if TYPE_CHECKING:
    from carob.features.audit.run_audit import Auditor

CASES: Final = 30
LINES: Final = 20
LINE: Final = 200
NAME: Final = 32
LISTED: Final = 6
OF_A_CASE: Final = 8


def show_audit(auditor: Auditor, path: Path, min_kill: float) -> int:
    """Audit one case after the other, write the reports to `place`, and print what was found; the exit code."""
    lines = AuditLines(sys.stdout, min_kill, colour=wants_colour(sys.stdout, os.environ))
    with ExitStack() as stack:
        files = [stack.enter_context(open_atomic(path.with_name(f"{path.name}.audit.{end}"))) for end in ("json", "md")]
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
        self._rows = AuditRows(CASES, LINES, OF_A_CASE, LISTED)

    def case(self, entry: CaseAudit | UnauditedCase) -> None:
        self._rows.add(entry)

    def end(self, summary: AuditSummary, artifacts: Sequence[Path]) -> None:
        lines = [*self._lines(summary), *(f"  {terminal(str(artifact))}" for artifact in artifacts)]
        show(self._out, "".join(f"{line}\n" for line in lines))

    def _lines(self, summary: AuditSummary) -> Iterator[str]:
        sections = self._rows.sections(summary)
        yield self._bold(f"Audit of {terminal(summary.suite)}")
        yield f"  {terminal(summary.journal)}, {pluralize(summary.audited, 'case')} audited, seed {summary.seed}"
        yield from self._section(sections["unaudited"])
        yield from self._section(sections["controls"], RED)
        if summary.survivors:
            yield from self._remedies(summary)
        if summary.rate.tried:
            yield from self._matrix(summary)
        if summary.survivors:
            yield from self._survivors(summary)
        yield from self._unrated_lines(summary, sections["undetectable"])
        yield from self._section(sections["brittle"])
        yield from self._section(sections["redundant"])
        yield ""
        yield headline(summary)
        yield from remarks(summary)
        colour = RED if summary.unmet(self._min_kill) else GREEN
        yield self._paint(self._bold(verdict(summary, self._min_kill)), colour)

    def _matrix(self, summary: AuditSummary) -> Iterator[str]:
        """The operators, each with a letter, and the cases with a column for each letter."""
        yield ""
        yield self._bold(f"{'':4}{'Name':<22}{'killed':>9}  rate  95% interval  what it makes wrong")
        for mark, operator in zip(MARKS, summary.operators, strict=False):
            yield f"  {mark} {operator.name:<22}{self._rate(operator.rate)}  {operator.about}"
        names = [terminal(case.case_id, NAME) for case in self._rows.cases]
        column = max((width(name) for name in names), default=0) + 2
        marks = " ".join(MARKS[: len(summary.operators)])
        yield ""
        yield self._bold(f"  {'Case':<{column}}{'killed':>9}  rate  95% interval  {marks}")
        for name, case in zip(names, self._rows.cases, strict=True):
            cells = " ".join(self._cell(case, operator.name) for operator in summary.operators)
            yield f"  {name}{' ' * (column - width(name))}{self._rate(case.rate)}  {cells}".rstrip()
        if self._rows.left_out:
            yield f"  {pluralize(self._rows.left_out, 'more case')}: see the reports"
        yield "  . all killed, 1 to 9 survivors, + more, blank: nothing to change"

    def _rate(self, figures: Rate) -> str:
        killed, rate, interval = rate_cells(figures)
        colour = YELLOW if figures.value < self._min_kill else ""
        return f"{killed:>9}  {self._paint(f'{rate:>4}', colour)}  {interval}"

    def _cell(self, case: CaseAudit, operator: str) -> str:
        if operator not in case.operators:
            return " "
        killed, tried = case.operators[operator]
        survivors = tried - killed
        return self._paint(str(survivors) if survivors < 10 else "+", RED) if survivors else "."

    def _survivors(self, summary: AuditSummary) -> Iterator[str]:
        yield ""
        yield self._bold("Survivors: wrong answers that the suite would pass")
        for case_id, rows in groupby(self._rows.survivors, key=lambda row: row[0]):
            yield f"  {terminal(case_id, NAME)}"
            for _, survivor in rows:
                yield f"    {self._paint(terminal(survivor.operator, NAME), RED)}: {terminal(survivor.change, LINE)}"
                yield f"      seen  {terminal(survivor.evidence, LINE)}"
                yield f"      fix   {terminal(survivor.hint, LINE)}"
        yield from _more(summary.survivors - len(self._rows.survivors))

    def _remedies(self, summary: AuditSummary) -> Iterator[str]:
        """What to do first."""
        yield ""
        yield self._bold("Add these first: the fields that would catch the most wrong answers")
        for remedy in summary.remedies:
            survivors = f"{pluralize(remedy.survivors, 'survivor'):<14}in {pluralize(remedy.cases, 'case')}"
            yield f"  {terminal(remedy.field):<36}{survivors}"

    def _unrated_lines(self, summary: AuditSummary, section: AuditSection) -> Iterator[str]:
        blind = [operator for operator in summary.apart if operator.unseen]
        if not blind:
            return
        yield from self._title(section.title)
        for operator in blind:
            cases = f"unseen in {operator.unseen} of {pluralize(operator.cases, 'case')}"
            yield f"  {terminal(operator.operator, NAME):<22}{cases:<24}  {terminal(operator.about, LINE)}"
            yield f"      helps  {terminal(operator.help, LINE)}"
        yield from _section_rows(section)

    def _section(self, section: AuditSection, colour: str = "") -> Iterator[str]:
        if section.rows:
            yield from self._title(section.title, colour)
            yield from _section_rows(section)

    def _title(self, title: str, colour: str = "") -> Iterator[str]:
        yield ""
        yield self._paint(self._bold(title), colour)

    def _bold(self, text: str) -> str:
        return self._paint(text, BOLD)

    def _paint(self, text: str, colour: str) -> str:
        return paint(text, colour, self._colour)


def _section_rows(section: AuditSection) -> Iterator[str]:
    yield from (f"  {terminal(name, NAME)}: {terminal(text, LINE)}" for name, text in section.rows)
    yield from _more(section.more)


def _more(count: int) -> Iterator[str]:
    if count > 0:
        yield f"  {count} more: see the reports"
