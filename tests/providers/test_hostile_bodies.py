"""Requests and replies of any shape: what is not one of a model API is unread, and nothing breaks."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from carob.evidence.model_evidence import read_traffic
from carob.evidence.model_traffic import ModelTraffic
from carob.providers.base import EVENT_STREAM, ModelApi
from carob.providers.catalog import APIS

ODD: tuple[Any, ...] = (None, True, -1, 1e300, "", "x", [], {}, [None], [[]], [{}], {"type": 7}, {"name": ["x"]})
CALL = {"id": "c", "type": "function", "function": {"name": "pay", "arguments": '{"to": "Ann"}'}}
USED = {"type": "tool_use", "id": "c", "name": "pay", "input": {"to": "Ann"}}
ITEM = {"type": "function_call", "call_id": "c", "name": "pay", "arguments": "{}"}
PATHS = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "gemini": "/v1beta/models/m:generateContent",
    "ollama": "/api/chat",
    "bedrock": "/model/eu.amazon.nova-lite-v1%3A0/converse",
}
REQUESTS: dict[str, Any] = {
    "chat": {
        "messages": [
            {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
            {"role": "user", "content": "Pay."},
            {"role": "assistant", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c", "content": "paid"},
        ],
        "tools": [{"type": "function", "function": {"name": "pay", "parameters": {"type": "object"}}}],
    },
    "responses": {
        "input": [
            {"role": "user", "content": "Pay."},
            ITEM,
            {"type": "function_call_output", "call_id": "c", "output": "paid"},
        ],
        "tools": [{"type": "web_search"}],
    },
    "messages": {
        "messages": [
            {"role": "assistant", "content": [USED]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text"}]}]},
        ],
        "system": [{"type": "text", "text": "Be brief."}],
    },
    "gemini": {
        "contents": [
            {"role": "model", "parts": [{"functionCall": {"name": "pay", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "pay", "response": {"result": 1}}}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "pay", "parameters": {"type": "OBJECT"}}]}],
    },
    "ollama": {
        "model": "qwen3",
        "messages": [
            {"role": "user", "content": "Pay."},
            {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "pay", "arguments": {}}}]},
            {"role": "tool", "tool_name": "pay", "content": "paid"},
        ],
        "tools": [{"type": "function", "function": {"name": "pay", "parameters": {"type": "object"}}}],
    },
    "bedrock": {
        "messages": [
            {"role": "user", "content": [{"text": "Pay."}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c", "name": "pay", "input": {}}}]},
            {
                "role": "user",
                "content": [{"toolResult": {"toolUseId": "c", "content": [{"json": {"x": 1}}], "status": "success"}}],
            },
        ],
        "system": [{"text": "Be brief."}],
        "toolConfig": {"tools": [{"toolSpec": {"name": "pay", "inputSchema": {"json": {"type": "object"}}}}]},
    },
}
REPLIES: dict[str, Any] = {
    "chat": {
        "choices": [{"message": {"role": "assistant", "content": "Hi", "tool_calls": [CALL]}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    },
    "responses": {
        "status": "completed",
        "output": [ITEM, {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}],
        "usage": {"input_tokens": 1, "output_tokens": 2},
        "incomplete_details": {"reason": "x"},
    },
    "messages": {
        "content": [USED, {"type": "text", "text": "Hi"}, {"type": "server_tool_use", "id": "s", "name": "search"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 2},
    },
    "gemini": {
        "candidates": [
            {
                "content": {
                    "parts": [{"functionCall": {"name": "pay"}}, {"text": "Hi"}, {"executableCode": {"code": ""}}]
                },
                "finishReason": "STOP",
            }
        ],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2},
        "promptFeedback": {"blockReason": "x"},
    },
    "ollama": {
        "model": "qwen3",
        "message": {
            "role": "assistant",
            "content": "Hi",
            "tool_calls": [{"function": {"name": "pay", "arguments": {"to": "Ann"}}}],
        },
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": 1,
        "eval_count": 2,
    },
    "bedrock": {
        "output": {
            "message": {
                "role": "assistant",
                "content": [{"text": "Hi"}, {"toolUse": {"toolUseId": "c", "name": "pay", "input": {"to": "Ann"}}}],
            }
        },
        "stopReason": "tool_use",
        "usage": {"inputTokens": 1, "outputTokens": 2},
        "metrics": {"latencyMs": 1},
    },
}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(item, (*path, key))


def altered(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    if not path:
        return odd
    copied = copy.deepcopy(value)
    at = copied
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = odd
    return copied


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_any_shape_is_read_or_unread(api: ModelApi) -> None:
    request, reply, path = REQUESTS[api.name], REPLIES[api.name], PATHS[api.name]
    for body in [altered(request, place, odd) for place in places(request) for odd in ODD]:
        traffic = ModelTraffic()
        exchange = traffic.add_request("openai", path, msgspec.json.encode(body))
        if exchange is not None:
            traffic.add_reply(exchange, 200, msgspec.json.encode(reply), (), torn=False)
            read_traffic(traffic, traffic.exchanges, "Hi")
    for body in [altered(reply, place, odd) for place in places(reply) for odd in ODD]:
        traffic = ModelTraffic()
        exchange = traffic.add_request("openai", path, msgspec.json.encode(request))
        assert exchange is not None
        traffic.add_reply(exchange, 200, msgspec.json.encode(body), (), torn=False)
        read_traffic(traffic, traffic.exchanges, "Hi")


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_any_stream_is_read_or_unread(api: ModelApi) -> None:
    events = [data for _, data in api.split(REPLIES[api.name]) if isinstance(data, dict)]
    for number, event in enumerate(events):
        for odd in [altered(event, place, odd) for place in places(event) for odd in ODD[::3]]:
            written = [*events[:number], odd, *events[number + 1 :]]
            api.read_reply(b"", [f"data: {msgspec.json.encode(one).decode()}\n\n" for one in written])
    for torn in ("data: {", "data", "event: x\ndata: [1]", "data: [DONE]", "\n", ""):
        assert api.read_reply(b"", [torn]) is not None


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_a_reply_is_the_same_after_it_was_split_and_joined(api: ModelApi) -> None:
    reply = REPLIES[api.name]
    if api.stream_type == EVENT_STREAM:
        again = api.read_reply(b"", api.write_stream(reply))
    else:
        again = api.read_reply(api.write_body(reply), ())
    assert again == api.reply(reply)


@pytest.mark.parametrize(("name", "mark"), [("ollama", b'"done":true'), ("bedrock", b"messageStop")])
def test_a_stream_of_another_form_is_read_as_far_as_it_came(name: str, mark: bytes) -> None:
    api = next(api for api in APIS if api.name == name)
    whole = api.write_body(REPLIES[name])
    for end in range(whole.index(mark)):
        reply = api.read_reply(whole[:end], ())
        assert reply is None or reply.torn
    for at in range(len(whole)):
        for odd in (0, 0x7F, 0xFF):
            api.read_reply(whole[:at] + bytes([odd]) + whole[at + 1 :], ())
    torn = api.read_reply(whole[: whole.index(mark)], ())
    assert torn is not None
    assert (torn.text, torn.torn) == ("Hi", True)


def test_a_flood_of_calls_is_bounded_and_known_to_be() -> None:
    traffic = ModelTraffic()
    calls = [{"id": f"c{n}", "type": "function", "function": {"name": "pay", "arguments": "{}"}} for n in range(10_050)]
    body = {"choices": [{"message": {"tool_calls": calls}, "finish_reason": "tool_calls"}]}
    for _ in range(2):
        exchange = traffic.add_request("openai", PATHS["chat"], b'{"messages": []}')
        assert exchange is not None
        traffic.add_reply(exchange, 200, msgspec.json.encode(body), (), torn=False)
    assert len(traffic.calls) == 10_000
    assert "than there is room for" in read_traffic(traffic, traffic.exchanges, "").unproved
