"""Cases for the agents whose spans were recorded, what their spans decide, and what their tools say that happened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from msgspec import structs

import carob
from carob.model.suite import Case
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import Verdict

SUITE = {
    "version": "0.3",
    "cases": [
        {
            "id": "where",
            "prompt": "Where is A-17?",
            "expected": {
                "outcome": "tool_success",
                "tool_calls": [{"tool": "lookup_order", "arguments": {"order": "A-17"}, "success": True}],
                "tool_calls_none": ["cancel_order"],
                "must_say_any": ["shipped"],
            },
        },
        {
            "id": "wrong-arguments",
            "prompt": "Where is A-17?",
            "expected": {"tool_calls": [{"tool": "lookup_order", "arguments": {"order": "A-18"}}]},
        },
        {
            "id": "forbidden",
            "prompt": "Where is A-17?",
            "expected": {"tool_calls_none": ["lookup_order"]},
        },
        {
            "id": "cancel",
            "prompt": "Cancel B-04.",
            "expected": {
                "tool_calls": [
                    {"tool": "cancel_order", "arguments": {"order": "B-04", "reason": "late"}, "success": False}
                ]
            },
        },
        {
            "id": "list",
            "prompt": "List them, please",
            "expected": {"tool_calls": [{"tool": "list_orders", "success": True}], "must_say_any": ["two orders"]},
        },
        {
            "id": "hello",
            "prompt": "Hello there",
            "expected": {"tool_calls_none": ["lookup_order"], "max_tool_calls": 0, "must_not_say": ["shipped"]},
        },
        {"id": "no-tool", "prompt": "Hello there", "expected": {"outcome": "tool_success"}},
        {
            "id": "two-turns",
            "setup_prompts": ["Where is A-17?"],
            "prompt": "List them, please",
            "expected": {"tool_calls": [{"tool": "list_orders"}], "tool_calls_none": ["lookup_order"]},
        },
        {"id": "crash", "prompt": "crash", "expected": {"tool_calls_none": ["lookup_order"]}},
    ],
}
VERDICTS = {
    "where": "PASS",
    "wrong-arguments": "FAIL",
    "forbidden": "FAIL",
    "cancel": "PASS",
    "list": "PASS",
    "hello": "PASS",
    "no-tool": "FAIL",
    "two-turns": "PASS",
}


class Ran(Protocol):
    """A case, and what was seen of it."""

    @property
    def case(self) -> Case: ...

    @property
    def trace(self) -> Trace: ...


class Judged(NamedTuple):
    """A case, what was seen of it, and what that decides."""

    case: Case
    trace: Trace
    verdict: Verdict


def tool_log(file: Path) -> dict[str, list[dict[str, Any]]]:
    """What the tools themselves wrote, by case."""
    calls: dict[str, list[dict[str, Any]]] = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        entry = json.loads(line)
        calls.setdefault(entry["case"], []).append(entry)
    return calls


def judged_by_the_log(run: Ran, log: list[dict[str, Any]]) -> str:
    """The status that a case has where nothing but the log of the tools says what they did, and that says all."""
    calls = [
        ToolCall(name, arguments, success=succeeds, result={} if succeeds else None)
        for name, arguments, succeeds in logged(run, log)
    ]
    known = structs.replace(run.trace, tool_calls=tuple(calls), unobserved={}, possible_calls=(), spans=())
    return str(carob.judge(run.case, known).status)


def logged(run: Ran, log: list[dict[str, Any]]) -> list[tuple[str, object, bool | None]]:
    """The calls of the judged turn, as the tools wrote them."""
    judged = len(run.case.setup_prompts) + 1
    return [(entry["tool"], entry["arguments"], entry["success"]) for entry in log if entry["turn"] == judged]


def told(run: Ran) -> list[tuple[str, object, bool | None]]:
    """The calls of the judged turn, as its spans tell them."""
    return [(call.name, call.arguments or {}, call.success) for call in run.trace.tool_calls if call.called]
