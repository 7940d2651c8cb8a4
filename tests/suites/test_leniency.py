"""What real files carry: a warning where nothing is lost, an error where nothing could fail."""

from __future__ import annotations

from typing import Any

import pytest

from suites.support import case, eval_set, expecting, read, slugs, told

NO_CHECKS = "the case checks nothing. Say in 'expected' what you expect. [no-checks]"
SAYS = {"must_say_any": ["a"]}
EMPTY = "an empty list checks nothing. Remove the field, or say what is expected. [asks-nothing]"
FALSE = "false checks nothing. Remove the field, or write true. [asks-nothing]"


@pytest.mark.parametrize(
    ("expected", "warnings"),
    [
        pytest.param({"tool_calls_none": []}, [f"tool_calls_none: warning: {EMPTY}"], id="empty-list"),
        pytest.param({"must_label_assumptions": False}, [f"must_label_assumptions: warning: {FALSE}"], id="false"),
        pytest.param(
            {"must_label_assumptions": False, "assumption_markers_any": ["b"]},
            [
                "assumption_markers_any: warning: it only modifies 'must_label_assumptions', which is not set. "
                "Remove it, or add 'must_label_assumptions'. [no-effect]",
                f"must_label_assumptions: warning: {FALSE}",
            ],
            id="what-refined-a-filler",
        ),
        pytest.param(
            {"lever_regex": "x"},
            [
                "lever_regex: warning: it only modifies 'required_levers', which is not set. "
                "Remove it, or add 'required_levers'. [no-effect]"
            ],
            id="refines-nothing",
        ),
        pytest.param(
            {"source_patterns": {"b": ["c"]}},
            [
                "source_patterns.b: warning: 'b' is not in required_sources, so its phrases are never used. "
                "Leave it out, or add it. [no-effect]"
            ],
            id="phrases-of-no-source",
        ),
    ],
)
def test_filler_is_a_warning_and_no_check(expected: dict[str, Any], warnings: list[str]) -> None:
    bare, filled = read(expecting(**SAYS)), read(expecting(**SAYS, **expected))
    assert [spec.path for spec in filled.cases[0].checks] == [spec.path for spec in bare.cases[0].checks]
    assert sorted(w.partition("cases[0].expected.")[2] for w in filled.warnings) == sorted(warnings)


def test_filler_within_an_entry_is_as_if_it_were_not_there() -> None:
    suite = read(expecting(must_ground_numbers=[{"value": 12, "context_any": []}]))
    assert [bytes(spec.args) for spec in suite.cases[0].checks if spec.path != "outcome"] == [b'{"value":"12"}']
    assert [w.split(" ", 1)[1] for w in suite.warnings] == [
        f"cases[0].expected.must_ground_numbers[0].context_any: warning: {EMPTY}"
    ]


def test_filler_of_golden_sets() -> None:
    suite = read([{"id": "A", "input": "i", "expected": [], "expected_contains": [], "must_not_contain": ["b"]}])
    assert [spec.path for spec in suite.cases[0].checks] == ["outcome", "must_not_contain[0]"]
    assert [w.split(" ", 1)[1] for w in suite.warnings] == [
        f"[0].expected: warning: {EMPTY}",
        f"[0].expected_contains: warning: {EMPTY}",
    ]


def test_an_empty_list_that_says_something_is_no_filler() -> None:
    suite = read(expecting(tools_used=[]))
    assert "tools_used" in [spec.path for spec in suite.cases[0].checks]
    assert suite.warnings == ()


@pytest.mark.parametrize(
    "tree",
    [
        pytest.param(expecting(tool_calls_none=[]), id="empty-list"),
        pytest.param(expecting(must_label_assumptions=False, claim_evidence_alignment=False), id="false"),
        pytest.param(expecting(lever_regex="x"), id="refines-nothing"),
        pytest.param(expecting(must_say_any=[], scoring={}), id="and-scoring"),
    ],
)
def test_a_case_of_nothing_but_filler_is_refused(tree: Any) -> None:
    assert told(tree) == [f"cases[0]: {NO_CHECKS}"]


