"""The tables of a report in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from carob.reports.escaping import terminal
from carob.reports.sections import ReportSection
from carob.terminal.screen import BOLD, YELLOW, paint, width

CELL: Final = 200
WIDEST: Final = 44
"""A column is at most so wide; the last one of a table takes what it needs."""


def section_lines(sections: Sequence[ReportSection], rest: str, *, colour: bool) -> Iterator[str]:
    """Each table under its title. `rest`: where the rows are that there is no room for."""
    for section in (section for section in sections if section.terminal_rows):
        yield ""
        yield paint(section.title, BOLD + (YELLOW if section.is_marked else ""), colour)
        if section.note:
            yield f"  {terminal(section.note, CELL * 3)}"
        yield from _table(section, rest, colour)


def _table(section: ReportSection, rest: str, colour: bool) -> Iterator[str]:
    rows, more = section.most(section.terminal_rows)
    if not rows:
        return
    cells = [[terminal(cell, CELL) for cell in row] for row in (section.header, *rows)]
    first = len(section.header) - section.below
    columns = [min(max(width(row[at]) for row in cells), WIDEST) + 2 for at in range(first - 1)]
    names = [name + " " * (max(map(width, cells[0][first:])) - width(name)) for name in cells[0][first:]]
    for number, row in enumerate(cells):
        padded = "".join(cell + " " * max(size - width(cell), 2) for cell, size in zip(row, columns, strict=False))
        line = f"  {padded}{row[first - 1]}".rstrip()
        yield line if number else paint(line, BOLD, colour)
        yield from (f"    {name}  {cell}" for name, cell in zip(names, row[first:], strict=True) if number)
    if more:
        yield f"  {more} more: see {rest}"
