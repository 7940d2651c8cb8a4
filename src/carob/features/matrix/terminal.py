"""A matrix in a terminal: a line for each run, then the cases that come out differently."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path, PurePath
from typing import Final

import click

from carob.features.matrix import report
from carob.features.matrix.model import Matrix, MatrixCell, RowKind
from carob.reports.artifacts import open_atomic, safe_stem, stamp, utc_now
from carob.reports.escaping import terminal
from carob.terminal.formats import show_as
from carob.terminal.screen import BOLD, GREEN, RED, YELLOW, paint

ROWS: Final = 30
NAME: Final = 40
LINE: Final = 300


def show_matrix(matrix: Matrix, form: str, output: Path | None) -> None:
    """Print a matrix in this format; or write that into a file, and print the words."""
    writers = {"json": report.matrix_json, "markdown": report.matrix_markdown, "html": report.matrix_html}
    forms = {name: partial(write, matrix) for name, write in writers.items()}
    show_as(form, output, forms, lambda colour: matrix_lines(matrix, colour=colour))


def show_matrix_page(matrix: Matrix, folder: Path) -> None:
    """Print a matrix that was just run, and write its page next to the journals."""
    name = f"{safe_stem(PurePath(matrix.suite).stem)}-matrix-{stamp(utc_now())}.html"
    with open_atomic(folder / name) as out:
        out.write(report.matrix_html(matrix))
    click.echo()
    show_matrix(matrix, "terminal", None)
    click.echo(f"  {terminal(str(out.path))}")


def matrix_lines(matrix: Matrix, *, colour: bool = False) -> Iterator[str]:
    """The whole matrix, line by line."""
    yield paint(terminal(report.headline(matrix), LINE), BOLD, colour)
    for letter, column in zip(_letters(), matrix.columns, strict=False):
        models = f" ({', '.join(column.models)})" if column.models else ""
        figures = "; ".join(report.describe_column(column))
        yield f"  {letter}  {terminal(column.label + models, LINE)}: {terminal(figures, LINE)}"
        if against := report.describe_against(matrix, column):
            yield f"     {terminal(against, LINE)}"
    rows = [row for row in matrix.rows if row.kind is RowKind.OUTCOME]
    if rows:
        names = [terminal(row.id, NAME) for row in rows[:ROWS]]
        wide = max(map(len, names))
        cells = [[report.cell_words(cell) for cell in row.cells] for row in rows[:ROWS]]
        widths = [max(len(row[number]) for row in cells) for number in range(len(matrix.columns))]
        yield ""
        heads = "  ".join(f"{letter:<{size}}" for letter, size in zip(_letters(), widths, strict=False))
        yield f"  {'':<{wide}}  {heads}".rstrip()
        for name, row, words in zip(names, rows, cells, strict=False):
            shown = "  ".join(
                paint(f"{text:<{size}}", _colour(cell), colour)
                for text, size, cell in zip(words, widths, row.cells, strict=True)
            )
            yield f"  {name:<{wide}}  {shown}".rstrip()
    if len(rows) > ROWS:
        yield f"  and {len(rows) - ROWS} more; the page shows all of them"
    yield from (f"note: {terminal(note, LINE)}" for note in matrix.notes)


def _letters() -> Iterator[str]:
    yield from (chr(ord("A") + number) for number in range(26))


def _colour(cell: MatrixCell | None) -> str:
    if cell is None or not cell.judged:
        return RED if cell and cell.errors else ""
    return GREEN if cell.passed == cell.judged and not cell.errors else YELLOW if cell.passed else RED
