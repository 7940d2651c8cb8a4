"""The tables of a report, which a terminal, Markdown and a page draw alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from carob.reports.escaping import markdown_cell

MARKDOWN_ROWS: Final = 1000
HTML_ROWS: Final = 1000
TERMINAL_ROWS: Final = 30
CELL: Final = 400


class ReportSection(NamedTuple):
    """One table: its columns, and its rows as texts. `note`: what is under the title."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""
    is_marked: bool = False
    """Its rows are what to act on."""
    has_code: bool = False
    """Its last column is to be copied."""
    bars: Mapping[str, float] = {}
    """A share of 0 to 1 for the first cell of a row."""
    terminal_rows: int = TERMINAL_ROWS
    """With 0 a terminal does not show it."""
    below: int = 0
    """In a terminal so many of its last columns are on lines of their own."""
    total: int = 0
    """How many there are, where not all have a row."""

    def most(self, limit: int) -> tuple[Sequence[tuple[str, ...]], int]:
        """The rows that there is room for, and how many there is none for."""
        rows = self.rows[:limit]
        return rows, max(len(self.rows), self.total) - len(rows)


def markdown_sections(sections: Sequence[ReportSection]) -> Iterator[str]:
    for section in sections:
        rows, more = section.most(MARKDOWN_ROWS)
        yield f"\n## {section.title}\n"
        if section.note:
            yield f"{markdown_cell(section.note, CELL)}\n"
        if rows:
            yield f"| {' | '.join(section.header)} |"
            yield f"|{'---|' * len(section.header)}"
        for row in rows:
            yield f"| {' | '.join(markdown_cell(cell, CELL) for cell in row)} |"
        if more:
            yield f"\n{more} more: see the JSON report."


def html_sections(page: str, sections: Sequence[ReportSection], **values: object) -> bytes:
    """A page of these tables in one file that needs no network."""
    from carob.reports.html.pages import assets, report_policy, template  # late: templates take time to load

    tables = [(section, *section.most(HTML_ROWS)) for section in sections]
    rendered = template(page).render(style=assets().style, policy=report_policy(), sections=tables, **values)
    return rendered.encode("utf-8", "backslashreplace")
