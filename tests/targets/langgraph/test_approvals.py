"""Approvals of a LangGraph agent are events of its conversation: what was asked, and what was decided."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import karat

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
HELD = {"approved-first": "passed", "asked": "passed", "never-denied": "not_triggered"}
NOT_ASKED = dict.fromkeys(HELD, "not_triggered")


def judge(target: Any, folder: Path, *prompts: str) -> dict[str, str]:
    turns = [{"prompt": prompt, "expected": {"outcome": "completed"}} for prompt in prompts]
    suite = {"karat": 1, "rules": RULES, "cases": [{"id": "a", "turns": turns}]}
    [record] = karat.run(suite, target, results_dir=folder, workers=0)
    return {check.rule_id: check.status.value for check in record.verdict.checks if check.rule_id}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("yes", HELD),
        (EDITED, HELD),
        ("no thanks", {"approved-first": "not_triggered", "asked": "not_triggered", "never-denied": "failed"}),
    ],
)
def test_what_a_person_decides_is_an_event(answer: str, expected: dict[str, str], tmp_path: Path) -> None:
    assert judge("langgraph:targets.langgraph.kinds:approving", tmp_path, "Both", answer) == expected


def test_an_agent_that_does_not_ask_breaks_the_rule(tmp_path: Path) -> None:
    judged = judge("langgraph:targets.langgraph.kinds:agent", tmp_path, "Book a room")
    assert judged == {**NOT_ASKED, "approved-first": "failed"}


def test_where_approvals_are_not_observed_nothing_is_known_of_them(tmp_path: Path) -> None:
    booked = {"name": "book", "arguments": {"room": "Blue"}, "result": {"ok": True}}
    judged = judge(lambda prompt: {"final_message": "Booked.", "tool_calls": [booked]}, tmp_path, "Book it")
    assert judged == dict.fromkeys(HELD, "unknown")
