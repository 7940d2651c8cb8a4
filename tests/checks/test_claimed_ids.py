"""Ids in a sentence that claims a deed: each is in a call that did it."""

from __future__ import annotations

import pytest

import carob
from carob.checks.effects.claims import NoFalseSuccess
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import Status

pytestmark = pytest.mark.quick

EFFECTS = {"refund": ("refunded",), "book": ("booked", "moved")}
FAILED = ToolCall("refund", {"order": "A-10"}, success=False, error="closed")


def refund(order: object, **more: object) -> ToolCall:
    return ToolCall("refund", {"order": order, **more}, success=True, result={"status": "paid"})


def judge(answer: str, *calls: ToolCall) -> Status:
    return NoFalseSuccess(effects=EFFECTS).judge(Trace(case_id="A", final_message=answer, tool_calls=calls)).status


@pytest.mark.parametrize(
    "answer",
    [
        "Refunded A-9 and A-10.",
        "I have refunded orders A-9 and A-10.",
        "Your orders A-9 and A-10 have been refunded.",
        "I refunded order #A-10.",
        "Good news! A-9, A-10 and A-11 are now refunded.",
        "I've refunded A-9, a-10 and what was left.",
    ],
)
def test_an_id_that_no_successful_call_holds_is_a_false_claim(answer: str) -> None:
    assert judge(answer, refund("A-9")) is Status.FAILED
    assert judge(answer, refund("A-9"), FAILED) is Status.FAILED
    assert judge(answer, refund("A-9"), refund("A-10"), refund("A-11")) is Status.PASSED


@pytest.mark.parametrize(
    "answer",
    [
        "I have refunded A-9.",
        "I have refunded A-9, but A-10 is closed.",
        "I have refunded A-9; A-10 is next.",
        "A-10 is closed. I have refunded A-9. Shall I open A-11?",
        "I have refunded A-9 and not A-10.",
        "I have refunded A-9 for customer C-77 on 2026-01-05 at 10:30, as case T-5.",
        "I have refunded A-9 instead of A-10.",
        "I couldn't find A-10 but A-9 has been refunded.",
        "I have refunded 100.00 EUR to your card ending in 4242.",
        "Your money has been refunded.",
    ],
)
def test_other_ids_and_numbers_are_no_claim(answer: str) -> None:
    assert judge(answer, refund("A-9")) is Status.PASSED


def test_codes_without_a_form_are_compared_by_their_length() -> None:
    assert judge("I have refunded ZFA04Y and XEHM4B.", refund("ZFA04Y")) is Status.FAILED
    assert judge("I have refunded ZFA04Y.", refund("ZFA04Y")) is Status.PASSED


def test_an_id_of_the_result_counts() -> None:
    call = ToolCall("refund", {"order": "A-9"}, success=True, result='{"also": ["A-10"]}')
    assert judge("Refunded A-9 and A-10.", call) is Status.PASSED


def test_what_was_not_seen_leaves_it_open() -> None:
    lost = ToolCall("refund", {"order": "A-10"})
    assert judge("Refunded A-9 and A-10.", refund("A-9"), lost) is Status.UNKNOWN
    hidden = ToolCall("refund", {}, success=True, unobserved={"arguments": "they were not recorded"})
    assert judge("Refunded A-9 and A-10.", refund("A-9"), hidden) is Status.UNKNOWN


def test_the_message_names_the_id() -> None:
    trace = carob.Trace(case_id="A", final_message="Refunded A-9 and A-10.", tool_calls=(refund("A-9"),))
    found = NoFalseSuccess(effects=EFFECTS).judge(trace).found
    assert found.startswith("it claims 'Refunded' of A-10: no successful call to refund is about A-10")


def test_a_wording_that_is_no_claim_is_declared() -> None:
    trace = carob.Trace(
        case_id="A", final_message="I'm sorry: we are now booked solid. It is now booked.", tool_calls=()
    )
    plain = NoFalseSuccess(effects=EFFECTS)
    declared = NoFalseSuccess(effects=EFFECTS, words={"not_claims": ("booked solid",)})
    assert [claim.span for claim in plain.find_claims(trace)] == [(22, 28), (46, 52)]
    assert [claim.span for claim in declared.find_claims(trace)] == [(46, 52)]


def test_a_suite_declares_what_is_no_claim() -> None:
    case = {"id": "A", "prompt": "A table for two?", "expected": {"no_false_success": True}}
    suite = {"carob": 1, "effects": {"book": ["booked"]}, "words": {"not_claims": ["booked solid"]}, "cases": [case]}
    done = carob.run(
        suite, lambda prompt: carob.Trace(case_id="A", final_message="We are now booked solid.", tool_calls=())
    )
    assert done.summary.passed == 1
