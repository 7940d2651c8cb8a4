"""Suites that are as they should be."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec
import pytest

from carob.model.suite import Case, Scoring
from carob.model.verdict import Group
from carob.suites import loads
from catalogs import CATALOG
from suites.support import Small, case, eval_set, expecting, read


def asked(case: Case) -> dict[str, Any]:
    return {spec.path: json.loads(bytes(spec.args)) for spec in case.checks}


def test_an_eval_set() -> None:
    tree = {
        "$schema": "eval-set.json",
        "name": "minimum",
        "version": "0.3",
        "description": "what must hold",
        "captured_at": "2026-01-01",
        "integration_baseline": {"github": True},
        "metadata": {"owner": "me"},
        "x-a": [1],
        "cases": [
            {
                "id": "G1",
                "category": "github",
                "setup_prompts": ["hi"],
                "preconditions": ["logged in"],
                "prompt": "Add it.",
                "metadata": {"ticket": 7, "x-why": "a"},
                "x-why": "b",
                "expected": {
                    "outcome": "tool_success",
                    "must_not_say": ["cannot", "sorry"],
                    "min_pass_rate": 0.5,
                    "metadata": "kept",
                    "must_ground_numbers": [{"value": 12, "x-from": "log"}, 3],
                    "scoring": {
                        "x-s": 0,
                        "hard_fail": ["formatting"],
                        "soft_score": {"threshold": 1, "weights": {"formatting": 2, "qa": 0}},
                    },
                },
            }
        ],
    }
    data = json.dumps(tree).encode()
    suite = loads(data, "dir/min.json", CATALOG)
    assert (suite.file, suite.format, suite.version, suite.name) == ("dir/min.json", "eval-set", "0.3", "minimum")
    assert (suite.description, suite.sha256) == ("what must hold", hashlib.sha256(data).hexdigest())
    assert suite.warnings == ()
    assert suite.metadata == {
        "$schema": "eval-set.json",
        "captured_at": "2026-01-01",
        "integration_baseline": {"github": True},
        "owner": "me",
        "x-a": [1],
    }
    (only,) = suite.cases
    assert (only.id, only.category, only.prompt, only.outcome) == ("G1", "github", "Add it.", "tool_success")
    assert (only.setup_prompts, only.preconditions, only.min_pass_rate) == (("hi",), ("logged in",), 0.5)
    assert only.scoring == Scoring((Group.FORMATTING,), 1.0, {Group.FORMATTING: 2.0, Group.QA: 0.0})
    assert only.metadata == {
        "ticket": 7,
        "metadata.x-why": "a",
        "x-why": "b",
        "expected.metadata": "kept",
        "expected.must_ground_numbers[0].x-from": "log",
        "expected.scoring.x-s": 0,
    }
    assert asked(only) == {
        "outcome": {"outcome": "tool_success"},
        "must_not_say[0]": {"phrase": "cannot"},
        "must_not_say[1]": {"phrase": "sorry"},
        "must_ground_numbers[0]": {"value": "12"},
        "must_ground_numbers[1]": {"value": "3"},
    }


def test_a_golden_set_of_both_kinds() -> None:
    suite = read(
        [
            {
                "id": "d",
                "input": "Allocate.",
                "category": "alloc",
                "constraints": {"n": 1},
                "expected": {"tools_used": [], "allocation_valid": False, "x-n": 1},
            },
            {"id": "q", "input": "Why?", "expected_contains": ["a"], "must_not_contain": ["b"], "metadata": 5},
            {"id": "s", "input": "Why?", "expected": ["a", "b"]},
            {"id": "m", "input": "Why?", "expected": {"reason_contains": ["c"]}, "must_not_contain": ["b"]},
        ]
    )
    assert (suite.format, suite.version) == ("golden", "1.0")
    assert [(c.id, c.prompt, c.category, c.outcome) for c in suite.cases] == [
        ("d", "Allocate.", "alloc", "response_only"),
        ("q", "Why?", "", "response_only"),
        ("s", "Why?", "", "response_only"),
        ("m", "Why?", "", "response_only"),
    ]
    assert [c.metadata for c in suite.cases] == [{"constraints": {"n": 1}, "expected.x-n": 1}, {"metadata": 5}, {}, {}]
    assert [sorted(asked(c)) for c in suite.cases] == [
        ["allocation_valid", "outcome", "tools_used"],
        ["expected_contains[0]", "must_not_contain[0]", "outcome"],
        ["expected_contains[0]", "expected_contains[1]", "outcome"],
        ["must_not_contain[0]", "outcome", "reason_contains[0]"],
    ]


@pytest.mark.parametrize("beside", [{}, {"expected_contains": ["a"]}], ids=["decision", "qa"])
def test_a_golden_case_may_expect_what_an_eval_set_can(beside: dict[str, Any]) -> None:
    expected = {
        "outcome": "tool_success",
        "tool_calls_any": ["book"],
        "tool_calls": [{"tool": "book", "arguments": {"metadata": 1, "x-id": 2}, "success": True}],
        "must_ground_numbers": [42],
    }
    (only,) = read([{"id": "d", "input": "Allocate.", "expected": expected, **beside}]).cases
    assert only.outcome == "tool_success"
    checks = asked(only)
    assert checks["outcome"] == {"outcome": "tool_success", "tools": ["book"]}
    assert checks["tool_calls[0]"] == expected["tool_calls"][0]
    assert checks["must_ground_numbers[0]"] == {"value": "42"}
    assert ("expected_contains[0]" in checks) is bool(beside)


def test_scoring_may_stand_in_the_case() -> None:
    scoring = {"hard_fail": ["qa", "qa"], "soft_score": {"threshold": 0.25}}
    inside = read(expecting(must_say_any=["a"], scoring=scoring)).cases[0].scoring
    outside = read(eval_set(case(scoring=scoring))).cases[0].scoring
    assert inside == outside == Scoring((Group.QA,), 0.25, None)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        pytest.param("0.3", [], id="newest"),
        pytest.param(
            "0.2",
            [
                "s.json:1:75 cases[0].expected.required_levers: warning: this field is new in version 0.3, "
                "the suite says 0.2. It is checked anyway. It is used 2 times. [newer-field]"
            ],
            id="older",
        ),
        pytest.param(
            None,
            [
                "s.json:1:1 version: warning: no version given, read as an eval set 0.3. Write 'carob: 1' at the top"
                """ for a suite in Carob's own format, or "version": "0.3" for an eval set. [missing-version]""",
            ],
            id="none",
        ),
    ],
)
def test_a_field_newer_than_the_version_is_a_warning(version: str | None, expected: list[str]) -> None:
    tree: dict[str, Any] = {"version": version} if version else {}
    tree["cases"] = [case(id=name, expected={"required_levers": 1}) for name in "AB"]
    suite = read(tree)
    assert list(suite.warnings) == expected
    assert suite.version == (version or "0.3")
    assert [len(c.checks) for c in suite.cases] == [2, 2]


def test_scoring_is_newer_than_the_first_version() -> None:
    (warning,) = read(eval_set(case(scoring={}), version="0.1")).warnings
    assert "cases[0].scoring: warning: this field is new in version 0.2" in warning


def test_a_vocabulary_from_outside() -> None:
    suite = read(expecting(copy="a", colours=[{"name": "red", "x-of": "wine"}], schema=[1]), Small())
    assert asked(suite.cases[0]) == {"copy": "a", "colours": [{"name": "red"}], "schema": [1]}
    assert suite.cases[0].metadata == {"expected.colours[0].x-of": "wine"}
    assert len(suite.warnings) == 1
    assert "new in version 9.0" in suite.warnings[0]


def test_a_case_survives_the_journal() -> None:
    suite = read(eval_set(case(metadata={"n": 18446744073709551615, "f": 1e300, "deep": [[{}]]}, prompt="\x00\x1b😀")))
    again = msgspec.json.decode(msgspec.json.encode(suite.cases[0]), type=Case)
    assert (again.prompt, again.metadata, asked(again)) == (
        suite.cases[0].prompt,
        suite.cases[0].metadata,
        asked(suite.cases[0]),
    )
