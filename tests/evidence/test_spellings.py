"""Logs that spell tool calls otherwise: read where the spelling is known or configured, else they prove nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from carob.checks.telemetry import Telemetry
from carob.checks.tools.calls import ToolCalls
from carob.checks.tools.names import ToolCallsAny, ToolCallsNone, ToolsUsed
from carob.evidence.logs.dialects import LogEvents
from carob.evidence.logs.events import find_broken_backend, tool_calls, unread
from carob.model.trace import Trace
from carob.model.verdict import Status

Lines = list[str | dict[str, Any]]


def log(lines: Lines) -> tuple[str, ...]:
    return tuple(line if isinstance(line, str) else json.dumps(line) for line in lines)


def brief(lines: Lines, events: str = "") -> list[tuple[str, Any, bool, bool | None]]:
    return [(c.name, c.arguments, c.called, c.success) for c in tool_calls(log(lines), events)]


KNOWN: dict[str, tuple[Lines, list[tuple[str, Any, bool, bool | None]]]] = {
    "type and name": (
        [
            {"type": "tool_call", "name": "drop", "arguments": {"id": 1}},
            {"type": "tool_result", "name": "drop", "ok": 1},
        ],
        [("drop", {"id": 1}, True, True)],
    ),
    "arguments as text": (
        [{"type": "function_call", "name": "drop", "arguments": '{"id": 1}'}],
        [("drop", {"id": 1}, True, None)],
    ),
    "one line for all": (
        [{"type": "tool_call", "tool": "drop", "args": {}, "result": {"success": True}}],
        [("drop", {}, True, True)],
    ),
    "another prefix": ([{"source": "tools.drop", "event": "start"}], [("drop", None, True, None)]),
    "langchain events": (
        [
            {"event": "on_tool_start", "name": "drop", "data": {"input": {"id": 1}}},
            {"event": "on_tool_end", "name": "drop", "data": {"output": "Error: no room"}},
        ],
        [("drop", {"id": 1}, True, False)],
    ),
    "ag-ui": (
        [{"type": "TOOL_CALL_START", "toolCallId": "a", "toolCallName": "drop"}],
        [("drop", None, True, None)],
    ),
    "vercel": (
        [
            {"type": "tool-input-available", "toolCallId": "a", "toolName": "drop", "input": {"id": 1}},
            {"type": "tool-output-available", "toolCallId": "a", "toolName": "drop", "output": {"ok": False}},
        ],
        [("drop", {"id": 1}, True, False)],
    ),
    "camel case": ([{"eventType": "toolCallStarted", "payload": {"toolName": "drop"}}], [("drop", None, True, None)]),
    "in the data of an event": (
        [{"source": "agent", "event": "tool_call", "data": {"name": "drop", "args": {"id": 1}}}],
        [("drop", {"id": 1}, True, None)],
    ),
    "a function object": ([{"type": "tool_call", "function": {"name": "drop"}}], [("drop", None, True, None)]),
    "a tool key and a stage": ([{"tool": "drop", "event": "started"}], [("drop", None, True, None)]),
    "a failed end": ([{"type": "tool_error", "name": "drop", "error": "full"}], [("drop", None, True, False)]),
    "asked for and no more": ([{"type": "tool_call_requested", "name": "drop"}], [("drop", None, False, None)]),
    "asked for, then run": (
        [{"type": "tool_request", "name": "drop", "args": {"id": 1}}, {"source": "tool.drop", "event": "start"}],
        [("drop", {"id": 1}, True, None)],
    ),
    "a call and its start are one": (
        [
            {"type": "tool_call", "name": "drop", "args": {"id": 1}},
            {"source": "tool.drop", "event": "start"},
            {"source": "tool.drop", "event": "result", "success": True},
        ],
        [("drop", {"id": 1}, True, True)],
    ),
    "two calls are two": (
        [{"type": "tool_call", "name": "drop"}, {"type": "tool_call", "name": "drop"}],
        [("drop", None, True, None)] * 2,
    ),
    "no tool": (
        [{"type": "message", "name": "bob", "content": "I use no tool"}, {"type": "tools_list", "tools": []}],
        [],
    ),
}


@pytest.mark.parametrize(("lines", "calls"), KNOWN.values(), ids=KNOWN)
def test_common_spellings(lines: Lines, calls: list[tuple[str, Any, bool, bool | None]]) -> None:
    assert brief(lines) == calls


NOT_UNDERSTOOD: list[str | dict[str, Any]] = [
    "12:00:01 INFO calling tool delete_user(5)",
    '2026-01-01 INFO {"type": "tool_call", "name": "delete_user"}',
    '{"source": "tool.delete_user", "eve',
    'delete_user", "event": "start"}',
    {"level": "info", "msg": "running Delete_User"},
    {"role": "assistant", "tool_calls": [{"function": {"name": "delete_user"}}]},
    {"step": "act", "what": {"fn": "functions.delete_user"}},
]


@pytest.mark.parametrize("line", NOT_UNDERSTOOD, ids=str)
def test_a_line_that_was_not_understood_proves_nothing(line: str | dict[str, Any]) -> None:
    trace = Trace(
        case_id="a", final_message="Done.", tool_calls=(), telemetry=log([{"source": "turn", "event": "end"}, line])
    )
    assert ToolCallsNone("delete_user").judge(trace).status is Status.UNKNOWN
    assert ToolCallsNone("refund").judge(trace).status is Status.PASSED
    assert ToolCallsAny(("delete_user",)).judge(trace).status is Status.UNKNOWN
    assert ToolCalls("delete_user").judge(trace).status is Status.UNKNOWN


@pytest.mark.parametrize(
    "line", [*NOT_UNDERSTOOD[:3], NOT_UNDERSTOOD[5], {"event": "used a tool"}, "Function call: f"], ids=str
)
def test_any_tool_counts_where_none_is_named(line: str | dict[str, Any]) -> None:
    trace = Trace(case_id="a", final_message="Done.", tool_calls=(), telemetry=log([line]))
    assert ToolsUsed(()).judge(trace).status is Status.UNKNOWN


@pytest.mark.parametrize(
    "line",
    [
        {"source": "chat", "event": "prompt", "data": {"text": "please delete_user 5"}},
        {"source": "turn", "event": "end"},
        "12:00 GET /health 200",
        {"msg": "cache hit"},
    ],
    ids=str,
)
def test_other_lines_leave_the_proof_as_it_is(line: str | dict[str, Any]) -> None:
    trace = Trace(case_id="a", final_message="Done.", tool_calls=(), telemetry=log([line]))
    assert ToolCallsNone("delete_user").judge(trace).status is Status.PASSED
    assert ToolsUsed(()).judge(trace).status is Status.PASSED


def events(**keys: Any) -> str:
    import msgspec

    return msgspec.json.encode(msgspec.convert(keys, LogEvents)).decode()


CONFIGURED: dict[str, tuple[str, Lines, list[tuple[str, Any, bool, bool | None]]]] = {
    "objects": (
        events(
            start={"op": "act", "what": {"fn": "{tool}", "with": "{arguments}"}},
            result={"op": "acted", "what": {"fn": "{tool}"}, "fine": "{success}"},
        ),
        [{"op": "act", "what": {"fn": "drop", "with": [1]}}, {"op": "acted", "what": {"fn": "drop"}, "fine": False}],
        [("drop", [1], True, False)],
    ),
    "a part of a value": (
        events(start={"op": "act:{tool}"}),
        [{"op": "act:drop"}, {"op": "rest"}],
        [("drop", None, True, None)],
    ),
    "text": (
        events(start="-> {tool} with {arguments}", result=["<- {tool}: {result}"], error="!! {tool} {error}"),
        ['12:00 -> drop with {"id": 1}', "12:01 <- drop: {'ok': True}", "12:02 -> add with {}", "!! add it broke"],
        [("drop", {"id": 1}, True, True), ("add", {}, True, False)],
    ),
    "JSON behind a prefix": (
        events(start='INFO {"type": "tool_call", "name": "{tool}"'),
        ['12:00 INFO {"type": "tool_call", "name": "drop"}'],
        [("drop", None, True, None)],
    ),
}


def test_a_shorthand_is_looked_for_in_every_spelling_that_is_understood() -> None:
    line, written = "12:00 -> drop", events(start="-> {tool}")
    for dialect, status in (("", Status.FAILED), (written, Status.PASSED)):
        trace = Trace(case_id="a", telemetry=(line,), dialect=dialect)
        assert Telemetry("tool.drop start").judge(trace).status is status


@pytest.mark.parametrize(("written", "lines", "calls"), CONFIGURED.values(), ids=CONFIGURED)
def test_configured_spellings(written: str, lines: Lines, calls: list[tuple[str, Any, bool, bool | None]]) -> None:
    assert brief(lines, written) == calls
    assert unread(log(lines), written) == log([line for line in lines if line == {"op": "rest"}])


def test_a_line_that_is_told_to_be_no_call() -> None:
    line = "12:00 the tool call list holds drop"
    assert unread((line,)) == (line,)
    assert unread((line,), events(other="the tool call list")) == ()


@pytest.mark.parametrize(
    ("patterns", "flaw"),
    [
        ({"start": "calling"}, "does not say where the name of the tool is"),
        ({"start": {"a": "{tol}", "b": "{tool}"}}, "Did you mean 'tool'?"),
        ({"start": "{tool} {any}"}, "matches every line"),
    ],
)
def test_patterns_that_make_no_sense(patterns: dict[str, Any], flaw: str) -> None:
    assert any(flaw in said for said in LogEvents(**patterns).validate())


BROKEN: list[Lines] = [
    [{"source": "llm", "event": "stream_error", "data": {"message": "closed"}}],
    [{"level": "error", "source": "llm", "event": "request", "error": "429 rate limit reached"}],
    [{"source": "provider", "event": "error", "data": {"error": {"message": "Service Unavailable"}}}],
    ["12:00 ERROR model: rate limit exceeded"],
]
WHOLE: list[Lines] = [
    [{"source": "tool.search", "event": "error", "error": "rate limit"}],
    [{"source": "chat", "event": "prompt", "data": {"message": "what is a rate limit?"}}],
    [{"source": "llm", "event": "rate_limit"}, {"source": "llm", "event": "response"}],
    ["12:00 INFO the rate limit is 5/s"],
    [{"source": "turn", "event": "error", "data": {"message": "no such card"}}],
]


@pytest.mark.parametrize(("lines", "broke"), [(b, True) for b in BROKEN] + [(w, False) for w in WHOLE], ids=str)
def test_a_broken_backend(lines: Lines, broke: bool) -> None:
    assert (find_broken_backend(log(lines)) is not None) is broke
