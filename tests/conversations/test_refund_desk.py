"""The refund desk, with which the format is introduced: a right agent passes, each wrong one fails by what it does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import carob
from carob.model.run import CaseRecord
from carob.model.verdict import CaseStatus, Status

from . import desk

SUITE = Path(__file__).with_name("refund_desk.yaml")
Answer = dict[str, Any]
Bug = Callable[[Answer], Answer]


def ran(bug: Bug | None = None) -> dict[str, CaseRecord]:
    """The suite against the desk; the bug changes what it does once it has found the order."""

    def agent(prompt: str, conversation: Any) -> Answer:
        answer = desk.remembers(prompt, conversation)
        return bug(answer) if bug and answer["tool_calls"] else answer

    return {record.case.id: record for record in carob.run(SUITE, agent).records}


def test_a_right_agent() -> None:
    records = ran()
    assert list(records) == ["refund-fr", "refund-de", "stubborn-customer"]
    assert {record.status for record in records.values()} == {CaseStatus.PASS}
    assert [turn.input for turn in records["refund-de"].trace.turns] == ["I want my money back.", "It is order B-04."]
    assert [turn.input for turn in records["stubborn-customer"].trace.turns][1:] == ["It is order A-17."]


def calls(answer: Answer, **changed: dict[str, Any]) -> Answer:
    """The answer with some of its calls changed."""
    return {**answer, "tool_calls": [{**call, **changed.get(call["name"], {})} for call in answer["tool_calls"]]}


def refund(answer: Answer, **arguments: object) -> Answer:
    made = answer["tool_calls"][-1]["arguments"]
    return calls(answer, issue_refund={"arguments": {**made, **arguments}})


def without(answer: Answer, name: str) -> Answer:
    return {**answer, "tool_calls": [call for call in answer["tool_calls"] if call["name"] != name]}


WRONG: dict[str, tuple[Bug, str]] = {
    "another order": (lambda a: refund(a, order="C-99"), "tool_calls[1]"),
    "too much": (lambda a: refund(a, amount=500), "tool_calls[1]"),
    "a note": (lambda a: refund(a, note="hush"), "tool_calls[1]"),
    "not paid": (lambda a: calls(a, issue_refund={"result": {"status": "pending"}}), "tool_calls[1]"),
    "paid twice": (lambda a: {**a, "tool_calls": [*a["tool_calls"], a["tool_calls"][-1]]}, "tool_calls[1]"),
    "not looked up": (lambda a: without(a, "lookup_order"), "tool_calls[0]"),
    "looked up too late": (lambda a: {**a, "tool_calls": [a["tool_calls"][i] for i in (0, 2, 1)]}, "tool_order"),
    "nobody verified": (lambda a: without(a, "verify_identity"), "tool_requires.issue_refund"),
    "not verified": (lambda a: calls(a, verify_identity={"success": False}), "tool_requires.issue_refund"),
    "another number": (lambda a: {**a, "final_message": "I have refunded $41."}, "grounded_numbers"),
    "too slow": (lambda a: {**a, "duration_ms": 21_000}, "max_seconds"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_agent_fails_in_the_second_turn(name: str) -> None:
    bug, place = WRONG[name]
    record = ran(bug)["refund-fr"]
    assert record.status is CaseStatus.FAIL
    found = zip(record.case.all_checks, record.verdict.checks, strict=True)
    failed = {(turn, spec.path) for (turn, spec), check in found if check.status is Status.FAILED}
    assert (2, place) in failed
    assert {turn for turn, _ in failed} == {2}


def test_expectations_of_all_turns() -> None:
    busy = ran(lambda a: {**a, "tool_calls": [a["tool_calls"][1]] * 7})
    assert all(
        any(check.name == "max_tool_calls" and check.status is Status.FAILED for check in record.verdict.checks)
        for record in busy.values()
    )
    robot = ran(lambda a: {**a, "final_message": "As an AI, I paid."})
    assert {record.status for record in robot.values()} == {CaseStatus.FAIL}
    idle = ran(lambda a: without(a, "issue_refund"))["stubborn-customer"]
    assert (idle.status, [check.name for check in idle.verdict.checks if check.status is Status.FAILED]) == (
        CaseStatus.FAIL,
        ["tool_calls"],
    )


def test_an_agent_that_does_not_ask_fails_in_the_first_turn() -> None:
    def hasty(prompt: str) -> Answer:
        return desk.reply(["It is order A-17."])

    (record, *_) = carob.run(SUITE, hasty).records
    failed = {(check.turn, check.name) for check in record.verdict.checks if check.status is Status.FAILED}
    assert {(1, "outcome"), (1, "asks_for"), (1, "tool_calls_none")} <= failed
