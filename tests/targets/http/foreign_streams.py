"""Streams as other people write them: one scripted desk agent, its turns in many shapes on the wire.

A turn is the same for all of them; each shape says how it is written, and how carob.toml maps it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from .server import LAST, Answer, Asked, chunk, http, started


class Step(NamedTuple):
    """Something that the agent does in a turn."""

    what: str
    id: str = ""
    name: str = ""
    value: Any = None


def turn(prompt: str) -> list[Step]:
    """What the agent does for a prompt."""
    order = "B-99" if "B-99" in prompt else "A-17"
    thought = Step("think", value="They ask about an order.")
    looked = [Step("call", "c1", "lookup_order", {"order": order})]
    looked += [
        Step("error", "c1", "lookup_order", "no such order")
        if order == "B-99"
        else Step("result", "c1", "lookup_order", {"state": "open", "total": 40})
    ]
    if "broken" in prompt:
        return [thought, Step("say", value="I am "), Step("fail", value="the model is down")]
    if "Hello" in prompt:
        return [*said("Hello! I can look up orders."), Step("end", value=(7, 3))]
    if "Refund" in prompt:
        paid = [
            Step("call", "c2", "issue_refund", {"order": order, "amount": 40}),
            Step("result", "c2", "issue_refund", {"paid": 40}),
        ]
        return [
            thought,
            *said("One moment. "),
            *looked,
            *paid,
            *said("I refunded 40 for order A-17."),
            Step("end", value=(9, 5)),
        ]
    answer = "I could not find order B-99." if order == "B-99" else "Order A-17 is open."
    return [thought, *looked, *said(answer), Step("end", value=(8, 4))]


def said(text: str) -> list[Step]:
    """Words in pieces."""
    return [Step("say", value=text[at : at + 7]) for at in range(0, len(text), 7)]


def halves(value: Any) -> tuple[str, str]:
    text = json.dumps(value)
    return text[: len(text) // 2], text[len(text) // 2 :]


def sse_bytes(events: Iterator[tuple[str, Any]]) -> bytes:
    return "".join(
        f"{f'event: {name}' + chr(10) if name else ''}data: {data if isinstance(data, str) else json.dumps(data)}\n\n"
        for name, data in events
    ).encode()


def lines(events: Iterator[Any]) -> bytes:
    return "".join(f"{json.dumps(event)}\n" for event in events).encode()


# -- the shapes


def flat(steps: list[Step]) -> Iterator[dict[str, Any]]:
    """Flat kinds, with ids."""
    for step in steps:
        match step.what:
            case "think":
                yield {"kind": "thought", "text": step.value}
            case "say":
                yield {"kind": "word", "text": step.value}
            case "call":
                yield {"kind": "act", "ref": step.id, "fn": step.name, "args": step.value}
            case "result":
                yield {"kind": "acted", "ref": step.id, "out": step.value}
            case "error":
                yield {"kind": "acted", "ref": step.id, "err": step.value}
            case "fail":
                yield {"kind": "oops", "why": step.value}
            case "end":
                yield {"kind": "bye", "spent": {"in": step.value[0], "out": step.value[1]}}


def nested(steps: list[Step]) -> Iterator[dict[str, Any]]:
    """Envelopes with a sequence number and a payload; results name the tool."""
    for number, step in enumerate(steps):
        payload: dict[str, Any]
        match step.what:
            case "think":
                payload = {"type": "reasoning", "body": {"content": step.value}}
            case "say":
                payload = {"type": "message.delta", "body": {"content": step.value}}
            case "call":
                payload = {"type": "tool.started", "body": {"tool": step.name, "input": step.value}}
            case "result":
                payload = {"type": "tool.finished", "body": {"tool": step.name, "output": step.value}}
            case "error":
                payload = {"type": "tool.finished", "body": {"tool": step.name, "error": step.value}}
            case "fail":
                payload = {"type": "run.failed", "body": {"message": step.value}}
            case _:
                payload = {
                    "type": "run.finished",
                    "body": {"usage": {"input_tokens": step.value[0], "output_tokens": step.value[1]}},
                }
        yield {"v": 1, "seq": number, "event": payload}


def named(steps: list[Step]) -> Iterator[tuple[str, Any]]:
    """SSE whose event names are the kinds, with plain text as data of words, and results without an id."""
    for step in steps:
        match step.what:
            case "think":
                yield "thinking", step.value
            case "say":
                yield "token", step.value
            case "call":
                yield "tool_call", {"name": step.name, "arguments": step.value}
            case "result":
                yield "tool_result", {"content": step.value}
            case "error":
                yield "tool_result", {"error": step.value}
            case "fail":
                yield "error", {"message": step.value}
            case "end":
                yield "usage", {"prompt_tokens": step.value[0], "completion_tokens": step.value[1]}
                yield "end", ""


def in_pieces(steps: list[Step]) -> Iterator[dict[str, Any]]:
    """Content blocks by number: arguments come as pieces of JSON."""
    block = 0
    for step in steps:
        match step.what:
            case "say":
                yield {"type": "block_delta", "index": 0, "delta": {"type": "text_delta", "text": step.value}}
            case "call":
                block += 1
                yield {
                    "type": "block_start",
                    "index": block,
                    "block": {"type": "tool_use", "id": step.id, "name": step.name, "input": {}},
                }
                for piece in halves(step.value):
                    yield {
                        "type": "block_delta",
                        "index": block,
                        "delta": {"type": "input_json_delta", "partial_json": piece},
                    }
                yield {"type": "block_stop", "index": block}
            case "result" | "error":
                yield {
                    "type": "tool_outcome",
                    "tool_use_id": step.id,
                    "is_error": step.what == "error",
                    step.what: step.value,
                }
            case "fail":
                yield {"type": "error", "error": {"message": step.value}}
            case "end":
                yield {"type": "message_stop", "usage": {"input_tokens": step.value[0], "output_tokens": step.value[1]}}


def deltas(steps: list[Step]) -> Iterator[list[dict[str, Any]]]:
    """Each event is an array of changes."""
    for step in steps:
        seen = {"op": "seen", "at": 1_700_000_000}
        match step.what:
            case "say":
                yield [{"op": "append", "value": step.value}, seen]
            case "call":
                yield [{"op": "invoke", "call": step.id, "tool": step.name, "with": step.value}, seen]
            case "result":
                yield [{"op": "resolve", "call": step.id, "value": step.value}, seen]
            case "error":
                yield [{"op": "resolve", "call": step.id, "error": step.value}, seen]
            case "fail":
                yield [{"op": "abort", "message": step.value}]
            case "end":
                yield [{"op": "close", "usage": {"tokens_in": step.value[0], "tokens_out": step.value[1]}}]


def in_parts(steps: list[Step]) -> Iterator[dict[str, Any]]:
    """Messages with parts, each known by its key alone, as one JSON array."""
    for step in steps:
        parts: list[dict[str, Any]]
        match step.what:
            case "say":
                parts = [{"text": step.value}]
            case "call":
                parts = [{"functionCall": {"id": step.id, "name": step.name, "args": step.value}}]
            case "result":
                parts = [{"functionResponse": {"id": step.id, "name": step.name, "response": {"output": step.value}}}]
            case "error":
                parts = [{"functionResponse": {"id": step.id, "name": step.name, "response": {"error": step.value}}}]
            case "fail":
                yield {"error": {"message": step.value}}
                return
            case "end":
                yield {
                    "turns": [{"content": {"parts": [{"text": ""}]}}],
                    "finished": True,
                    "usage": {"promptTokens": step.value[0], "completionTokens": step.value[1]},
                }
                return
            case _:
                continue
        yield {"turns": [{"content": {"role": "model", "parts": parts}}]}


def frames(steps: list[Step]) -> Iterator[str]:
    """Frames of a socket over HTTP: a code, and an array with a name and what belongs to it."""
    for step in steps:
        match step.what:
            case "think":
                yield "2"
            case "say":
                yield f"42{json.dumps(['chat:token', {'t': step.value}])}"
            case "call":
                yield f"42{json.dumps(['tool:start', {'id': step.id, 'tool': step.name, 'args': step.value}])}"
            case "result":
                yield f"42{json.dumps(['tool:end', {'id': step.id, 'result': step.value}])}"
            case "error":
                yield f"42{json.dumps(['tool:end', {'id': step.id, 'error': step.value}])}"
            case "fail":
                yield f"42{json.dumps(['chat:error', {'message': step.value}])}"
            case "end":
                yield f"42{json.dumps(['chat:done', {'usage': {'in': step.value[0], 'out': step.value[1]}}])}"


def chunked(steps: list[Step]) -> Iterator[dict[str, Any]]:
    """Completion chunks: calls in a list of deltas, by index; the tool's answer is a message of its own."""
    index = -1
    for step in steps:
        delta: dict[str, Any]
        match step.what:
            case "say":
                delta = {"content": step.value}
            case "call":
                index += 1
                first, second = halves(step.value)
                function = {"name": step.name, "arguments": first}
                yield {
                    "choices": [
                        {"index": 0, "delta": {"tool_calls": [{"index": index, "id": step.id, "function": function}]}}
                    ]
                }
                delta = {"tool_calls": [{"index": index, "function": {"arguments": second}}]}
            case "result" | "error":
                content = {"error": step.value} if step.what == "error" else step.value
                delta = {"role": "tool", "tool_call_id": step.id, "output": content}
            case "fail":
                yield {"error": {"message": step.value}}
                return
            case "end":
                delta = {}
                yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
                yield {"choices": [], "usage": {"prompt_tokens": step.value[0], "completion_tokens": step.value[1]}}
                return
            case _:
                continue
        yield {"choices": [{"index": 0, "delta": delta}]}