def test_a_golden_case_of_nothing_but_filler_is_refused() -> None:
    assert told([{"id": "A", "input": "i", "expected": {"reason_contains": []}}]) == [f"[0]: {NO_CHECKS}"]
    assert told([{"id": "A", "input": "i", "expected": {"constraints": {"n": 1}}}]) == [f"[0]: {NO_CHECKS}"]


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        pytest.param({"required_levers": 0}, "required_levers: must be at least 1, found 0. [out-of-range]", id="zero"),
        pytest.param(
            {"scoring": {"soft_score": {"threshold": 0}}},
            "scoring.soft_score.threshold: must be over 0, found 0. [out-of-range]",
            id="threshold",
        ),
        *(
            pytest.param(
                {key: value},
                f"{at}: no tool has white space around its name. Write 'delete'. [empty-expectation]",
                id=key,
            )
            for key, value, at in (
                ("tool_calls_none", [" delete "], "tool_calls_none[0]"),
                ("tool_calls_any", ["a", "delete\t"], "tool_calls_any"),
                ("tool_calls", [{"tool": "\u00a0delete"}], "tool_calls[0]"),
                ("tools_used", ["delete "], "tools_used"),
            )
        ),
        pytest.param(
            {"must_not_say": [" "]},
            "must_not_say[0]: a blank phrase is in every answer. Write the words to look for. [empty-expectation]",
            id="blank",
        ),
        pytest.param(
            {"must_not_say": [""]},
            "must_not_say[0]: an empty string expects nothing. Say what is expected, or leave the field out. "
            "[empty-expectation]",
            id="empty",
        ),
        pytest.param(
            {"must_match_regex": ["a*"]},
            "must_match_regex[0]: this regex matches the empty string, so it is found in every answer. "
            "[empty-expectation]",
            id="regex",
        ),
        pytest.param(
            {"must_label_assumptions": 0},
            "must_label_assumptions: expected true, found 0. Leave the field out if it should not be checked. "
            "[wrong-type]",
            id="nought-is-not-false",
        ),
        pytest.param(
            {"tool_calls": [{"tool": []}]},
            "tool_calls[0].tool: expected a string, found a list. Write one text. [wrong-type]",
            id="an-empty-list-for-a-string",
        ),
    ],
)
def test_what_nothing_can_fail_stays_an_error(expected: dict[str, Any], said: str) -> None:
    assert told(expecting(**SAYS | expected)) == [f"cases[0].expected.{said}"]


@pytest.mark.parametrize(("written", "meant"), [("0.1.0", "0.1"), ("0.3.17", "0.3"), ("0.2", "0.2")])
def test_a_version_may_have_a_patch_number(written: str, meant: str) -> None:
    suite = read(eval_set(case(), version=written))
    assert (suite.version, suite.warnings) == (meant, ())


@pytest.mark.parametrize("version", ["0.4.0", "0.1.", "0.1.0.0", "0.1.x", "0.1.0\n", "v0.1.0", "1"])
def test_other_versions_are_unknown(version: str) -> None:
    assert slugs(eval_set(case(), version=version)) == ["version unknown-value"]


def test_a_patch_number_does_not_make_a_field_older() -> None:
    (warning,) = read(eval_set(case(expected={"required_levers": 1}), version="0.1.3")).warnings
    assert "new in version 0.3, the suite says 0.1." in warning


def test_constraints_may_stand_in_what_a_decision_expects() -> None:
    suite = read([{"id": "A", "input": "i", "constraints": 1, "expected": {"tools_used": [], "constraints": {"n": 2}}}])
    assert suite.cases[0].metadata == {"constraints": 1, "expected.constraints": {"n": 2}}
    assert [spec.path for spec in suite.cases[0].checks] == ["outcome", "tools_used"]
