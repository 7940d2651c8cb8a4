"""Texts next to a suite whose numbers an answer may tell."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

import carob
from carob.errors import SuiteError
from carob.model.suite import Case, Suite
from carob.model.trace import Trace
from carob.model.verdict import Status

EXPECTED = {"grounded_numbers": True, "grounded_in": ["policy.md"]}
FORMATS = {
    "carob-1": {"carob": 1, "cases": [{"id": "A", "prompt": "p", "expected": EXPECTED}]},
    "eval-set": {"version": "0.3", "cases": [{"id": "A", "prompt": "p", "expected": EXPECTED}]},
    "golden": [{"id": "A", "input": "p", "expected": EXPECTED}],
}


def loaded(folder: Path, suite: object, policy: str | None = "Within 30 days, minus 15%.") -> Suite:
    if policy is not None:
        (folder / "policy.md").write_text(policy, encoding="utf-8")
    (folder / "s.json").write_text(json.dumps(suite, indent=1), encoding="utf-8")
    return carob.load_suite(folder / "s.json")


def status(case: Case, answer: str) -> Status:
    verdict = carob.judge(case, Trace(case_id="A", input="p", final_message=answer, tool_calls=()))
    return next(check.status for check in verdict.checks if check.name == "grounded_numbers")


@pytest.mark.parametrize("suite", FORMATS.values(), ids=FORMATS)
def test_the_numbers_of_a_text_are_grounds_in_every_format(tmp_path: Path, suite: object) -> None:
    (case,) = loaded(tmp_path, suite).cases
    assert status(case, "Within 30 days.") is Status.PASSED
    assert status(case, "Within 31 days.") is Status.FAILED


def test_a_recorded_case_is_judged_the_same_without_the_file(tmp_path: Path) -> None:
    (case,) = loaded(tmp_path, FORMATS["carob-1"]).cases
    recorded = msgspec.json.encode(case)
    (tmp_path / "policy.md").unlink()
    again = msgspec.json.decode(recorded, type=Case)
    assert status(again, "Within 30 days.") is Status.PASSED
    assert status(again, "Within 31 days.") is Status.FAILED
    assert b"minus" not in recorded, "the numbers are recorded, the text is not"


def test_a_file_that_is_missing_is_an_error_at_its_place(tmp_path: Path) -> None:
    with pytest.raises(SuiteError) as error:
        loaded(tmp_path, FORMATS["carob-1"], None)
    (problem,) = error.value.problems
    assert problem.path == "cases[0].expected.grounded_in[0]"
    assert (problem.line, problem.slug) == (10, "missing-file")
    assert problem.message == "'policy.md' no such file. Name a text file next to the suite."


@pytest.mark.parametrize(("data", "slug"), [(b"", "empty-file"), (b"\xff30", "not-utf-8")])
def test_a_file_that_holds_no_text_is_an_error_of_the_file(tmp_path: Path, data: bytes, slug: str) -> None:
    (tmp_path / "policy.md").write_bytes(data)
    with pytest.raises(SuiteError) as error:
        loaded(tmp_path, FORMATS["carob-1"], None)
    assert [(problem.file, problem.slug) for problem in error.value.problems] == [(str(tmp_path / "policy.md"), slug)]


def test_another_text_makes_another_suite(tmp_path: Path) -> None:
    before = loaded(tmp_path, FORMATS["carob-1"]).sha256
    assert loaded(tmp_path, FORMATS["carob-1"]).sha256 == before
    assert loaded(tmp_path, FORMATS["carob-1"], "Within 31 days.").sha256 != before


def test_without_grounded_numbers_it_asks_for_nothing(tmp_path: Path) -> None:
    suite = {"carob": 1, "cases": [{"id": "A", "prompt": "p", "expected": {**EXPECTED, "min_words": 1}}]}
    del suite["cases"][0]["expected"]["grounded_numbers"]  # type: ignore[index]  # a literal of mixed types
    assert "it only modifies 'grounded_numbers', which is not set" in str(loaded(tmp_path, suite).warnings)