def states(steps: list[Step]) -> Iterator[dict[str, Any]]:
    """One kind for all of a tool, told apart by its state; the text so far in each event of words."""
    text = ""
    for step in steps:
        match step.what:
            case "think":
                yield {"channel": "analysis", "message": step.value}
            case "say":
                text += step.value
                yield {"channel": "final", "message": text}
            case "call":
                yield {
                    "channel": "tool",
                    "state": "running",
                    "call_id": step.id,
                    "tool_name": step.name,
                    "tool_input": step.value,
                }
            case "result":
                yield {
                    "channel": "tool",
                    "state": "succeeded",
                    "call_id": step.id,
                    "tool_name": step.name,
                    "tool_output": step.value,
                }
            case "error":
                yield {
                    "channel": "tool",
                    "state": "crashed",
                    "call_id": step.id,
                    "tool_name": step.name,
                    "error": step.value,
                }
            case "fail":
                yield {"channel": "fatal", "message": step.value}
            case "end":
                yield {"channel": "eos", "input_tokens": step.value[0], "output_tokens": step.value[1]}


class Shape(NamedTuple):
    """How a service writes its turns, and how carob.toml maps it by hand."""

    kind: str
    write: Callable[[list[Step]], bytes]
    options: dict[str, Any]


SHAPES = {
    "flat-kinds": Shape(
        "application/x-ndjson",
        lambda steps: lines(flat(steps)),
        {
            "stream": {
                "format": "ndjson",
                "text": {"when": {"kind": "word"}, "at": "$.text"},
                "tool": {"when": {"kind": "act"}, "id": "$.ref", "name": "$.fn", "arguments": "$.args"},
                "result": {"when": {"kind": "acted"}, "id": "$.ref", "result": "$.out", "error": "$.err"},
                "done": {"when": {"kind": "bye"}},
            },
            "usage": {"when": {"kind": "bye"}, "input": "$.spent.in", "output": "$.spent.out"},
            "failure": {"when": {"kind": "oops"}, "at": "$.why"},
        },
    ),
    "nested-envelopes": Shape(
        "text/event-stream",
        lambda steps: sse_bytes(("", event) for event in nested(steps)),
        {
            "stream": {
                "format": "sse",
                "text": {"when": {"$.event.type": "message.delta"}, "at": "$.event.body.content"},
                "tool": {
                    "when": "?@.event.type == 'tool.started'",
                    "at": "$.event.body",
                    "name": "$.tool",
                    "arguments": "$.input",
                },
                "result": {
                    "when": "?@.event.type == 'tool.finished'",
                    "at": "$.event.body",
                    "name": "$.tool",
                    "result": "$.output",
                    "error": "$.error",
                },
                "done": {"when": {"$.event.type": "run.finished"}},
            },
            "usage": {"input": "$.event.body.usage.input_tokens", "output": "$.event.body.usage.output_tokens"},
            "failure": {"when": {"$.event.type": "run.failed"}, "at": "$.event.body.message"},
        },
    ),
    "event-names": Shape(
        "text/event-stream",
        lambda steps: sse_bytes(named(steps)),
        {
            "stream": {
                "format": "sse",
                "text": {"when": "token", "raw": True},
                "tool": {"when": "tool_call", "name": "$.name", "arguments": "$.arguments"},
                "result": {"when": "tool_result", "result": "$.content", "error": "$.error"},
                "done": "end",
            },
            "usage": {"when": "usage", "input": "$.prompt_tokens", "output": "$.completion_tokens"},
            "failure": {"when": "error", "at": "$.message"},
        },
    ),
    "arguments-in-pieces": Shape(
        "text/event-stream",
        lambda steps: sse_bytes((event["type"], event) for event in in_pieces(steps)),
        {
            "stream": {
                "format": "sse",
                "text": {"when": {"$.delta.type": "text_delta"}, "at": "$.delta.text"},
                "tool": {
                    "when": ["block_start", {"$.block.type": "tool_use"}],
                    "id": ["$.block.id", "$.index"],
                    "name": "$.block.name",
                },
                "arguments": {
                    "when": {"$.delta.type": "input_json_delta"},
                    "id": "$.index",
                    "arguments": "$.delta.partial_json",
                },
                "result": {
                    "when": {"type": "tool_outcome"},
                    "id": "$.tool_use_id",
                    "result": "$.result",
                    "error": "$.error",
                },
                "done": "message_stop",
            },
            "usage": {"input": "$.usage.input_tokens", "output": "$.usage.output_tokens"},
            "failure": {"when": {"type": "error"}, "at": "$.error.message"},
        },
    ),
    "arrays-of-deltas": Shape(
        "text/plain",
        lambda steps: lines(deltas(steps)),
        {
            "stream": {
                "format": "ndjson",
                "each": "$[*]",
                "text": {"when": {"op": "append"}, "at": "$.value"},
                "tool": {"when": {"op": "invoke"}, "id": "$.call", "name": "$.tool", "arguments": "$.with"},
                "result": {"when": {"op": "resolve"}, "id": "$.call", "result": "$.value", "error": "$.error"},
                "done": {"when": "$[?@.op == 'close']"},
            },
            "usage": {"when": {"op": "close"}, "input": "$.usage.tokens_in", "output": "$.usage.tokens_out"},
            "failure": {"when": {"op": "abort"}, "at": "$.message"},
        },
    ),
    "messages-with-parts": Shape(
        "application/json",
        lambda steps: json.dumps(list(in_parts(steps))).encode(),
        {
            "stream": {
                "format": "json",
                "each": "$.turns[*].content.parts[*]",
                "text": "$.text",
                "tool": {"at": "$.functionCall", "id": "$.id", "name": "$.name", "arguments": "$.args"},
                "result": {
                    "at": "$.functionResponse",
                    "id": "$.id",
                    "result": "$.response.output",
                    "error": "$.response.error",
                },
                "done": "$.finished",
            },
            "usage": {"input": "$.usage.promptTokens", "output": "$.usage.completionTokens"},
            "failure": {"at": "$.error"},
        },
    ),
    "frames-of-a-socket": Shape(
        "text/plain",
        lambda steps: "".join(f"{frame}\n" for frame in frames(steps)).encode(),
        {
            "stream": {
                "format": "frames",
                "text": {"when": {"$[0]": "chat:token"}, "at": "$[1].t"},
                "tool": {
                    "when": {"$[0]": "tool:start"},
                    "at": "$[1]",
                    "id": "$.id",
                    "name": "$.tool",
                    "arguments": "$.args",
                },
                "result": {
                    "when": {"$[0]": "tool:end"},
                    "at": "$[1]",
                    "id": "$.id",
                    "result": "$.result",
                    "error": "$.error",
                },
                "done": {"when": {"$[0]": "chat:done"}},
            },
            "usage": {"input": "$[1].usage.in", "output": "$[1].usage.out"},
            "failure": {"when": {"$[0]": "chat:error"}, "at": "$[1].message"},
        },
    ),
    "completion-chunks": Shape(
        "text/event-stream",
        lambda steps: sse_bytes(("", event) for event in [*chunked(steps), "[DONE]"]),
        {
            "stream": {
                "format": "sse",
                "text": "$.choices[*].delta.content",
                "tool": {
                    "at": "$.choices[*].delta.tool_calls[?@.function.name]",
                    "id": "$['id','index']",
                    "name": "$.function.name",
                },
                "arguments": {
                    "at": "$.choices[*].delta.tool_calls[*]",
                    "id": "$.index",
                    "arguments": "$.function.arguments",
                },
                "result": {
                    "at": "$.choices[?@.delta.role == 'tool'].delta",
                    "id": "$.tool_call_id",
                    "result": "$.output",
                },
                "done": "[DONE]",
            },
            "usage": {"input": "$.usage.prompt_tokens", "output": "$.usage.completion_tokens"},
            "failure": {"at": "$.error"},
        },
    ),
    "states-of-a-tool": Shape(
        "application/jsonl",
        lambda steps: lines(states(steps)),
        {
            "stream": {
                "format": "ndjson",
                "text": {"when": {"channel": "final"}, "at": "$.message", "whole": True},
                "tool": {
                    "when": {"channel": "tool", "state": "running"},
                    "id": "$.call_id",
                    "name": "$.tool_name",
                    "arguments": "$.tool_input",
                },
                "result": {
                    "when": {"channel": "tool", "state": "succeeded"},
                    "id": "$.call_id",
                    "result": "$.tool_output",
                },
                "error": {"when": {"channel": "tool", "state": "crashed"}, "id": "$.call_id", "error": "$.error"},
                "done": {"when": {"channel": "eos"}},
            },
            "usage": {"input": "$.input_tokens", "output": "$.output_tokens"},
            "failure": {"when": {"channel": "fatal"}, "at": "$.message"},
        },
    ),
}


