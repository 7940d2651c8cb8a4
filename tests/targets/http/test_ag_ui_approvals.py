"""Approvals of AG-UI, on events as pydantic-ai 2.66 sends them: what is asked, how it is answered, what then runs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import carob
from targets.conftest import ask, opened

from .server import LAST, Asked, Server, constantly, serving, sse, started

SCHEMA = {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]}
PAY = {"id": "int-c1", "reason": "tool_call", "message": "Approve pay?", "toolCallId": "c1", "responseSchema": SCHEMA}
ROOM, GREEN = {"room": "Blue"}, {"room": "Green"}
EDIT = {"approved": True, "editedArgs": GREEN}
DENIED = "The tool call was denied."
CALL = [
    {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "pay"},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": '{"room": "Blue"}'},
    {"type": "TOOL_CALL_END", "toolCallId": "c1"},
]
HELD = {
    "id": "approved-first",
    "each": {"call": "pay", "success": True, "arguments": {"$as": "shown"}},
    "needs": {"before": {"approved": "pay", "arguments": {"$same": "shown"}}},
}
"""What ran was approved, with the arguments that it ran with."""


def approval(kind: str, arguments: Any = ROOM, tool: str = "pay") -> dict[str, Any]:
    return {"kind": kind, "tool": tool, "arguments": arguments}


def finished(*interrupts: Any) -> dict[str, Any]:
    outcome = {"type": "interrupt", "interrupts": list(interrupts)} if interrupts else {"type": "success"}
    return {"type": "RUN_FINISHED", "outcome": outcome}


def desk(asked: Asked) -> list[dict[str, Any]]:
    """What an agent sends that may not pay before a person agrees."""
    answers = asked.json.get("resume")
    if answers is None and asked.json["messages"][-1]["content"] == "hello":
        return [{"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hi."}, finished()]
    if answers is None:
        return [*CALL, finished(PAY)]
    agreed = answers[0]["payload"]["approved"]
    content = "paid" if agreed else answers[0]["payload"].get("reason", DENIED)
    result = {"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c1", "content": content}
    value = json.dumps({"pydantic_ai": {"outcome": "denied"}})
    note = {"type": "REASONING_ENCRYPTED_VALUE", "entityId": "r", "encryptedValue": value}
    return [
        result,
        *([] if agreed else [note]),
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Done."},
        finished(),
    ]


async def talk(folder: Path, *prompts: str | dict[str, Any]) -> tuple[carob.CaseRecord, Server]:
    """A conversation, held to the rule, and the requests of it."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(started() + sse({"type": "RUN_STARTED"}, *desk(asked)) + LAST)

    said = [{"prompt": prompt} if isinstance(prompt, str) else prompt for prompt in prompts]
    turns = [{**turn, "expected": {"outcome": "completed"}} for turn in said]
    suite = {"carob": 1, "rules": [HELD], "cases": [{"id": "a", "turns": turns}]}
    async with serving(answer) as server:
        [record] = await asyncio.to_thread(carob.run, suite, f"ag-ui:{server.url}", results_dir=folder, workers=0)
    return record, server


@pytest.mark.parametrize(
    ("answer", "sent", "decided", "calls", "rule"),
    [
        ("yes", {"approved": True}, approval("approved"), [ROOM], "passed"),
        ("true", {"approved": True}, approval("approved"), [ROOM], "passed"),
        (json.dumps(EDIT), EDIT, approval("approved", GREEN), [GREEN], "passed"),
        (json.dumps({"int-c1": EDIT}), EDIT, approval("approved", GREEN), [GREEN], "passed"),
        ("false", {"approved": False}, approval("denied"), [], "not_triggered"),
        ("too dear", {"approved": False, "reason": "too dear"}, approval("denied"), [], "not_triggered"),
        ({"approve": "pay"}, {"approved": True}, approval("approved"), [ROOM], "passed"),
        ({"edit": {"pay": GREEN}}, EDIT, approval("approved", GREEN), [GREEN], "passed"),
        ({"deny": ["*"]}, {"approved": False}, approval("denied"), [], "not_triggered"),
        ({"deny": {"pay": "yes"}}, {"approved": False, "reason": "yes"}, approval("denied"), [], "not_triggered"),
    ],
)
async def test_what_is_asked_and_decided(
    answer: str | dict[str, Any], sent: Any, decided: Any, calls: list[Any], rule: str, tmp_path: Path
) -> None:
    record, server = await talk(tmp_path, "pay", answer, "hello")
    first, second, third = record.trace.turns
    assert first.final_message == "Approve pay?"
    assert [(call.name, call.started, call.success) for call in first.tool_calls] == [("pay", False, None)]
    assert [turn.metadata["approvals"] for turn in record.trace.turns] == [[approval("asks_approval")], [decided], []]
    assert (
        [call.arguments for call in second.tool_calls if call.success]
        == calls
        == [c.arguments for c in second.tool_calls]
    )
    assert [check.status.value for check in record.verdict.checks if check.rule_id] == [rule]
    asked, resumed, further = (request.json for request in server.asked)
    assert "resume" not in asked
    assert resumed["resume"] == [{"interruptId": "int-c1", "status": "resolved", "payload": sent}]
    # the agent is given the call that waits, and no words in the place of the answer
    assert [message["role"] for message in resumed["messages"]] == ["user", "assistant"]
    assert [message["role"] for message in further["messages"]] == ["user", "assistant", "tool", "assistant", "user"]
    assert further["messages"][2]["content"] == ("paid" if calls else sent.get("reason", DENIED))
    assert "resume" not in further
    assert third.final_message == "Hi."


@pytest.mark.parametrize(
    ("content", "may_have_run"), [("paid", True), ("too dear", False), ('{"error": "not allowed"}', False)]
)
async def test_a_result_of_a_denied_call_is_no_proof_that_it_did_not_run(content: str, may_have_run: bool) -> None:
    result = {"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c1", "content": content}
    text = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Done."}
    runs = iter([[*CALL, finished(PAY)], [result, text, finished()]])

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(started() + sse({"type": "RUN_STARTED"}, *next(runs)) + LAST)

    async with serving(answer) as server, opened("ag-ui", server.url) as target:
        trace = await ask(target, "too dear", setup_prompts=("pay",))
    assert trace.tool_calls == ()
    assert [call.text for call in trace.possible_calls] == (["pay"] if may_have_run else [])


async def test_a_question_about_no_call_is_answered_as_it_is() -> None:
    """And an approval of it names no tool."""
    question = {"id": "q", "reason": "input_required", "message": "Which room?"}
    answers = iter([question, None])

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        waits = next(answers)
        words = [] if waits else [{"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Fine."}]
        writer.write(started() + sse({"type": "RUN_STARTED"}, *words, finished(*([waits] if waits else []))) + LAST)

    async with serving(answer) as server, opened("ag-ui", server.url) as target:
        trace = await ask(target, '{"room": "Blue"}', setup_prompts=("Book",))
    assert server.asked[1].json["resume"] == [{"interruptId": "q", "status": "resolved", "payload": ROOM}]
    assert (trace.final_message, trace.metadata["approvals"]) == ("Fine.", [])


async def test_an_older_agent_does_not_say_whether_it_asks() -> None:
    text = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hi."}
    answer = constantly(started(), sse({"type": "RUN_STARTED"}, text, {"type": "RUN_FINISHED"}), LAST)
    async with serving(answer) as server, opened("ag-ui", server.url) as target:
        assert "approvals" not in (await ask(target, "Hi")).metadata
