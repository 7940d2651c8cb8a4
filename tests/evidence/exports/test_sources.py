"""One agent, seen by every source: its conversations, the calls of the log of its tools, one verdict for each rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from carob.evidence.conversation_events import read_conversation
from carob.evidence.exports.catalog import FORMATS
from carob.evidence.exports.reading import read_conversations
from carob.evidence.exports.record import RecordedConversation
from carob.model.trace import Trace
from carob.rules.monitor import judge_events
from evidence.exports.sessions import SAMPLES
from evidence.exports.sources import SOURCES, Source, read_lines
from rules.lines import contract

PROMPTS = {"s-1": ["Where is A-1?", "Cancel A-2, please."], "s-2": ["Compare A-3 and A-4."]}
ANSWERS = {"s-1": ["A-1 is paid.", "I could not cancel A-2: it is locked."], "s-2": ["Both are open."]}
CALLS = {
    "s-1": [("lookup_order", {"order": "A-1"}), ("cancel_order", {"order": "A-2", "reason": "late"})],
    "s-2": [("lookup_order", {"order": "A-3"}), ("lookup_order", {"order": "A-4"})],
}
SESSIONS = {sample.format for sample in SAMPLES} | {"openhands", "atif"}
"""Formats of coding agents' sessions, which `test_sessions.py` reads."""
RULES = contract(
    {"each": {"call": "cancel_order"}, "needs": {"before": {"call": "lookup_order", "success": True}}},
    {"each": {"call": "cancel_order"}, "needs": {"last_user": ["yes", "go ahead"]}},
    {"each": {"call": "lookup_order", "arguments": {"order": "A-4"}}, "forbids": {"before": {"call": "*"}}},
    {"each": {"call": "lookup_order", "arguments": {"order": {"$as": "o"}}}, "at_most": 1},
    {"each": {"call": "delete_order"}, "at_most": 1},
    {"each": {"call": "lookup_order", "success": True}, "where": 'each.result.status == "paid"'},
    {"each": {"call": "cancel_order", "arguments": {"order": "A-2"}}, "at_most": 0},
)


@pytest.fixture(params=SOURCES, ids=lambda source: source.name)
def source(request: pytest.FixtureRequest) -> Source:
    return request.param


def conversations(source: Source, folder: Path) -> dict[str, RecordedConversation]:
    read = {one.id: one for one in read_conversations([source.write(folder)])}
    return {name: read[name] for name in sorted(read)}


def turns(trace: Trace) -> tuple[Trace, ...]:
    return trace.turns or (trace,)


def outcomes(trace: Trace) -> list[str]:
    events = read_conversation(trace)
    return [str(verdict.outcome) for verdict in judge_events(RULES, events.events, events.end)]


def test_a_source_has_the_conversations_and_the_calls_that_the_log_has(source: Source, tmp_path: Path) -> None:
    read = conversations(source, tmp_path)
    assert {name: [turn.input for turn in turns(one.trace)] for name, one in read.items()} == PROMPTS
    assert {name: [turn.final_message for turn in turns(one.trace)] for name, one in read.items()} == ANSWERS
    calls = {name: [(call.name, call.arguments) for call in one.trace.tool_calls] for name, one in read.items()}
    assert calls == CALLS
    log = [(entry["name"], entry["arguments"]) for entry in read_lines("tools.jsonl")]
    assert [call for name in calls for call in calls[name]] == log
    assert {one.format for one in read.values()} == {source.format}
    assert {one.user for one in read.values()} == {"u-1", "u-2"}
    assert {one.has_session for one in read.values()} == {True}
    assert not any(one.trace.setup_calls for one in read.values())


def test_a_source_has_what_the_tools_gave_as_far_as_it_saw_them_run(source: Source, tmp_path: Path) -> None:
    read = conversations(source, tmp_path)
    found, cancelled, *_ = [*read["s-1"].trace.tool_calls]
    assert found.result == {"order": "A-1", "status": "paid"}
    assert found.success is True
    if source.runs_tools:
        assert cancelled.success is False
        assert all(call.started_at is not None for call in read["s-1"].trace.tool_calls)
        assert "A-2 is locked" in str(cancelled.error) or "redacted" in str(cancelled) or source.name == "openai-agents"
        assert read["s-1"].started_at is not None
    elif source.format == "anthropic":
        assert cancelled.success is False  # `is_error` of the result says it
    first, second = read["s-2"].trace.tool_calls
    assert first.message == second.message is not None
    assert (first.id, second.id) == ("call_3", "call_4")


def test_every_source_gives_the_same_verdicts(source: Source, tmp_path: Path) -> None:
    reference = {"s-1": ["held", "broken", "not_triggered", "held", "not_triggered", "held", "broken"]}
    reference["s-2"] = ["not_triggered", "not_triggered", "held", "held", "not_triggered", "broken", "not_triggered"]
    assert {name: outcomes(one.trace) for name, one in conversations(source, tmp_path).items()} == reference


def test_every_format_has_a_source() -> None:
    known = {source.format for source in SOURCES} | SESSIONS | {"carob", "carob-guard"}
    assert {format.name for format in FORMATS} == known
