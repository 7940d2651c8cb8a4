"""An order desk as a recording: a suite, the tools that it is offered, and what it did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cli.support import Carob, traces, write

SCHEMAS: dict[str, Any] = {
    "get_order": {
        "type": "object",
        "properties": {"order": {"type": "integer", "minimum": 1}, "detail": {"enum": ["short", "full"]}},
        "required": ["order"],
    },
    "issue_refund": {
        "type": "object",
        "properties": {"order": {"type": "integer"}, "reason": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
        "required": ["order"],
    },
    "cancel_order": {"type": "object", "properties": {"order": {"type": "integer"}}, "required": ["order"]},
}
ASKED_FOR = {
    "id": "asked-for",
    "why": "Pay money back only if the user asks for it.",
    "each": {"call": "issue_refund"},
    "needs": {"last_user": ["refund"]},
}
REFUND = {
    "id": "refund",
    "prompt": "Refund order 7.",
    "expected": {
        "tool_calls": [{"tool": "issue_refund", "arguments": {"order": 7}, "success": True}],
        "no_false_success": True,
    },
}
STATUS = {
    "id": "status",
    "prompt": "Where is order 8?",
    "expected": {"must_say_any": ["on its way"], "valid_arguments": True, "tool_calls_none": ["issue_refund"]},
}
SUITE: dict[str, Any] = {
    "carob": 1,
    "effects": {"issue_refund": ["refunded"], "cancel_order": ["cancelled"]},
    "rules": [ASKED_FOR],
    "cases": [REFUND, STATUS],
}


def call(name: str, success: bool | None = True, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments, **({} if success is None else {"success": success})}


def answer(text: str, *tool_calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"final_message": text, "tool_calls": list(tool_calls), **more}


ANSWERS = {
    # What is offered is known from the second conversation alone: the calls of the first count all the same.
    "refund": answer("I have refunded it.", call("get_order", order=7, detail="short"), call("issue_refund", order=7)),
    "status": answer("It is on its way.", call("get_order", order=1), tool_schemas=SCHEMAS),
}


def suite_with(*cases: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"carob": 1, "cases": list(cases), **more}


def case(expected: dict[str, Any], case_id: str = "A", **more: Any) -> dict[str, Any]:
    return {"id": case_id, "prompt": f"What of {case_id}?", "expected": expected, **more}


def record(carob: Carob, suite: dict[str, Any], answers: dict[str, Any]) -> str:
    """Write the suite, run it on the answers, and give the journal."""
    carob("run", write("suite.json", suite), "--target", traces(**answers), "--results-dir", "runs")
    (journal,) = Path("runs").glob("suite-*Z.jsonl")
    return str(journal)
