"""The rows of `carob run --list`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from carob.suites.listing import rows, suite_rows
from suites.support import case, eval_set, read

HEAVY = (
    "pydantic",
    "msgspec",
    "regex",
    "jiter",
    "yaml",
    "carob.model.suite",
    "carob.text.folding",
    "difflib",
)


def listed(tmp_path: Path, tree: Any) -> list[tuple[str, str, str]] | None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps(tree) if not isinstance(tree, str) else tree, encoding="utf-8-sig")
    return rows(path)


GOOD = [
    pytest.param(
        eval_set(case(category="k"), case(id="B")), [("A", "k", "Hello?"), ("B", "", "Hello?")], id="eval-set"
    ),
    pytest.param([{"id": "A", "input": "i", "expected": ["x"]}], [("A", "", "i")], id="golden"),
    pytest.param(
        eval_set(case(prompt="a\tb\r\nc\u2028\x1b[31m\x00 é👩\u200d💻\u202e")),
        [("A", "", "a\\tb\\r\\nc\\u2028\\x1b[31m\\x00 é👩\u200d💻\\u202e")],
        id="hostile-prompt",
    ),
]


@pytest.mark.parametrize(("tree", "expected"), GOOD)
def test_rows(tree: Any, expected: list[tuple[str, str, str]], tmp_path: Path) -> None:
    assert listed(tmp_path, tree) == expected == suite_rows(read(tree))


@pytest.mark.parametrize(
    "tree",
    [
        pytest.param("cases: []", id="not-json"),
        pytest.param("[" * 100_000, id="bomb"),
        pytest.param('{"cases": [NaN]}', id="nan"),
        pytest.param(3, id="a-number"),
        pytest.param({}, id="no-cases"),
        pytest.param([], id="empty"),
        pytest.param(eval_set(), id="no-case"),
        pytest.param(eval_set(case(), 3), id="a-number-among-cases"),
        pytest.param(eval_set(case(), case()), id="duplicate-id"),
        pytest.param(eval_set(case(id=1)), id="id-is-a-number"),
        pytest.param(eval_set(case(id="a\tb")), id="tab-in-an-id"),
        pytest.param(eval_set(case(id=" ")), id="blank-id"),
        pytest.param(eval_set(case(prompt="")), id="no-prompt"),
        pytest.param(eval_set(case(category="a\nb")), id="line-end-in-a-category"),
        pytest.param([case()], id="eval-cases-in-a-golden-set"),
    ],
)
def test_anything_odd_is_left_to_the_loader(tree: Any, tmp_path: Path) -> None:
    assert listed(tmp_path, tree) is None


def test_a_missing_file_is_left_to_the_loader(tmp_path: Path) -> None:
    assert rows(tmp_path / "gone.json") is None
    assert rows(tmp_path) is None


def test_listing_loads_nothing_heavy() -> None:
    code = "import sys, carob.suites.listing; print([name for name in sys.argv[1:] if name in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code, *HEAVY], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
