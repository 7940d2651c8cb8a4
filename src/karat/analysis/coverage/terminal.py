"""A coverage report in a terminal: the figure, the two lists to act on, then the tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from karat.analysis.coverage.model import Coverage
from karat.analysis.coverage.report import (
    CoverageSection,
    basis,
    coverage_html,
    coverage_json,
    coverage_markdown,
    coverage_sections,
    headline,
    verdict,
)
from karat.reports.artifacts import open_atomic
from karat.reports.escaping import terminal
from karat.terminal.screen import BOLD, GREEN, RED, YELLOW, paint, show, wants_colour, width

ROWS: Final = 30
CELL: Final = 160
WIDEST: Final = 44
"""A column is at most so wide; the last one of a table takes what it needs."""


def show_coverage(coverage: Coverage, form: str, output: Path | None, min_asserted: float | None) -> None:
    """Print a report in this format; or write that into a file, and print the words."""
    if output is not None:
        with open_atomic(output, replace=True) as out:
            out.write(_format_as(coverage, form, min_asserted))
    elif form != "terminal":
        click.echo(_format_as(coverage, form, min_asserted).decode(), nl=False)
        return
    colour = wants_colour(sys.stdout, os.environ)
    show(sys.stdout, "".join(f"{line}\n" for line in coverage_lines(coverage, min_asserted, colour=colour)))


def _format_as(coverage: Coverage, form: str, min_asserted: float | None) -> bytes:
    if form == "terminal":
        return "".join(f"{line}\n" for line in coverage_lines(coverage, min_asserted)).encode()
    writers = {"json": coverage_json, "markdown": coverage_markdown, "html": coverage_html}
    return writers[form](coverage, min_asserted)


def coverage_lines(coverage: Coverage, min_asserted: float | None = None, *, colour: bool = False) -> Iterator[str]:
    """The whole report, line by line."""
    yield paint(f"Coverage of {terminal(coverage.suite)}", BOLD, colour)
    yield f"  {basis(coverage)}"
    for section in coverage_sections(coverage):
        yield ""
        yield paint(section.title, BOLD + (YELLOW if section.is_gap else ""), colour)
        if section.note:
            yield f"  {terminal(section.note, CELL * 3)}"
        yield from _table(section, colour)
    yield ""
    yield headline(coverage)
    if gate := verdict(coverage, min_asserted):
        yield paint(gate, BOLD + (RED if coverage.unmet(min_asserted) else GREEN), colour)


def _table(section: CoverageSection, colour: bool) -> Iterator[str]:
    rows, more = section.most(ROWS)
    if not rows:
        return
    cells = [[terminal(cell, CELL) for cell in row] for row in (section.header, *rows)]
    columns = [min(max(width(row[at]) for row in cells), WIDEST) + 2 for at in range(len(section.header) - 1)]
    for number, row in enumerate(cells):
        padded = "".join(cell + " " * max(size - width(cell), 2) for cell, size in zip(row, columns, strict=False))
        line = f"  {padded}{row[-1]}".rstrip()
        yield line if number else paint(line, BOLD, colour)
    if more:
        yield f"  {more} more: see --format json"
