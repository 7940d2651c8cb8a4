"""A cell of a matrix in words and in its colour."""

from __future__ import annotations

import pytest

from carob.features.matrix.model import MatrixCell
from carob.features.matrix.report import cell_words
from carob.features.matrix.terminal import GREEN, RED, YELLOW, _colour


@pytest.mark.parametrize(
    ("cell", "words", "colour"),
    [
        (None, "not run", ""),
        (MatrixCell(status="SKIP"), "SKIP", ""),
        (MatrixCell(status="ERROR", errors=1), "ERROR", RED),
        (MatrixCell(status="PASS", passed=1, judged=1), "PASS", GREEN),
        (MatrixCell(status="FAIL", judged=1), "FAIL", RED),
        (MatrixCell(status="FAIL", passed=2, judged=3), "2 of 3 passed", YELLOW),
        (MatrixCell(status="PASS", passed=3, judged=3, errors=1), "3 of 3 passed, 1 ended in an error", YELLOW),
    ],
)
def test_a_cell_says_what_its_case_came_to(cell: MatrixCell | None, words: str, colour: str) -> None:
    assert (cell_words(cell), _colour(cell)) == (words, colour)
