"""A stress run in a terminal: progress, a table of tools against faults, what broke, what was left out."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from carob.errors import ExitCode
from carob.features.stress.model import CellResult, CellStatus, StressReport
from carob.features.stress.report import MARKS, causes_of_doubt, stress_rows, stress_verdict, unmet_cells
from carob.model.suite import Suite
from carob.reports.escaping import terminal
from carob.reports.run_result import RunResult
from carob.terminal.ending import show_ending
from carob.terminal.live_run import run_interruptibly
from carob.terminal.screen import BOLD, GREEN, RED, YELLOW, Screen, Verbosity, paint, show, width
from carob.text.wording import pluralize

if TYPE_CHECKING:
    from carob.features.stress.session import StressResult

NAME: Final = 28
LINE: Final = 220
SHOWN: Final = 30
FEW: Final = 4
COLOURS: Final[Mapping[CellStatus | None, str]] = {
    CellStatus.HELD: GREEN,
    CellStatus.BROKE: RED,
    CellStatus.UNKNOWN: YELLOW,
}


def stress_with_progress(
    suite: Suite, start: Callable[..., Awaitable[StressResult | RunResult]], verbosity: Verbosity
) -> tuple[StressResult | None, int]:
    """Run, show the table, and give the result with the exit code."""
    screen = Screen.of(sys.stdout, os.environ, verbosity)
    result, _ = run_interruptibly(suite, start, screen)
    if isinstance(result, RunResult):  # it never came to the faults
        show_ending(result, screen)
        return None, result.exit_code
    lines = [*stress_lines(result.report, colour=screen.colour)]
    lines += ["", *(f"  {terminal(str(path))}" for path in (result.report.journal, *result.artifacts[:2]))]
    if result.report.incomplete:
        lines.append(f"  continue: carob stress {terminal(suite.file)} --resume {terminal(result.report.journal)}")
    show(sys.stdout, "".join(f"{line}\n" for line in lines))
    code = ExitCode.INTERNAL if result.run.failures else result.report.exit_code
    return result, code


def stress_lines(report: StressReport, *, colour: bool = False) -> Iterator[str]:
    """The table, then what did not hold, then what was left out, then the verdict."""
    yield paint(f"Stress of {terminal(report.suite)}", BOLD, colour)
    if report.names:
        yield ""
        yield from _table(report, colour)
    unmet = unmet_cells(report)
    sections = [
        ("Broke", [*_cell_lines([cell for cell in unmet if cell.status is CellStatus.BROKE], colour)]),
        ("Unknown", [*_cause_lines(report, colour)]),
        ("Not tried", [*_untried_lines(report)]),
        ("Left out", [f"  {terminal(f'{entry.what}: {entry.why}', LINE)}" for entry in report.left_out]),
        ("Notes", [f"  {terminal(note, LINE)}" for note in report.notes]),
    ]
    for title, lines in sections:
        if lines:
            yield ""
            yield paint(title, BOLD, colour)
            yield from lines
    yield ""
    yield paint(stress_verdict(report), BOLD + (GREEN if report.exit_code == ExitCode.OK else RED), colour)


def _table(report: StressReport, colour: bool) -> Iterator[str]:
    names = [terminal(name, NAME) for name in report.names]
    columns = [max(width(name), len("not reached")) + 2 for name in names]
    first = max(len(fault) for fault in report.faults) + 2
    head = "".join(name + " " * (size - width(name)) for name, size in zip(names, columns, strict=True))
    yield paint(f"  {'':{first}}{head}".rstrip(), BOLD, colour)
    for row in stress_rows(report):
        cells = [_cell(*cell, size, colour) for cell, size in zip(row.cells, columns, strict=True)]
        yield f"  {terminal(row.fault):<{first}}{''.join(cells)}".rstrip()


def _cell(cells: tuple[CellResult, ...], status: CellStatus | None, size: int, colour: bool) -> str:
    count = sum(cell.status is status for cell in cells)
    text = f"{MARKS[status]}{f' ×{count}' if count > 1 else ''}" if status is not None else "·"
    return paint(text, COLOURS.get(status, ""), colour) + " " * (size - width(text))


def _cause_lines(report: StressReport, colour: bool) -> Iterator[str]:
    causes = causes_of_doubt(report)
    for cause in causes[:SHOWN]:
        for cell in cause.cells[:FEW]:
            yield f"  {paint(terminal(cell.id, LINE), YELLOW, colour)}: {terminal(cell.about, LINE)}"
        if len(cause.cells) > FEW:
            yield f"  and {pluralize(len(cause.cells) - FEW, 'other cell')}"
        yield f"    {terminal(cause.rule)}: {terminal(cause.found, LINE)}"
    if len(causes) > SHOWN:
        yield f"  {len(causes) - SHOWN} more: see the page"


def _untried_lines(report: StressReport) -> Iterator[str]:
    for kinds in report.not_tried:
        faults = ", ".join(kinds.faults)
        yield f"  {terminal(f'faults of a {kinds.hits}: {faults}', LINE)}"
        yield f"    {terminal(kinds.why, LINE)}"


def _cell_lines(cells: Sequence[CellResult], colour: bool) -> Iterator[str]:
    for cell in cells[:SHOWN]:
        yield f"  {paint(terminal(cell.id, LINE), COLOURS[cell.status], colour)}: {terminal(cell.about, LINE)}"
        findings = (finding for finding in cell.findings if finding.status is cell.status)
        yield from (f"    {terminal(finding.rule)}: {terminal(finding.found, LINE)}" for finding in findings)
    if len(cells) > SHOWN:
        yield f"  {len(cells) - SHOWN} more: see the page"
