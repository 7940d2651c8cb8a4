"""An audit of a grader in a terminal, and its reports as files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import Final, TextIO

from karat.analysis.audit.graders.model import GraderAudit
from karat.analysis.audit.graders.report import (
    GraderSection,
    basis,
    grader_html,
    grader_json,
    grader_markdown,
    grader_sections,
    headline,
    remarks,
    verdict,
)
from karat.reports.artifacts import open_atomic, safe_stem
from karat.reports.escaping import terminal
from karat.terminal.screen import BOLD, GREEN, RED, YELLOW, paint, show, wants_colour, width
from karat.text.wording import pluralize

ROWS: Final = 30
FEW_ROWS: Final = 8
CELL: Final = 100
WIDEST: Final = 40
STEM: Final = 60
EVERY: Final = 0.5


class AuditProgress:
    """One line that is redrawn while a grader is asked."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._shown = monotonic()

    def __call__(self, traces: int, calls: int) -> None:
        if monotonic() - self._shown >= EVERY:
            self._shown = monotonic()
            self._out.write(f"\r\x1b[2K{pluralize(traces, 'trace')}, {pluralize(calls, 'call')} of the grader")
            self._out.flush()

    def end(self) -> None:
        self._out.write("\r\x1b[2K")
        self._out.flush()


def show_grader_audit(audit: GraderAudit, folder: Path) -> int:
    """Write the reports, print what the audit shows, and give the exit code."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{safe_stem(audit.grader)[:STEM]}.grader-audit"
    writers = {"json": grader_json, "md": grader_markdown, "html": grader_html}
    with ExitStack() as stack:
        files = [stack.enter_context(open_atomic(folder / f"{stem}.{end}")) for end in writers]
        for file, write in zip(files, writers.values(), strict=True):
            file.write(write(audit))
    colour = wants_colour(sys.stdout, os.environ)
    lines = [*grader_lines(audit, colour=colour), *(f"  {terminal(str(file.path))}" for file in files)]
    show(sys.stdout, "".join(f"{line}\n" for line in lines))
    return audit.exit_code


def grader_lines(audit: GraderAudit, *, colour: bool = False) -> Iterator[str]:
    """The whole report, line by line."""
    yield paint(f"Audit of the grader {terminal(audit.grader)}", BOLD, colour)
    yield f"  {basis(audit)}"
    for section in grader_sections(audit):
        yield ""
        yield paint(section.title, BOLD + (YELLOW if section.is_bad else ""), colour)
        if section.note:
            yield f"  {terminal(section.note, CELL * 3)}"
        yield from _table(section, colour)
    yield ""
    yield headline(audit)
    yield from remarks(audit)
    if gate := verdict(audit):
        yield paint(terminal(gate), BOLD + (RED if audit.unmet else GREEN), colour)


def _table(section: GraderSection, colour: bool) -> Iterator[str]:
    rows, more = section.most(ROWS if section.title == "Operators" else FEW_ROWS)
    cells = [[terminal(cell, CELL) for cell in row] for row in (section.header, *rows)]
    columns = [min(max(width(row[at]) for row in cells), WIDEST) + 2 for at in range(len(section.header) - 1)]
    for number, row in enumerate(cells):
        padded = "".join(cell + " " * max(size - width(cell), 2) for cell, size in zip(row, columns, strict=False))
        line = f"  {padded}{row[-1]}".rstrip()
        yield line if number else paint(line, BOLD, colour)
    if more:
        yield f"  {more} more: see the reports"
