"""Approvals of a LangGraph agent are events of its conversation: what was asked, and what was decided."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import carob

APPROVED_FIRST = {
    "id": "approved-first",
    "each": {"call": ["book", "pay"], "success": True, "arguments": {"$as": "shown"}},
    "needs": {"before": {"approved": ["book", "pay"], "arguments": {"$same": "shown"}}},
    "once": True,
}
"""Each call that ran was approved, with the arguments that it ran with."""
ASKED = {"id": "asked", "each": {"approved": "*"}, "needs": {"before": {"asks_approval": "*"}}}
NEVER_DENIED = {"id": "never-denied", "each": {"denied": "*"}, "at_most": 0}
RULES = [APPROVED_FIRST, ASKED, NEVER_DENIED]
GREEN = {"type": "edit", "edited_action": {"name": "book", "args": {"room": "Green"}}}
EDITED = json.dumps({"decisions": [GREEN, {"type": "approve"}]})
APPROVING = "langgraph:features.langgraph.kinds:approving"
DENIED = {"approved-first": "not_triggered", "asked": "not_triggered", "never-denied": "failed"}
HELD = {"approved-first": "passed", "asked": "passed", "never-denied": "not_triggered"}
NOT_ASKED = dict.fromkeys(HELD, "not_triggered")


def talk(target: Any, folder: Path, *said: str | dict[str, Any]) -> carob.CaseRecord:
    turns = [{"prompt": turn} if isinstance(turn, str) else turn for turn in said]
    asked = [{**turn, "expected": {"outcome": "completed"}} for turn in turns]
    suite = {"carob": 1, "rules": RULES, "cases": [{"id": "a", "turns": asked}]}
    [record] = carob.run(suite, target, results_dir=folder, workers=0)
    return record


def judge(target: Any, folder: Path, *said: str | dict[str, Any]) -> dict[str, str]:
    record = talk(target, folder, *said)
    return {check.rule_id: check.status.value for check in record.verdict.checks if check.rule_id}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("yes", HELD),
        (EDITED, HELD),
        ("no thanks", DENIED),
        ({"approve": "*"}, HELD),
        ({"approve": ["book", "pay"]}, HELD),
        ({"approve": "*", "edit": {"book": {"room": "Green"}}}, HELD),
        ({"deny": ["pay", "book"]}, DENIED),
    ],
)
def test_what_a_person_decides_is_an_event(
    answer: str | dict[str, Any], expected: dict[str, str], tmp_path: Path
) -> None:
    assert judge(APPROVING, tmp_path, "Both", answer) == expected


def test_one_call_is_denied_and_the_other_edited(tmp_path: Path) -> None:
    decided = {"deny": {"pay": "yes, but not now"}, "edit": {"b*": {"room": "Green"}}}
    first, second = talk(APPROVING, tmp_path, "Both", decided).trace.turns
    assert [call.called for call in first.tool_calls] == [False, False]
    assert [(call.name, call.arguments) for call in second.tool_calls if call.called] == [("book", {"room": "Green"})]
    assert [(event["kind"], event["tool"]) for event in second.metadata["approvals"]] == [
        ("approved", "book"),
        ("denied", "pay"),
    ]
    assert second.input == 'deny: pay (yes, but not now); edit: b* {"room":"Green"}'


def test_a_decision_is_no_word_of_the_user(tmp_path: Path) -> None:
    """Nor is it one once the run is read again from its journal."""
    consent = {"id": "consent", "each": {"call": "book"}, "needs": {"last_user": ["approve"]}}
    turns = [{"prompt": "Both"}, {"approve": "*", "expected": {"outcome": "completed"}}]
    suite = {"carob": 1, "rules": [consent], "cases": [{"id": "a", "turns": turns}]}
    run = carob.run(suite, APPROVING, results_dir=tmp_path, workers=0)
    assert [check.status.value for check in run.records[0].verdict.checks if check.rule_id] == ["failed"]
    [again] = carob.rescore(run.journal, results_dir=tmp_path).records
    assert [check.status.value for check in again.verdict.checks if check.rule_id] == ["failed"]


@pytest.mark.parametrize(
    ("target", "turns", "message"),
    [
        ("approving", [{"approve": "fly"}], "turn 2: no call of 'fly' waits for approval. What waits: book and pay"),
        ("approving", [{"approve": "book"}], "turn 2: pay waits for approval too, and the turn does not say what"),
        ("approving", [{"deny": "*"}, {"approve": "*"}], "turn 3: the turn decides (approve: *), and nothing waits"),
        ("agent", [{"deny": {"pay": "no"}}], "turn 2: the turn decides (deny: pay (no)), and nothing waits for it"),
        ("asking_entrypoint", [{"edit": {"*": {"room": "Green"}}}], "turn 2: what the agent asks is about no call"),
    ],
)
def test_a_decision_that_fits_nothing_that_waits_is_an_error(
    target: str, turns: list[dict[str, Any]], message: str, tmp_path: Path
) -> None:
    record = talk(f"langgraph:features.langgraph.kinds:{target}", tmp_path, "Both", *turns)
    assert record.verdict.status is carob.CaseStatus.ERROR
    assert record.trace.error is not None
    assert (record.trace.error.kind, record.trace.error.message[: len(message)]) == ("not-asked", message)


def test_a_target_that_takes_no_decision_says_so(tmp_path: Path) -> None:
    record = talk(lambda prompt: "Approve?", tmp_path, "Pay", {"approve": "*"})
    assert record.trace.error is not None
    assert record.trace.error.message.endswith("where the function returns what `Runner.run` gives")


def test_a_recording_is_replayed_with_its_decisions(tmp_path: Path) -> None:
    turns = [{"prompt": "Both"}, {"approve": "*", "expected": {"outcome": "completed"}}]
    suite = {"carob": 1, "rules": RULES, "cases": [{"id": "a", "turns": turns}]}
    run = carob.run(suite, APPROVING, results_dir=tmp_path, workers=0)
    [again] = carob.run(suite, f"replay:{run.journal.path}", results_dir=tmp_path / "again", workers=0).records
    assert again.verdict.checks == run.records[0].verdict.checks


def test_an_agent_that_does_not_ask_breaks_the_rule(tmp_path: Path) -> None:
    judged = judge("langgraph:features.langgraph.kinds:agent", tmp_path, "Book a room")
    assert judged == {**NOT_ASKED, "approved-first": "failed"}


def test_where_approvals_are_not_observed_nothing_is_known_of_them(tmp_path: Path) -> None:
    booked = {"name": "book", "arguments": {"room": "Blue"}, "result": {"ok": True}}
    judged = judge(lambda prompt: {"final_message": "Booked.", "tool_calls": [booked]}, tmp_path, "Book it")
    assert judged == dict.fromkeys(HELD, "unknown")
