"""ChatKit, and the AI SDK's data stream: what an answer is read as, and what breaks it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from carob.features.setup.library import ainspect
from carob.model.suite import Turn
from carob.model.trace import Tokens, Trace
from carob.targets.base import RunContext, TargetError
from targets.conftest import case, opened

from .server import constantly, http, serving


def item(id: str, text: str = "", **rest: Any) -> dict[str, Any]:
    return {"id": id, "type": "assistant_message", "content": [{"type": "output_text", "text": text}], **rest}


def delta(id: str, text: str) -> dict[str, Any]:
    update = {"type": "assistant_message.content_part.text_delta", "content_index": 0, "delta": text}
    return {"type": "thread.item.updated", "item_id": id, "update": update}


CREATED = {"type": "thread.created", "thread": {"id": "t1", "items": {"data": []}}}
ADDED = {"type": "thread.item.added", "item": item("a")}
DONE = {"type": "thread.item.done", "item": item("a", "Hello there.")}
CLIENT_CALL = {"id": "c", "type": "client_tool_call", "name": "say", "call_id": "1", "arguments": {"x": 1}}
OTHER = {"type": "thread.item.done", "item": item("b", "Bye.")}
REMOVED = {"type": "thread.item.removed", "item_id": "b"}
REPLACED = {"type": "thread.item.replaced", "item": item("a", "Sorry.")}
WIDGET = {"type": "thread.item.done", "item": {"id": "w", "type": "widget", "copy_text": "Cats"}}
NOTES = [{"type": "progress_update", "text": "x"}, {"type": "client_effect", "name": "e"}]
CHATKIT: list[tuple[str, list[dict[str, Any]], str]] = [
    ("streamed", [CREATED, ADDED, delta("a", "Hello "), delta("a", "there."), DONE], "Hello there."),
    ("at once", [CREATED, DONE], "Hello there."),
    ("the last message", [DONE, OTHER], "Bye."),
    ("replaced", [DONE, REPLACED], "Sorry."),
    ("removed", [DONE, OTHER, REMOVED], "Hello there."),
    ("a widget", [WIDGET], "Cats"),
    ("progress and effects", [*NOTES, DONE], "Hello there."),
]
BROKEN_CHATKIT = [
    ("an error", [CREATED, {"type": "error", "code": "custom", "message": "no model"}], "agent", "no model"),
    ("cut off", [CREATED, ADDED, delta("a", "Hel")], "bad-answer", "cut off"),
    ("nothing said", [CREATED], "bad-answer", "without any text"),
    ("another protocol", [{"type": "text-delta", "delta": "x"}], "config", "no event is of ChatKit"),
]
CALL = '9:{"toolCallId":"1","toolName":"look","args":{"n":1}}'
END = 'd:{"finishReason":"stop","usage":{"promptTokens":3,"completionTokens":2}}'
BEGINS, PIECE = 'b:{"toolCallId":"1","toolName":"look"}', 'c:{"toolCallId":"1","argsTextDelta":"{\\"n\\":1}"}'
RESULT = 'a:{"toolCallId":"1","result":{"ok":1}}'
DATA: list[tuple[str, list[str], str, list[bool | None]]] = [
    ("text", ['f:{"messageId":"m"}', '0:"Hel"', '0:"lo"', END], "Hello", []),
    ("a call", [CALL, RESULT, 'e:{"finishReason":"tool-calls"}', '0:"Done"', END], "Done", [True]),
    ("a call without a result", [CALL, '0:"Done"', END], "Done", [None]),
    ("in pieces", [BEGINS, PIECE, RESULT, '0:"x"', END], "x", [True]),
    ("the last step", ['0:"Let me see."', "e:{}", '0:"Yes."', END], "Yes.", []),
]
BROKEN_DATA = [
    ("an error", ['0:"Hel"', '3:"no model"'], "agent", "no model"),
    ("cut off", ['0:"Hel"'], "bad-answer", "cut off"),
    ("an ending that is an error", ['d:{"finishReason":"error"}'], "agent", "reason `error`"),
    ("another protocol", ['42["word",{}]', "43[]"], "config", "no event is of the AI SDK's data stream"),
]


def sse(events: Sequence[dict[str, Any]]) -> bytes:
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()


async def talk(kind: str, answer: bytes, *prompts: str, **options: Any) -> tuple[Trace, list[Any]]:
    """The trace of a conversation with a service that always answers the same, and what it was sent."""
    form = "text/event-stream" if answer.startswith(b"data:") else "text/plain"
    async with (
        serving(constantly(http(answer, form))) as server,
        opened(kind, server.url, options=options) as target,
    ):
        turns = tuple(Turn(prompt) for prompt in prompts)
        trace = await target.run(case(prompts[0] if prompts else "Hi", turns=turns), RunContext())
        return trace, [asked.json for asked in server.asked]


@pytest.mark.parametrize(("events", "said"), [pytest.param(*row[1:], id=row[0]) for row in CHATKIT])
async def test_chatkit(events: list[dict[str, Any]], said: str) -> None:
    trace, _ = await talk("chatkit", sse(events))
    assert (trace.final_message, trace.unobserved["tools"][:17]) == (said, "ChatKit shows no ")


async def test_a_call_for_the_client_was_asked_for_and_not_run() -> None:
    trace, _ = await talk("chatkit", sse([DONE, {"type": "thread.item.done", "item": CLIENT_CALL}]))
    assert [(call.name, call.arguments, call.started) for call in trace.tool_calls] == [("say", {"x": 1}, False)]


async def test_a_conversation_of_chatkit_is_one_thread() -> None:
    _, (first, second) = await talk("chatkit", sse([CREATED, DONE]), "Hi", "And?", metadata={"user": "u"})
    assert (first["type"], second["type"]) == ("threads.create", "threads.add_user_message")
    assert (second["params"]["thread_id"], second["metadata"]) == ("t1", {"user": "u"})
    assert second["params"]["input"]["content"] == [{"type": "input_text", "text": "And?"}]


@pytest.mark.parametrize(("lines", "said", "successes"), [pytest.param(*row[1:], id=row[0]) for row in DATA])
async def test_data_stream(lines: list[str], said: str, successes: list[bool | None]) -> None:
    trace, _ = await talk("ai-sdk", "\n".join(lines).encode(), stream="data")
    assert (trace.final_message, [call.success for call in trace.tool_calls]) == (said, successes)
    assert [call.arguments for call in trace.tool_calls] == [{"n": 1}] * len(successes)
    assert (trace.ended_by, trace.tokens) == ("itself", Tokens(3, 2))


async def test_a_conversation_of_the_data_stream_sends_what_was_said() -> None:
    _, (_, second) = await talk("ai-sdk", f'0:"Hello"\n{END}'.encode(), "Hi", "And?", stream="data", body={"k": 1})
    assert [(each["role"], each["content"]) for each in second["messages"]] == [
        ("user", "Hi"),
        ("assistant", "Hello"),
        ("user", "And?"),
    ]
    assert second["k"] == 1


BROKEN = [("chatkit", {}, name, sse(events), kind, says) for name, events, kind, says in BROKEN_CHATKIT] + [
    ("ai-sdk", {"stream": "data"}, name, "\n".join(lines).encode(), kind, says)
    for name, lines, kind, says in BROKEN_DATA
]


@pytest.mark.parametrize(
    ("target", "options", "answer", "kind", "says"), [pytest.param(*row[:2], *row[3:], id=row[2]) for row in BROKEN]
)
async def test_what_is_broken(target: str, options: dict[str, str], answer: bytes, kind: str, says: str) -> None:
    with pytest.raises(TargetError) as caught:
        await talk(target, answer, **options)
    assert says in str(caught.value)
    assert kind in (caught.value.kind, "config")


@pytest.mark.parametrize(
    ("answer", "heard"),
    [
        (sse([CREATED, DONE]), "ChatKit"),
        (
            sse([{"type": "start"}, {"type": "text-delta", "delta": "Hi"}, {"type": "finish"}]),
            "UI messages of the AI SDK",
        ),
        (b'0:"Hello"\nd:{"finishReason":"stop"}\n', "the data stream of the AI SDK before version 5"),
        (sse([{"type": "token", "text": "Hi"}, {"type": "done"}]), None),
        (b'0:"Hello"\n', None),
    ],
)
async def test_inspect_says_which_protocol_it_heard(answer: bytes, heard: str | None) -> None:
    form = "text/event-stream" if answer.startswith(b"data:") else "text/plain"
    async with serving(constantly(http(answer, form))) as server:
        found = await ainspect(server.url, kind="http", prompt=("Hi", "Ho"))
    said = [line for each in found.sightings if each.what == "heard" for line in each.seen]
    assert [line.partition(":")[0] for line in said] == ([heard] if heard else [])
    assert not heard or found.works
