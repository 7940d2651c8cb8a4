"""From a trace to the events of its conversation, and what is judged of them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from carob.evidence.conversation_events import read_conversation
from carob.model.trace import PossibleCall, TextLoss, ToolCall, Trace, TraceError
from carob.rules.monitor import judge_events
from rules.lines import contract

BEFORE = {"each": {"call": "pay"}, "needs": {"before": {"call": "get", "success": True}}}
AFTER = {"each": {"call": "pay", "success": True}, "needs": {"after": {"call": "log"}}}
SAID = {"each": {"call": "pay"}, "needs": {"last_user": ["yes"]}}
NEVER = {"each": {"call": "pay"}, "at_most": 0}


def call(name: str, message: str | None = None, at: tuple[float, float] | None = None, **about: Any) -> ToolCall:
    started, ended = at or (None, None)
    return ToolCall(name, {}, **{"success": True, "message": message, "started_at": started, "ended_at": ended} | about)


def trace(*calls: ToolCall, **about: Any) -> Trace:
    return Trace(**{"case_id": "a", "input": "yes", "final_message": "Done.", "tool_calls": calls} | about)


def outcome(rule: dict, of: Trace) -> str:
    conversation = read_conversation(of)
    return str(judge_events(contract(rule), conversation.events, conversation.end)[0].outcome)


@pytest.mark.parametrize(
    ("rule", "of", "expected"),
    [
        (BEFORE, trace(call("get", "1"), call("pay", "2")), "held"),
        (BEFORE, trace(call("get", "1"), call("pay", "1")), "broken"),
        (BEFORE, trace(call("get", at=(1, 2)), call("pay", at=(3, 4))), "held"),
        (BEFORE, trace(call("get", at=(1, 3)), call("pay", at=(2, 4))), "broken"),
        (BEFORE, trace(call("get", "1", at=(1, 2)), call("pay", "1", at=(3, 4))), "broken"),
        (BEFORE, trace(call("get"), call("pay")), "unknown"),
        (BEFORE, trace(call("pay"), call("get")), "broken"),
        (BEFORE, trace(call("get", "1", success=False), call("pay", "2")), "broken"),
        (BEFORE, trace(call("get", "1", success=None), call("pay", "2")), "unknown"),
        (BEFORE, trace(call("pay", "1"), unobserved={"tools": "no log"}), "unknown"),
        (BEFORE, trace(unobserved={"tools": "no log"}), "unknown"),
        (BEFORE, trace(call("pay", "1"), possible_calls=(PossibleCall("get", "torn"),)), "unknown"),
        (BEFORE, trace(call("pay", "1"), possible_calls=(PossibleCall("other", "torn"),)), "broken"),
        (BEFORE, trace(call("pay", "1"), possible_calls=(PossibleCall("I call get", "words", "words"),)), "unknown"),
        (BEFORE, trace(call("pay", "1"), setup_calls=(call("get", "1"),)), "held"),
        (BEFORE, trace(setup_calls=(call("pay", "1"),)), "not_triggered"),
        (NEVER, trace(call("pay", "1", started=False, unfinished=True, success=None)), "broken"),
        (AFTER, trace(call("pay", "1"), call("log", "2")), "held"),
        (AFTER, trace(call("pay", "1")), "broken"),
        (AFTER, trace(call("pay", "1"), ended_by="length"), "unknown"),
        (AFTER, trace(call("pay", "1"), error=TraceError("crash", "it broke")), "unknown"),
        (AFTER, trace(call("pay", "1", success=None, unfinished=True)), "not_triggered"),
        (SAID, trace(call("pay", "1")), "held"),
        (SAID, trace(call("pay", "1"), input="Wait."), "broken"),
        (SAID, trace(call("pay", "1"), input="Wait.", setup_prompts=("yes",)), "broken"),
        (SAID, trace(call("pay", "1"), input="", unobserved={"input": "not recorded"}), "unknown"),
        (SAID, trace(call("pay", "1", kind="handoff")), "not_triggered"),
    ],
)
def test_what_was_seen_decides(rule: dict, of: Trace, expected: str) -> None:
    assert outcome(rule, of) == expected


def test_a_conversation_is_read_turn_by_turn() -> None:
    first = trace(call("get", "1"), input="Pay A.", final_message="Shall I?")
    second = trace(call("pay", "1"), input="yes")
    whole = trace(*first.tool_calls, *second.tool_calls, turns=(first, second))
    gaps = [event for event in read_conversation(whole).events if event.kind == "gap"]
    assert [(gap.index, gap.hides) for gap in gaps] == [(-1, "approvals"), (8, "approvals")]
    turns = [structs.replace(turn, metadata={"approvals": []}) for turn in (first, second)]
    whole = structs.replace(whole, turns=tuple(turns))
    conversation = read_conversation(whole)
    assert [(event.kind, event.tool or event.text) for event in conversation.events] == [
        ("user", "Pay A."), ("call", "get"), ("result", "get"), ("says", "Shall I?"),
        ("user", "yes"), ("call", "pay"), ("result", "pay"), ("says", "Done."),
    ]  # fmt: skip
    assert conversation.calls == {1: 0, 2: 0, 5: 1, 6: 1}
    assert outcome(BEFORE, whole) == "held"  # the same number of a message, of another turn
    assert outcome(SAID, whole) == "held"


def test_a_secret_that_was_removed_is_not_known() -> None:
    rule = {
        "each": {"call": "pay", "arguments": {"to": {"$as": "to"}}},
        "needs": {"before": {"call": "get", "arguments": {"to": {"$same": "to"}}}},
    }
    calls = [ToolCall(name, {"to": "[removed]"}, success=True, message=name) for name in ("get", "pay")]
    assert outcome(rule, trace(*calls)) == "held"
    assert outcome(rule, trace(*calls, cuts={"tools": TextLoss("secrets were removed")})) == "unknown"


APPROVED = {"each": {"call": "pay", "success": True}, "needs": {"before": {"approved": "pay"}}}
ASKED = {"each": {"asks_approval": "pay"}, "needs": {"after": {"approved": "pay"}}}


def approvals(*entries: tuple[str, str]) -> dict[str, Any]:
    return {"metadata": {"approvals": [{"kind": kind, "tool": tool, "arguments": {}} for kind, tool in entries]}}


@pytest.mark.parametrize(
    ("rule", "of", "expected"),
    [
        (APPROVED, trace(call("pay", "1"), **approvals(("approved", "pay"))), "held"),
        (APPROVED, trace(call("pay", "1"), **approvals(("approved", "find"))), "broken"),
        (APPROVED, trace(call("pay", "1"), **approvals(("denied", "pay"))), "broken"),
        (APPROVED, trace(call("pay", "1"), **approvals()), "broken"),
        (APPROVED, trace(call("pay", "1")), "unknown"),
        (APPROVED, trace(call("pay", "1"), metadata={"approvals": "lost"}), "unknown"),
        (ASKED, trace(**approvals(("asks_approval", "pay"))), "broken"),
        (ASKED, trace(**approvals()), "not_triggered"),
        (ASKED, trace(), "unknown"),
        (NEVER, trace(), "not_triggered"),
    ],
)
def test_approvals_are_events_where_they_were_observed(rule: dict, of: Trace, expected: str) -> None:
    assert outcome(rule, of) == expected
