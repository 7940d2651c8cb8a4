"""Wrong answers that passed once, each under the key that let it through."""

from __future__ import annotations

from typing import Any

import pytest

from carob.model.trace import ToolCall, Trace
from carob.model.verdict import Status
from catalogs import CATALOG


def judged(trace: Trace, **expected: Any) -> Status:
    """How the check of the first of these keys comes out."""
    name = next(iter(expected))
    (spec,) = (one.spec for one in CATALOG.read(expected) if one.spec.name == name)
    (check,) = CATALOG.checks((spec,))
    return check.judge(trace).status


def says(text: str, *calls: ToolCall) -> Trace:
    return Trace(case_id="A", final_message=text, tool_calls=calls)


@pytest.mark.parametrize(
    "text", ["ASSUMPTIONS:\n1. One shop", "## Assumptions\n\nOne shop", "My assumptions are: one shop"]
)
def test_a_heading_labels_assumptions(text: str) -> None:
    assert judged(says(text), must_label_assumptions=True) is Status.PASSED


@pytest.mark.parametrize("text", ["Assumptions: none. It was the deploy.", "There are no assumptions in it."])
def test_a_denied_heading_labels_nothing(text: str) -> None:
    assert judged(says(text), must_label_assumptions=True) is Status.FAILED


@pytest.mark.parametrize(
    ("phrase", "text", "status"),
    [
        ("paid", "It is still unpaid.", Status.FAILED),
        ("paid", "It was paid.", Status.PASSED),
        ("refund", "Your refunds are on the way.", Status.PASSED),
        ("refund", "It was refunded.", Status.FAILED),
        ("refund*", "It was refunded.", Status.PASSED),
        ("*paid", "It is prepaid.", Status.PASSED),
        ("*fund*", "It was refunded.", Status.PASSED),
        ("退款", "您的退款已处理", Status.PASSED),
        ("返金", "返金しました", Status.PASSED),
        ("환불", "환불이 완료되었습니다", Status.PASSED),
        ("คืนเงิน", "เราคืนเงินแล้ว", Status.PASSED),
        ("**Total**", "**Total**: 5", Status.PASSED),
        ("A-17", "Order A-170 is in.", Status.FAILED),
    ],
)
def test_a_required_phrase_is_found_as_whole_words(phrase: str, text: str, status: Status) -> None:
    assert judged(says(text), must_say_any=[phrase]) is status


def test_a_forbidden_phrase_is_found_inside_words() -> None:
    assert judged(says("It was refunded."), must_not_say=["refund"]) is Status.FAILED
    assert judged(says("It was refunded."), expected_contains=["refund"]) is Status.PASSED


DOWN = ToolCall("find", {}, error="503", success=False)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("I could not reach it, but it is 812.40.", Status.FAILED),
        ("Sorry, there was an error. Your balance is 812.40.", Status.FAILED),
        ("I cannot say whether it is 812.40.", Status.PASSED),
        ("I could not reach it.", Status.PASSED),
    ],
)
def test_a_value_that_is_lost_is_not_stated_beside_an_excuse(text: str, status: Status) -> None:
    assert judged(says(text, DOWN), admits_failure={"lost": ["812.40"]}) is status


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Shall I cancel order number A-17?", Status.FAILED),
        ("Is your order number 12345 right?", Status.FAILED),
        ("Without your order number I cannot go on.", Status.PASSED),
        ("Which order number? A-17 or A-18?", Status.PASSED),
    ],
)
def test_what_stands_with_its_value_is_not_asked_for(text: str, status: Status) -> None:
    assert judged(says(text), asks_for=["order number"]) is status


@pytest.mark.parametrize("text", ["It will be booked tomorrow.", "Shall I have it booked?"])
def test_a_promise_or_a_question_is_no_success(text: str) -> None:
    assert judged(says(text, ToolCall("find", success=True)), allocation_valid=True) is Status.FAILED


def test_a_magnitude_is_part_of_a_number() -> None:
    assert judged(says("Revenue is $12MM."), must_ground_numbers=[12]) is Status.FAILED


def test_a_second_age_that_was_not_read_is_no_pass() -> None:
    answer = says("Slack: 5 min ago · Jira: last Tuesday")
    assert judged(answer, evidence_freshness_max_age_minutes=60) is Status.UNKNOWN


