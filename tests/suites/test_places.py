"""At which line each case stands, whatever the format."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from msgspec import structs

from carob.model.run import Summary
from carob.reports.suite_lines import suite_place
from carob.suites.reading import case_lines
from catalogs import CATALOG
from reports.runs import HEADER, MemoryRun

EVAL_SET = """{"version": "0.3", "cases": [
  {"id": "A", "prompt": "?", "expected": {"must_say_any": ["x"]}},

  {
    "id": "B", "prompt": "?", "expected": {"must_say_any": ["x"]}
  }
]}
"""
GOLDEN = """[
  {"id": "A", "input": "?", "expected_contains": ["x"]}, {"id": "B", "input": "?", "expected_contains": ["x"]}
]
"""
CAROB_1 = """carob: 1
cases:
  - id: A-{n}
    each: [{n: 1}, {n: 2}]
    turns:
      - { prompt: "?", expected: { must_say_any: [x] } }
      - { prompt: "?", expected: { must_say_any: [x] } }

  - id: B
    prompt: "?"
    expected: { must_say_any: [x] }
"""


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("file", "text", "lines"),
    [
        pytest.param("s.json", EVAL_SET, {"A": 2, "B": 4}, id="eval-set"),
        pytest.param("s.json", GOLDEN, {"A": 2, "B": 2}, id="golden"),
        pytest.param("s.yaml", CAROB_1, {"A-1": 3, "A-2": 3, "B": 9}, id="carob-1"),
    ],
)
def test_lines_of_cases(file: str, text: str, lines: dict[str, int]) -> None:
    assert case_lines(text.encode(), file, digest(text), CATALOG) == lines
    assert case_lines(text.encode(), file, digest("another"), CATALOG) == {}


@pytest.mark.parametrize("change", ["", "changed", "broken", "gone", "a pipe"])
def test_a_suite_that_is_not_what_was_run_has_no_lines(
    tmp_path: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path("evals", "s.json")
    file.parent.mkdir()
    file.write_text({"changed": EVAL_SET.replace('"A"', '"C"'), "broken": "{"}.get(change, EVAL_SET))
    if change in ("gone", "a pipe"):
        file.unlink()
    if change == "a pipe":
        os.mkfifo(file)
    header = structs.replace(HEADER, suite=str(file), suite_sha256=digest(EVAL_SET))
    assert suite_place(MemoryRun((), Summary(), header)) == ("evals/s.json", {} if change else {"A": 2, "B": 4})


@pytest.mark.parametrize("suite", ["s.json", "../x/evals/s.json", "evals/s.json"])
def test_a_file_is_named_as_its_repository_knows_it(
    tmp_path: Path, suite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x" / ".git").mkdir(parents=True)
    (tmp_path / "x" / "evals").mkdir()
    monkeypatch.chdir(tmp_path / "x" / ("evals" if suite == "s.json" else ""))
    assert suite_place(MemoryRun((), Summary(), structs.replace(HEADER, suite=suite))).file == "evals/s.json"


@pytest.mark.parametrize("suite", ["<object>", "a\0b", "x" * 5000, "", "\ud800"])
def test_a_journal_may_name_anything(suite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert suite_place(MemoryRun((), Summary(), structs.replace(HEADER, suite=suite))) == (suite, {})
