"""What a turn decides about each call that waits, and what fits none of them."""

from __future__ import annotations

import pytest

from carob.model.suite import TurnDecision
from carob.targets.base import TargetError
from carob.targets.decisions import CallDecision, WaitingCall, decide

PAY, FEE, QUESTION = WaitingCall("pay", {"to": "Ada", "amount": 80}), WaitingCall("fee", [1]), WaitingCall("", "Sure?")
ALL = ("*",)


@pytest.mark.parametrize(
    ("decision", "kinds"),
    [
        (TurnDecision(approve=ALL), ["approve", "approve"]),
        (TurnDecision(approve=("pay", "fee")), ["approve", "approve"]),
        (TurnDecision(approve=("pay",), deny={"*": ""}), ["approve", "deny"]),
        (TurnDecision(approve=ALL, deny={"fee": ""}), ["approve", "deny"]),
        (TurnDecision(approve=ALL, deny={"f*": ""}, edit={"p*": {"amount": 1}}), ["edit", "deny"]),
        (TurnDecision(approve=("fee",), edit={"*": {"amount": 1}}), ["edit", "approve"]),
        (TurnDecision(deny={"*": "", "fee": "no"}), ["deny", "deny"]),
    ],
)
def test_the_exact_name_decides_and_then_what_denies(decision: TurnDecision, kinds: list[str]) -> None:
    assert [each.kind for each in decide(decision, [PAY, FEE])] == kinds


def test_what_is_edited_keeps_its_other_arguments() -> None:
    assert decide(TurnDecision(edit={"pay": {"amount": None}}), [PAY]) == [
        CallDecision("edit", {"to": "Ada", "amount": None})
    ]


def test_a_question_is_decided_by_what_means_anything() -> None:
    assert decide(TurnDecision(deny={"*": "no"}), [QUESTION]) == [CallDecision("deny", "Sure?", "no")]


@pytest.mark.parametrize(
    ("decision", "waiting", "message"),
    [
        (TurnDecision(approve=ALL), [], "the turn decides (approve: *), and nothing waits for it"),
        (TurnDecision(approve=("payy",)), [PAY, FEE], "no call of 'payy' waits for approval. What waits: pay and fee"),
        (TurnDecision(approve=("pay",)), [PAY, QUESTION], "a question waits for approval too"),
        (TurnDecision(approve=("pay", "x*")), [PAY], "no call of 'x*' waits for approval. What waits: pay"),
        (TurnDecision(edit={"*": {"a": 1}}), [QUESTION], "what the agent asks is about no call"),
        (TurnDecision(edit={"fee": {"a": 1}}), [FEE], "the arguments of fee are not an object"),
    ],
)
def test_what_fits_nothing_that_waits(decision: TurnDecision, waiting: list[WaitingCall], message: str) -> None:
    with pytest.raises(TargetError) as error:
        decide(decision, waiting)
    assert (error.value.kind, error.value.message[: len(message)]) == ("not-asked", message)