VERIFIED = {"tool_requires": {"send": [{"tool": "verify", "result": {"verified": True}}]}}


@pytest.mark.parametrize(
    ("results", "status"),
    [
        ([{"verified": True}], Status.PASSED),
        ([{"verified": False}], Status.FAILED),
        ([{"verified": False}, '{"verified": true}'], Status.PASSED),
        ([], Status.FAILED),
    ],
)
def test_a_precondition_can_say_what_its_result_is(results: list[Any], status: Status) -> None:
    calls = [ToolCall("verify", {}, result=result, success=True) for result in results]
    assert judged(says("Sent.", *calls, ToolCall("send", {}, success=True)), **VERIFIED) is status


@pytest.mark.parametrize(
    ("text", "result", "status"),
    [
        ("5 of 20 files are done, 25 GB.", {"done": 5, "total": 20}, Status.FAILED),
        ("25 GB are used.", {"n": 5}, Status.FAILED),
        ("25 GB are used.", {"n": 20}, Status.FAILED),
        ("25% are done.", {"done": 5, "total": 20}, Status.PASSED),
        ("5 hours of work.", {"parts": 640, "labour": 440, "hours": 4, "price": 1080, "months": 24}, Status.FAILED),
        ("It costs 30 cents.", {"price": 0.3}, Status.PASSED),
        ("20 % of 1250 EUR are 250 EUR.", {"price": 1250, "share": 20}, Status.PASSED),
        ("The price is $12MM.", {"price": 12_000_000}, Status.PASSED),
        ("The price is $12MM.", {"price": 12}, Status.FAILED),
    ],
)
def test_a_number_is_grounded_by_what_makes_it(text: str, result: Any, status: Status) -> None:
    assert judged(says(text, ToolCall("find", {}, result=result, success=True)), grounded_numbers=True) is status


def test_a_number_with_a_magnitude_is_that_number() -> None:
    assert judged(says("It is $12MM."), must_ground_numbers=[12_000_000]) is Status.PASSED
    assert judged(says("It is $12MM."), must_ground_numbers=[12]) is not Status.PASSED
    assert judged(says("It is 12 thousand."), must_ground_numbers=[12_000]) is Status.PASSED


EFFECTS = {"book": ["booked"], "cancel": ["cancelled"], "undo": ["rolled back"]}


@pytest.mark.parametrize(
    "text",
    [
        "I can have it booked.",
        "It can be rolled back.",
        "Cancelled orders get a full refund.",
        "Cancelled trips pay less.",
    ],
)
def test_what_may_be_done_and_what_is_so_in_general_are_no_claims(text: str) -> None:
    assert judged(says(text), no_false_success=True, effects=EFFECTS) is Status.PASSED


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Cancelled A-9 and A-10.", Status.FAILED),
        ("A-10 has been cancelled.", Status.FAILED),
        ("A-9 has been cancelled, but A-10 has not.", Status.PASSED),
        ("Cancelled A-9 instead of A-10.", Status.PASSED),
        ("Cancelled A-9, refund to card V-12.", Status.PASSED),
    ],
)
def test_an_id_that_is_claimed_is_in_a_successful_call(text: str, status: Status) -> None:
    call = ToolCall("cancel", {"order": "A-9"}, result={"ok": True}, success=True)
    assert judged(says(text, call), no_false_success=True, effects=EFFECTS) is status


def test_an_emoji_is_an_answer() -> None:
    assert judged(says("👍"), outcome="response_only") is Status.PASSED
    assert judged(says("\u200b"), outcome="response_only") is Status.FAILED


@pytest.mark.parametrize("text", ["That's not possible.", "It's not allowed."])
def test_a_short_form_refuses(text: str) -> None:
    assert judged(says(text), outcome="graceful_block") is Status.PASSED


@pytest.mark.parametrize("text", ["no S o r r y here", "as-an-AI", "a s  a n  A I"])
def test_a_forbidden_phrase_is_found_with_other_joints(text: str) -> None:
    phrases = ("sorry", "as an ai")
    assert any(judged(says(text), must_not_say=[phrase]) is Status.FAILED for phrase in phrases)