# -- shapes for `carob init --inspect` alone


def letters(steps: list[Step]) -> Iterator[dict[str, Any]]:
    """Keys and kinds that say nothing; a call that failed is a kind of its own."""
    keys = {"think": "r", "say": "m", "result": "y", "error": "z", "fail": "!"}
    for step in steps:
        match step.what:
            case "call":
                yield {"k": "x", "n": step.name, "a": step.value, "u": step.id}
            case "end":
                yield {"k": "q", "i": step.value[0], "o": step.value[1]}
            case what:
                yield {"k": keys[what], "v": step.value} | ({"u": step.id} if step.id else {})


def notified(steps: list[Step]) -> Iterator[dict[str, Any]]:
    """JSON-RPC notifications, with the kind deep inside."""
    for step in steps:
        update: dict[str, Any]
        match step.what:
            case "think" | "say":
                kind = "agent_message_chunk" if step.what == "say" else "agent_thought_chunk"
                update = {"update": kind, "content": {"type": "text", "text": step.value}}
            case "call":
                update = {"update": "tool_call", "toolCallId": step.id, "title": step.name, "rawInput": step.value}
            case "result" | "error":
                status = "completed" if step.what == "result" else "failed"
                update = {
                    "update": "tool_call_update",
                    "toolCallId": step.id,
                    "status": status,
                    "rawOutput": step.value,
                }
            case "fail":
                yield {"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": step.value}}
                return
            case _:
                yield {"jsonrpc": "2.0", "id": 1, "result": {"stopReason": "end_turn"}}
                return
        yield {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": update}}


def announced(steps: list[Step]) -> Iterator[dict[str, Any]]:
    """The first event names a model and all tools; whether a call failed is said next to its result."""
    yield {"type": "start", "model": "gpt-5-mini", "params": {"top_p": 1}, "tools": ["lookup_order", "issue_refund"]}
    for step in steps:
        match step.what:
            case "say":
                yield {"type": "content", "content": step.value}
            case "call":
                call = {"call_id": step.id, "name": step.name, "arguments": json.dumps(step.value)}
                yield {"type": "tool", "tool": call}
            case "result" | "error":
                text = json.dumps(step.value)
                out = {"call_id": step.id, "is_error": step.what == "error", "content": text}
                yield {"type": "tool_output", "tool": out}
            case "fail":
                yield {"type": "error", "error": step.value}
            case "end":
                yield {"type": "finish"}


def coded(steps: list[Step]) -> Iterator[str]:
    """Lines whose first letter is their kind."""
    for step in steps:
        match step.what:
            case "call":
                yield f"9:{json.dumps({'toolCallId': step.id, 'toolName': step.name, 'args': step.value})}"
            case "result" | "error":
                result = step.value if step.what == "result" else {"error": step.value}
                yield f"a:{json.dumps({'toolCallId': step.id, 'result': result})}"
            case "end":
                yield f"d:{json.dumps({'finishReason': 'stop'})}"
            case what:
                yield f"{ {'say': '0', 'think': 'g', 'fail': '3'}[what] }:{json.dumps(step.value)}"


ONLY_INSPECTED = {
    "letters": Shape("application/x-ndjson", lambda steps: lines(letters(steps)), {}),
    "notifications": Shape("application/x-ndjson", lambda steps: lines(notified(steps)), {}),
    "announced-tools": Shape("application/x-ndjson", lambda steps: lines(announced(steps)), {}),
    "coded-lines": Shape("text/plain", lambda steps: "".join(f"{one}\n" for one in coded(steps)).encode(), {}),
}


def service(shape: Shape, *, form: bool = False) -> Answer:
    """The desk agent with such a stream; it takes `{"message": ...}`, or a form with that field."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        try:
            prompt = parse_qs(asked.body.decode())["message"][0] if form else asked.json["message"]
        except (KeyError, ValueError, TypeError):
            writer.write(http('{"detail": "message is missing"}', status="422 Unprocessable"))
            return
        writer.write(started(shape.kind))
        data = shape.write(turn(prompt))
        for at in range(0, len(data), 100):
            writer.write(chunk(data[at : at + 100]))
        writer.write(LAST)

    return answer
