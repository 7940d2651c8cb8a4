"""Law 18: equal numbers are equal in every check on words, required or forbidden, and other numbers are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import carob
from carob.checks.catalog import OWN
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import Status
from laws.coverage import Coverage, require
from laws.samples import Expected, called
from laws.test_disguises import judged

EQUAL = (
    ("1080", "1080"), ("1080", "1,080"), ("1080", "1,080.00"), ("1080", "$1,080"), ("1080", "1 080"),
    ("1080", "1 080"), ("1080", "1'080"), ("1080", "€1.080"), ("1,080.00", "1080"), ("1 080", "1,080"),
    ("200", "200.00"), ("200.00", "200"), ("200", "$200.00"), ("412", "4.12e2"), ("12000", "12k"), ("12k", "12,000"),
    ("1:30", "01:30"), ("01:30", "1:30"), ("-0.5", "-½"), ("-½", "-0.5"), ("12.5", "12 1/2"), ("0.5", "½"),
)  # fmt: skip
"""What a suite names, and what an answer says."""
OTHER = (
    ("1080", "1081"), ("1080", "11,080"), ("1080", "1,080,000"), ("200", "1 200"), ("200", "1 200"), ("1", "1 200"),
    ("200", "2,000"), ("200", "200.5"), ("1:30", "11:30"), ("0.5", "10.5"), ("080", "1,080"), ("412", "4.12"),
)  # fmt: skip

Expecting = Callable[[str], Expected]
REQUIRED: Mapping[str, Expecting] = {
    "must_say_any": lambda text: {"must_say_any": [text]},
    "expected_contains": lambda text: {"expected_contains": [text]},
    "reason_contains": lambda text: {"reason_contains": [text]},
    "required_sources": lambda text: {"required_sources": ["a"], "source_patterns": {"a": [text]}},
    "must_label_assumptions": lambda text: {"must_label_assumptions": True, "assumption_markers_any": [text]},
    "must_ground_numbers": lambda text: {"must_ground_numbers": [text]},
    "must_allow_override_actions": lambda text: {"must_allow_override_actions": [text]},
    "allocation_valid": lambda text: {"allocation_valid": True, "success_indicators": [text]},
    "in_any_turn": lambda text: {"in_any_turn": {"must_say_any": [text]}},
    "asks_for": lambda text: {"asks_for": [text]},
    "ui": lambda text: {"ui": [{"role": "button", "name_contains": text}]},
}
FORBIDDEN: Mapping[str, Expecting] = {
    "must_not_say": lambda text: {"must_not_say": [text]},
    "must_not_contain": lambda text: {"must_not_contain": [text]},
    "in_any_turn": lambda text: {"in_any_turn": {"must_not_say": [text]}},
    "no_false_success": lambda text: {"no_false_success": True, "effects": {"book": [f"{text} booked"]}},
    "claims": lambda text: {"claims": True, "claim_words": {"tests": {"words": [f"{text} booked"], "run": "^x"}}},
    "allocation_valid": lambda text: {
        "allocation_valid": True,
        "success_indicators": ["booked"],
        "failure_indicators": [text],
    },
    "admits_failure": lambda text: {"admits_failure": {"lost": [text]}},
}
WHOLE = ("answer_equals",)
FROM_USER = {
    "carob": 1,
    "rules": [{"id": "from-user", "each": {"call": "book"}, "values_from": {"each.arguments.what": ["user"]}}],
}
NO_TEXT_OF_AN_ANSWER = "it names tools, files, paths, commands or queries"
OTHERWISE = {
    **dict.fromkeys(
        ("tool_calls_any", "tool_calls_none", "tool_order", "tool_requires", "tools_used"), NO_TEXT_OF_AN_ANSWER
    ),
    **dict.fromkeys(("max_calls", "commands", "skills", "outside", "network", "database"), NO_TEXT_OF_AN_ANSWER),
    **dict.fromkeys(("only_effects", "telemetry", "grounded_in", "source_patterns"), NO_TEXT_OF_AN_ANSWER),
    **dict.fromkeys(
        ("must_match_regex", "must_not_match_regex", "lever_regex", "claim_marker_regex", "evidence_marker_regex"),
        "a regex spells its numbers itself",
    ),
    **dict.fromkeys(("alignment_marker_regex", "evidence_freshness_regex"), "a regex spells its numbers itself"),
    "no_leak": "a secret is a text: 1080 within 1,080.00 is none",
    "unjudged": "it judges nothing",
    "meets": "people read it",
    "answer_at, state": "they compare values: law 5",
}


def _trace(text: str, answer: str = "It was booked at {} and so on?") -> Trace:
    said = answer.format(text)
    page = f'- button "Pay {text} now"'
    return called(ToolCall("look", success=False), text=said, page=page)


def _judge(key: str, expecting: Expecting, wanted: str, found: str) -> set[Status]:
    answer = "Please give me the {} now." if key == "asks_for" else "It is {} booked."
    success = ToolCall("look", success=True)
    trace = _trace(found, answer)
    if key == "allocation_valid":
        trace = called(success, text=trace.final_message)
    return judged(expecting(wanted), trace, key)


def _trace_source(value: str, said: str) -> set[Status]:
    """Whether the words of the user are where the value of a call is from."""
    call = {"name": "book", "arguments": {"what": value}, "result": {"id": 1}}
    (verdict,) = carob.judge_many(FROM_USER, [{"input": said, "final_message": "Done.", "tool_calls": [call]}])
    return {check.status for check in verdict.checks}


def find_misread() -> Coverage:
    coverage = Coverage(18, "equal numbers are equal", checks={*REQUIRED, *FORBIDDEN, *WHOLE}, exceptions=OTHERWISE)
    for pairs, equal in ((EQUAL, True), (OTHER, False)):
        for wanted, found in pairs:
            for key, expecting in REQUIRED.items():
                seen = _judge(key, expecting, wanted, found)
                coverage.try_one((seen == {Status.PASSED}) is equal, f"required {key}: {wanted} in {found}: {seen}")
            for key, expecting in FORBIDDEN.items():
                seen = _judge(key, expecting, wanted, found)
                caught = Status.PASSED not in seen if equal else Status.FAILED in seen
                coverage.try_one(caught is equal, f"forbidden {key}: {wanted} in {found}: {seen}")
            seen = judged({"answer_equals": wanted}, called(text=found), "answer_equals")
            coverage.try_one((seen == {Status.PASSED}) is equal, f"answer_equals: {wanted} and {found}: {seen}")
            seen = _trace_source(f"{wanted} seats", f"Book {found} seats for me.")
            coverage.try_one((seen == {Status.PASSED}) is equal, f"values_from: {wanted} in {found}: {seen}")
    return coverage


def test_equal_numbers_are_equal_in_every_word_check(record_property: Callable[[str, object], None]) -> None:
    require(find_misread(), record_property, most_shown=40)


@pytest.mark.parametrize("key", ["must_not_say", "must_not_contain", "in_any_turn"])
@pytest.mark.parametrize(("wanted", "found"), [("1200", "1.200"), ("$1200", "$1.200"), ("1.200", "1200")])
def test_a_point_that_may_group_leaves_a_forbidden_number_unknown(key: str, wanted: str, found: str) -> None:
    assert _judge(key, FORBIDDEN[key], wanted, found) == {Status.UNKNOWN}


@given(st.integers(1, 10**7), st.sampled_from([",", " ", "'", " "]), st.sampled_from(["", ".00"]), st.booleans())
def test_a_number_in_any_spelling_is_found(number: int, group: str, cents: str, money: bool) -> None:
    written = f"{'$' * money}{number:,}".replace(",", group) + cents
    for key in ("expected_contains", "must_say_any"):
        assert _judge(key, REQUIRED[key], str(number), written) == {Status.PASSED}
    assert _judge("must_not_say", FORBIDDEN["must_not_say"], str(number), written) == {Status.FAILED}
    assert _judge("must_not_say", FORBIDDEN["must_not_say"], str(number + 1), written) == {Status.PASSED}


def test_every_key_that_takes_phrases_is_tried() -> None:
    keys = {field.name for check in OWN.values() for field in check.fields if "min_length=1" in str(field.type)}
    named = {name for names in OTHERWISE for name in names.split(", ")}
    tried = {*REQUIRED, *FORBIDDEN, *WHOLE, "assumption_markers_any", "success_indicators", "failure_indicators"}
    structured = {"tool_calls", "trajectory", "answer_text", "json_text", "response_match", "tool_call_f1", "spans"}
    structured |= {"answer_syntax", "valid_arguments", "ended", "retrieved"}
    assert keys - tried - named - structured <= {
        "score_of",
        "code",
        "files",
        "diff",
        "after",
        "database",
        "grounded_constants",
        "required_levers",
        "max_tokens",
    }


@pytest.mark.parametrize("fraction", ["9/12", "3/4", "13/12"])
def test_a_fraction_is_a_date_only_beside_a_word_of_time(fraction: str) -> None:
    def grounded(text: str, **result: Any) -> set[Status]:
        call = ToolCall("look", {}, result=result, success=True)
        return judged({"grounded_numbers": True}, called(call, text=text), "grounded_numbers")

    low, high = map(int, fraction.split("/"))
    assert grounded(f"{fraction} are ready.", ready=low, total=high) == {Status.PASSED}
    assert grounded(f"{fraction} are ready.", ready=1, total=1) == {Status.UNKNOWN}
    assert grounded(f"It is due on {fraction}.", ready=1) == {Status.PASSED}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("4.12e2 rides", Status.FAILED), ("2⁵ rides", Status.UNKNOWN), ("1234.56,30 EUR", Status.UNKNOWN)],
)
def test_no_number_goes_unread(text: str, expected: Status) -> None:
    call = ToolCall("look", {}, result={"n": 2}, success=True)
    assert judged({"grounded_numbers": True}, called(call, text=text), "grounded_numbers") == {expected}


def test_a_check_with_a_reading_of_its_own_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: what is forbidden is looked for as it is written."""
    monkeypatch.setattr("carob.text.forbidden._find_equal_number", lambda *_: None)
    assert find_misread().violations
