"""Runs of the OpenAI Agents SDK, spelled as the SDK gives them: answers, calls, approvals and what cannot be read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from carob.model.suite import Case, TurnDecision
from carob.model.trace import Trace
from carob.targets.base import TargetError
from carob.targets.in_process.agents_sdk import SdkRuns

CASE = Case(id="a", prompt="Pay it.", checks=())
PAY = {"type": "function_call", "call_id": "c1", "name": "pay", "arguments": '{"id": "A"}'}
WAITS = SimpleNamespace(name="pay", arguments='{"id": "A"}', raw_item=PAY, type="tool_approval_item")


class State:
    """What the SDK's `RunState` notes of decisions."""

    def __init__(self) -> None:
        self.noted: list[tuple[str, str]] = []

    def approve(self, item: Any) -> None:
        self.noted.append(("approved", item.name))

    def reject(self, item: Any, rejection_message: str = "") -> None:
        self.noted.append((rejection_message or "rejected", item.name))


def run(output: object = None, *, asked: list[Any] | None = None, requests: int = 1, **more: Any) -> Any:
    usage = SimpleNamespace(requests=requests, input_tokens=3, output_tokens=2)
    reply = SimpleNamespace(output=[PAY] if asked else [], usage=usage)
    parts: dict[str, Any] = {"new_items": [], "raw_responses": [reply], "interruptions": asked or [], **more}
    return SimpleNamespace(final_output=output, to_state=State, **parts)


def read(made: Any) -> Trace:
    return SdkRuns().read(made, CASE)


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        (None, ""),
        ("Paid.", "Paid."),
        ({"paid": True}, '{"paid":true}'),
        (SimpleNamespace(model_dump=lambda: {"paid": 80}), '{"paid":80}'),
    ],
)
def test_the_answer_is_what_the_run_ended_with(output: object, answer: str) -> None:
    assert read(run(output)).final_message == answer


def test_tokens_are_counted_where_the_model_says_them() -> None:
    tokens = read(run("Paid.")).tokens
    assert tokens is not None
    assert (tokens.input, tokens.output) == (3, 2)
    assert read(run("Paid.", requests=0)).tokens is None


def test_a_run_that_is_not_over_is_no_answer() -> None:
    with pytest.raises(TargetError, match="still streaming"):
        read(run("Paid.", is_complete=False))


@pytest.mark.parametrize(
    ("decision", "noted"),
    [
        (TurnDecision(approve=("pay",)), ("approved", "pay")),
        (TurnDecision(deny={"pay": ""}), ("rejected", "pay")),
        (TurnDecision(deny={"pay": "too much"}), ("too much", "pay")),
    ],
)
def test_what_waits_is_decided_in_the_state_of_the_run(decision: TurnDecision, noted: tuple[str, str]) -> None:
    runs = SdkRuns()
    assert runs.build_input("Pay it.", None) == "Pay it."
    asked = runs.read(run(asked=[WAITS]), CASE)
    assert asked.final_message == 'Approve pay {"id":"A"}?'
    assert [call.name for call in asked.tool_calls] == ["pay"]
    state = runs.build_input("", decision)
    assert isinstance(state, State)
    assert state.noted == [noted]


@pytest.mark.parametrize(
    ("asked", "decision", "why"),
    [
        ([WAITS], TurnDecision(edit={"pay": {"id": "B"}}), "cannot run a call with other arguments"),
        ([], TurnDecision(approve=("pay",)), "nothing waits for it"),
        (None, TurnDecision(approve=("pay",)), "returns what `Runner.run` gives"),
    ],
)
def test_a_decision_that_the_sdk_cannot_take_is_an_error(
    asked: list[Any] | None, decision: TurnDecision, why: str
) -> None:
    runs = SdkRuns()
    if asked is not None:
        runs.read(run(asked=asked), CASE)
    with pytest.raises(TargetError, match=why):
        runs.build_input("", decision)
