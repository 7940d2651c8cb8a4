"""A matrix as JSON, Markdown and one HTML page, and the words that a terminal shows too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

import msgspec

from carob.features.compare.report import quantity
from carob.features.matrix.model import Matrix, MatrixCell, MatrixColumn, MatrixRow, RowKind
from carob.reports.escaping import encode, markdown_cell, terminal
from carob.reports.html.markup import escape_text, side_by_side
from carob.text.wording import describe_move, pluralize

LINE: Final = 400
MARKDOWN_ROWS: Final = 200
MARKDOWN_TEXT: Final = 160


class MatrixCellView(NamedTuple):
    """A cell of the page. `answer` and `calls` are HTML in which what differs from the reference is marked."""

    cell: MatrixCell | None
    words: str
    answer: str
    calls: list[str]


class MatrixRowView(NamedTuple):
    row: MatrixRow
    cells: list[MatrixCellView]


class MatrixCategoryView(NamedTuple):
    """The cases of a category, and how many passed in each run."""

    name: str
    passed: list[str]
    rows: list[MatrixRowView]


def headline(matrix: Matrix) -> str:
    """`3 runs of refunds.yaml, 12 cases: 4 come out differently, 5 with other answers or calls`."""
    outcome, words = matrix.count(RowKind.OUTCOME), matrix.count(RowKind.WORDS)
    come = "comes" if outcome == 1 else "come"
    size = f"{pluralize(len(matrix.columns), 'run')} of {matrix.suite}, {pluralize(len(matrix.rows), 'case')}"
    return f"{size}: {outcome} {come} out differently, {words} alike with other answers or calls"


def describe_column(column: MatrixColumn) -> list[str]:
    """The figures of a run, each in a few words."""
    each = f"{quantity('seconds', column.seconds)} a case" if column.seconds is not None else ""
    tokens = f"tokens {column.tokens}" if column.tokens else ""
    return [part for part in (column.rate, column.cost, tokens, each) if part]


def describe_against(matrix: Matrix, column: MatrixColumn) -> str:
    """How a run came out against the reference: `against a, the pass rate rose by 8.3 points (...): may be chance`."""
    if column.trouble:
        return f"not whole, not compared: {column.trouble}"
    if matrix.reference is None or column is matrix.columns[matrix.reference]:
        return ""
    base = matrix.columns[matrix.reference].label
    scope = column.against
    if scope is None:
        return f"no case can be compared with {base}"
    sure = {"better": "significantly better", "worse": "significantly worse", "": "may be chance"}[scope.sure]
    move = describe_move(scope.difference.value, scope.difference.low, scope.difference.high)
    return f"against {base}, the pass rate {move}: {sure}, over {pluralize(scope.cases, 'case')}"


def cell_words(cell: MatrixCell | None) -> str:
    """What became of a case: its status, or over repeats how often it passed."""
    if cell is None:
        return "not run"
    if cell.judged + cell.errors > 1:
        errors = f", {cell.errors} ended in an error" if cell.errors else ""
        return f"{cell.passed} of {cell.judged} passed{errors}"
    return cell.status


def matrix_json(matrix: Matrix) -> bytes:
    return encode({"headline": headline(matrix), **msgspec.to_builtins(matrix)}) + b"\n"


def matrix_markdown(matrix: Matrix) -> bytes:
    return "".join(f"{line}\n" for line in _markdown_lines(matrix)).encode("utf-8", "backslashreplace")


def _markdown_lines(matrix: Matrix) -> Iterator[str]:
    yield f"**{_markdown_text(headline(matrix))}**\n"
    for column in matrix.columns:
        parts = [", ".join(column.models), *describe_column(column), describe_against(matrix, column)]
        yield f"- **{markdown_cell(column.label)}**: {_markdown_text('; '.join(filter(None, parts)))}"
    yield ""
    yield f"| Case | {' | '.join(markdown_cell(column.label) for column in matrix.columns)} |"
    yield f"|---|{'---|' * len(matrix.columns)}"
    differing = [row for row in matrix.rows if row.kind is RowKind.OUTCOME]
    for row in differing[:MARKDOWN_ROWS]:
        yield f"| {markdown_cell(row.id)} | {' | '.join(map(_markdown_cell, row.cells))} |"
    left = len(differing) - MARKDOWN_ROWS
    yield f"\n{left} more come out differently." if left > 0 else ""
    yield from (f"- {_markdown_text(note)}" for note in matrix.notes)


def _markdown_text(value: str) -> str:
    return markdown_cell(value, LINE)


def _markdown_cell(cell: MatrixCell | None) -> str:
    answer = f": {cell.excerpt.answer}" if cell and cell.excerpt.answer else ""
    return markdown_cell(f"{cell_words(cell)}{answer}", MARKDOWN_TEXT)


def matrix_html(matrix: Matrix) -> bytes:
    """One page that needs no network and no script: filters are style."""
    from carob.reports.html.pages import HERE, assets, page_policy, template  # late: templates take time to load

    columns = f".side {{ --columns: {len(matrix.columns)}; }}\n"
    style = assets().style + (HERE / "static" / "matrix.css").read_text("utf-8") + columns
    rendered = template("matrix_page.html").render(
        title=f"{matrix.name or matrix.suite} side by side · Carob",
        style=style,
        policy=page_policy(style),
        matrix=matrix,
        headline=headline(matrix),
        heads=[(column, describe_column(column), describe_against(matrix, column)) for column in matrix.columns],
        categories=list(_categories(matrix)),
    )
    return rendered.encode("utf-8", "backslashreplace")


def _categories(matrix: Matrix) -> Iterator[MatrixCategoryView]:
    for name, rows in groupby(matrix.rows, key=lambda row: row.category):
        listed = list(rows)
        views = [MatrixRowView(row, _cell_views(row.cells, matrix.reference or 0)) for row in listed]
        yield MatrixCategoryView(name, [_count_passed(listed, number) for number in range(len(matrix.columns))], views)


def _count_passed(rows: Sequence[MatrixRow], number: int) -> str:
    """`3 of 4 passed`, of the cases that this run has and judged."""
    cells = [cell for row in rows if (cell := row.cells[number]) and (cell.judged or cell.errors)]
    return f"{sum(cell.passed == cell.judged > 0 for cell in cells)} of {len(cells)} passed" if cells else "not run"


def _cell_views(cells: Sequence[MatrixCell | None], reference: int) -> list[MatrixCellView]:
    base = cells[reference]
    return [
        MatrixCellView(cell, cell_words(cell), *(_mark_cell(base, cell) if cell else ("", [])))
        for cell in cells
    ]  # fmt: skip


def _mark_cell(base: MatrixCell | None, cell: MatrixCell) -> tuple[str, list[str]]:
    """The answer and the calls of a cell, marked where they are not those of the reference."""
    answer, calls = terminal(cell.excerpt.answer, LINE), [terminal(call, LINE) for call in cell.excerpt.calls]
    if base is None or base is cell:
        return escape_text(answer), [escape_text(call) for call in calls]
    before = terminal(base.excerpt.answer, LINE)
    shown = side_by_side(before, answer)[1]
    known = {terminal(call, LINE) for call in base.excerpt.calls}
    marked = [escape_text(call) if call in known else f"<ins>{escape_text(call)}</ins>" for call in calls]
    missing = dict.fromkeys(terminal(call, LINE) for call in base.excerpt.calls if terminal(call, LINE) not in calls)
    return shown, marked + [f'<span class="fine">not called here: {escape_text(call)}</span>' for call in missing]
