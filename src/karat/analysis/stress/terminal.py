"""A stress run in a terminal: progress, a table of tools against faults, what broke, what was left out."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Final

from karat.analysis.stress.model import CellResult, CellStatus, StressReport, worst_status
from karat.analysis.stress.report import MARKS, stress_verdict
from karat.errors import ExitCode
from karat.model.suite import Suite
from karat.reports.escaping import terminal
from karat.reports.run_result import RunResult
from karat.terminal.ending import show_ending
from karat.terminal.live_run import run_interruptibly
from karat.terminal.screen import BOLD, GREEN, PLAIN, RED, YELLOW, Screen, Verbosity, show, width

if TYPE_CHECKING:
    from karat.analysis.stress.session import StressResult

NAME: Final = 28
LINE: Final = 220
SHOWN: Final = 30
COLOURS: Final = {CellStatus.HELD: GREEN, CellStatus.BROKE: RED, CellStatus.UNKNOWN: YELLOW}


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
        lines.append(f"  continue: karat stress {terminal(suite.file)} --resume {terminal(result.report.journal)}")
    show(sys.stdout, "".join(f"{line}\n" for line in lines))
    code = ExitCode.INTERNAL if result.run.failures else result.report.exit_code
    return result, code


def stress_lines(report: StressReport, *, colour: bool = False) -> Iterator[str]:
    """The table, then what did not hold, then what was left out, then the verdict."""

    def paint(text: str, how: str) -> str:
        return f"{how}{text}{PLAIN}" if colour and how else text

    yield paint(f"Stress of {terminal(report.suite)}", BOLD)
    yield from _table(report, paint)
    yield from _broken_lines(report, paint)
    for title, entries in (
        ("Left out", [f"{one.what}: {one.why}" for one in report.left_out]),
        ("Notes", [*report.notes]),
    ):
        if entries:
            yield ""
            yield paint(title, BOLD)
            yield from (f"  {terminal(entry, LINE)}" for entry in entries)
    yield ""
    good = report.exit_code == ExitCode.OK
    yield paint(paint(stress_verdict(report), BOLD), GREEN if good else RED)


Paint = Callable[[str, str], str]


def _table(report: StressReport, paint: Paint) -> Iterator[str]:
    """One row for each fault: there are more of them than tools, and a terminal is higher than wide."""
    names = [terminal(name, NAME) for name in report.names]
    columns = [max(width(name), len("not reached")) + 2 for name in names]
    first = max((len(fault) for fault in report.faults), default=0) + 2
    if not names:
        return
    yield ""
    head = "".join(_pad(name, size) for name, size in zip(names, columns, strict=True))
    yield paint(f"  {'':{first}}{head}".rstrip(), BOLD)
    for fault in report.faults:
        cells = [_cell(report.at(name, fault), size, paint) for name, size in zip(report.names, columns, strict=True)]
        yield f"  {terminal(fault):<{first}}{''.join(cells)}".rstrip()


def _cell(cells: tuple[CellResult, ...], size: int, paint: Paint) -> str:
    status = worst_status(cells)
    if status is None:
        return _pad("·", size)
    count = sum(cell.status is status for cell in cells)
    text = f"{MARKS[status]}{f' ×{count}' if count > 1 else ''}"
    return paint(text, COLOURS.get(status, "")) + " " * (size - width(text))


def _pad(text: str, size: int) -> str:
    return text + " " * max(size - width(text), 0)


def _broken_lines(report: StressReport, paint: Paint) -> Iterator[str]:
    for status, title in ((CellStatus.BROKE, "Broke"), (CellStatus.UNKNOWN, "Unknown")):
        found = [cell for cell in report.cells if cell.status is status]
        if not found:
            continue
        yield ""
        yield paint(title, BOLD)
        for cell in found[:SHOWN]:
            yield f"  {paint(terminal(cell.id, LINE), COLOURS[status])}: {terminal(cell.about, LINE)}"
            mine = (one for one in cell.findings if one.status is status)
            yield from (f"    {terminal(one.rule)}: {terminal(one.found, LINE)}" for one in mine)
        if len(found) > SHOWN:
            yield f"  {len(found) - SHOWN} more: see the page"
