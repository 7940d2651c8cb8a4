"""The pages next to the suites answer the documents that asked for them, section by section, and are executed."""

from __future__ import annotations

import os
import shutil
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from pages import File, blocks, follow

from .readmes import Shown, never_executed, sections, shown_rows

ROOT = Path(__file__).parents[2]
ANSWERS: dict[str, list[list[str]]] = yaml.safe_load((Path(__file__).parent / "data" / "headings.yaml").read_text())
"""For each page: the headings of the document that it answers, in order, each with the section that does."""
PAGES = (*ANSWERS, "docs/eval-sets.md", "docs/golden-sets.md")
ROWS = [row for page in PAGES for row in shown_rows((ROOT / page).read_text(), page)]


@pytest.mark.parametrize("page", ANSWERS)
def test_every_heading_is_answered_in_order(page: str) -> None:
    found = sections((ROOT / page).read_text())
    titles = list(found)
    places = [titles.index(ours) for _, ours in ANSWERS[page]]
    assert all(before <= after for before, after in pairwise(places)), "the order of the document"
    assert [title for title in titles if not found[title].strip()] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_executed(page: str) -> None:
    assert never_executed((ROOT / page).read_text()) == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.where)
def test_tables_of_verdicts_are_true(row: Shown) -> None:
    assert row.judged() == (row.verdict, row.score)


def test_each_table_of_verdicts_shows_more_than_passes() -> None:
    for page in PAGES:
        verdicts = {row.verdict for row in ROWS if row.where.startswith(page)}
        assert {"PASS", "FAIL"} <= verdicts, page


@pytest.mark.parametrize("page", [*ANSWERS, "README.md"])
def test_commands_do_what_the_pages_show(page: str, tmp_path: Path) -> None:
    """In a copy of the project, as its reader has it."""
    home = tmp_path / "carob"
    for folder in (".claude/evals", "eval", "scripts"):
        shutil.copytree(ROOT / folder, home / folder, ignore=shutil.ignore_patterns("results", "__pycache__"))
    shutil.copy(ROOT / "carob.toml", home)
    (home / "examples").symlink_to(ROOT / "examples")
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for block in blocks((ROOT / page).read_text()):
        if isinstance(block, File):
            block.write(home)
        else:
            follow(block, home, environ)


def test_what_is_not_executed_or_not_true_is_noticed() -> None:
    assert never_executed('```json\n{"a": 1}\n```\n') == ['{"a": 1}\n']
    (row,) = shown_rows('| must_not_contain | answer | verdict |\n|---|---|---|\n| `["x"]` | x | PASS |\n', "page")
    assert row.judged() == ("FAIL", "")
