"""The tables of tests/README.md: every law has a row, and every file that a row names holds tests that run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROWS = [
    line
    for line in (HERE / "README.md").read_text("utf-8").splitlines()
    if re.match(r"\| (README|SECURITY|the|\d)", line)
]
LAWS = range(1, 23)


def files_of(row: str) -> list[str]:
    return re.findall(r"`([\w/]+\.py)`", row)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip()[:40])
def test_every_file_of_a_row_holds_tests(row: str) -> None:
    assert files_of(row)
    assert [name for name in files_of(row) if not (HERE / name).is_file()] == []
    for name in files_of(row):
        assert re.search(r"^\s*(async )?def test_", (HERE / name).read_text("utf-8"), re.MULTILINE), name


def test_every_law_has_one_row() -> None:
    assert [int(match[1]) for row in ROWS if (match := re.match(r"\| (\d+) \|", row))] == [*LAWS]


def test_every_test_of_a_law_is_in_a_row() -> None:
    named = {name for row in ROWS for name in files_of(row)}
    in_laws = {path.relative_to(HERE).as_posix() for path in (HERE / "laws").glob("test_*.py")}
    data = {"laws/test_answers.py", "laws/test_languages.py"}  # answers that were written before the checks were read
    assert in_laws - named <= data, "add a row to tests/README.md"
