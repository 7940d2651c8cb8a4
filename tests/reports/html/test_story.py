"""The order of a turn: calls where the messages of their tools are, model steps by time, and what is not known."""

from __future__ import annotations

import pytest

from carob.model.trace import Message, SpanNode, ToolCall, Trace
from carob.reports.html import story
from carob.reports.html.story import tell_turn


def told(trace: Trace) -> str:
    """The items by one letter and their index: `m0 c1 s0`."""
    return " ".join(f"{kind[0]}{index}" for kind, index in tell_turn(trace).items)


def messages(*said: str) -> tuple[Message, ...]:
    """`user: words`, or `tool search: words`."""
    parts = [text.partition(": ") for text in said]
    return tuple(Message(who.split()[0], words, who.partition(" ")[2] or None) for who, _, words in parts)


def call(name: str, at: float | None = None, result: object = "r") -> ToolCall:
    return ToolCall(name, result=result, success=True, started_at=at, ended_at=at)


def step(at: float | None) -> SpanNode:
    return SpanNode(f"s{at}", "chat", "model", started_at=at)


@pytest.mark.parametrize(
    ("said", "calls", "steps", "order"),
    [
        pytest.param(["user: hi", "assistant: A"], [call("f")], [], "m0 c0 m1", id="calls-before-the-answer"),
        pytest.param(
            ["user: hi", "assistant: one", "tool f: r", "assistant: two", "tool g: r", "assistant: A"],
            [call("f"), call("g")], [], "m0 m1 c0 m3 c1 m5", id="where-their-messages-are",
        ),
        pytest.param(
            ["user: hi", "tool g: r", "tool f: r", "assistant: A"],
            [call("f"), call("g")], [], "m0 c0 c1 m3", id="side-by-side-in-their-order",
        ),
        pytest.param(
            ["user: hi", "tool f: other words", "assistant: A"], [call("f")], [], "m0 c0 m1 m2", id="words-of-its-own",
        ),
        pytest.param(
            ["user: hi", 'tool f: {"a": 1}', "assistant: A"],
            [call("f", result={"a": 1})], [], "m0 c0 m2", id="same-json",
        ),
        pytest.param(["user: hi", "tool h: r", "assistant: A"], [call("f")], [], "m0 m1 c0 m2", id="of-another-tool"),
        pytest.param(
            ["user: hi", "assistant: one", "tool f: r", "assistant: A"],
            [call("f", 5.0)], [step(1.0), step(6.0)], "m0 s0 m1 c0 s1 m3", id="model-steps-by-time",
        ),
        pytest.param(["user: hi", "assistant: A"], [call("f")], [step(1.0)], "m0 c0 m1", id="no-times-no-place"),
        pytest.param(["user: hi", "assistant: A"], [], [step(2.0), step(1.0)], "m0 s1 s0 m1", id="steps-without-calls"),
        pytest.param(["user: hi", "assistant: A"], [call("f", 1.0)], [step(None)], "m0 c0 m1", id="step-without-time"),
        pytest.param([], [call("f"), call("g")], [], "c0 c1", id="no-messages"),
    ],
)  # fmt: skip
def test_order(said: list[str], calls: list[ToolCall], steps: list[SpanNode], order: str) -> None:
    trace = Trace(case_id="a", messages=messages(*said), tool_calls=tuple(calls), spans=tuple(steps), final_message="A")
    assert told(trace) == order


@pytest.mark.parametrize(
    ("said", "loose"),
    [
        (["user: hi", "assistant: let me look", "assistant: A"], True),
        (["user: hi", "assistant: let me look", "tool f: r", "assistant: A"], False),
        (["user: hi", "assistant: A"], False),
    ],
)
def test_what_is_not_known_is_said(said: list[str], loose: bool) -> None:
    trace = Trace(case_id="a", messages=messages(*said), tool_calls=(call("f"),), final_message="A")
    assert tell_turn(trace).loose is loose


def test_without_the_first_messages_no_message_places_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story, "MOST_MESSAGES", 2)
    trace = Trace(
        case_id="a",
        messages=messages("user: hi", "tool f: r", "tool f: r", "assistant: A"),
        tool_calls=(call("f"), call("f")),
        final_message="A",
    )
    assert told(trace) == "m2 c0 c1 m3"
    assert tell_turn(trace).answer == 3
