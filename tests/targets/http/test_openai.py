"""`openai:` against an endpoint of our own that is scripted, for what no offline server streams: tool calls."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from carob.errors import ConfigError
from carob.model.trace import Tokens
from carob.targets.base import RunContext, TargetError
from targets.conftest import ask, case, opened

from .server import LAST, Asked, http, serving, sse, started

TOOLS = '''
def weather(city: str, days: int = 1) -> dict:
    """The weather in a city.

    More of it.
    """
    if city == "Nowhere":
        raise ValueError("there is no such city")
    return {"sky": f"sunny in {city}"}


async def later(city: str) -> str:
    return f"later in {city}"
'''


def chat(asked: Asked, writer: asyncio.StreamWriter) -> None:
    """What the model says: it calls a tool for the weather, and then tells what it heard."""
    body = asked.json
    said = [message for message in body["messages"] if message["role"] == "user"][-1]["content"]
    last = body["messages"][-1]
    if said.startswith("weather") and (last["role"] != "tool" or said == "weather forever"):
        function = {"name": said.split()[1], "arguments": ""}
        pieces = ['{"city": ', f'"{said.split()[-1]}"}}']
        deltas: list[dict[str, Any]] = [
            {"role": "assistant", "content": None},
            {
                "tool_calls": [
                    {"index": 0, "id": f"call-{len(body['messages'])}", "type": "function", "function": function}
                ]
            },
            *({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces),
        ]
        finish = "tool_calls"
    else:
        texts = ["It is ", last["content"]] if last["role"] == "tool" else ["Hello ", f"{len(body['messages'])}"]
        deltas = [{"content": text} for text in texts]
        finish = "stop"
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    if not body.get("stream"):
        message = {"role": "assistant", "content": "".join(d.get("content") or "" for d in deltas)}
        whole = {"choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage}
        writer.write(http(json.dumps(whole)))
        return
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    ends = [
        {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
        {"choices": [], "usage": usage},
        "[DONE]",
    ]
    writer.write(started() + sse(*chunks, *ends) + LAST)


def responses(asked: Asked, writer: asyncio.StreamWriter) -> None:
    """The same, as responses."""
    items = asked.json["input"]
    last = items[-1]
    output: list[dict[str, Any]]
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {"status": "in_progress"}}]
    if last.get("role") == "user" and last["content"].startswith("weather"):
        arguments = json.dumps({"city": last["content"].split()[-1]})
        output = [{"type": "function_call", "call_id": "c1", "name": "weather", "arguments": arguments}]
        events.append({"type": "response.function_call_arguments.delta", "delta": arguments})
    else:
        text = f"It is {last['output']}" if last.get("type") == "function_call_output" else f"Hello {len(items)}"
        output = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}]
        events.append({"type": "response.output_text.delta", "delta": text})
    usage = {"input_tokens": 5, "output_tokens": 2}
    whole = {"status": "completed", "error": None, "output": output, "usage": usage}
    if not asked.json.get("stream"):
        writer.write(http(json.dumps(whole)))
        return
    writer.write(started() + sse(*events, {"type": "response.completed", "response": whole}) + LAST)


async def endpoint(asked: Asked, writer: asyncio.StreamWriter) -> None:
    (chat if asked.path == "/v1/chat/completions" else responses)(asked, writer)


def options(folder: Path, **more: Any) -> dict[str, Any]:
    (folder / "tools.py").write_text(TOOLS)
    return {"model": "scripted", "tools": {"weather": "tools.py:weather", "later": "python:tools.py:later"}, **more}


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_in_a_loop_functions_really_run(api: str, tmp_path: Path) -> None:
    settings = options(tmp_path, api=api, mode="loop", system="Be brief.")
    async with serving(endpoint) as server, opened("openai", _base(server.url), tmp_path, options=settings) as target:
        trace = await ask(target, "weather weather in Paris")
        failed = await ask(target, "weather weather in Nowhere")
    (call,) = trace.tool_calls
    assert (call.name, call.arguments, call.result) == ("weather", {"city": "Paris"}, {"sky": "sunny in Paris"})
    assert (call.success, call.started, trace.tokens) == (True, True, Tokens(10, 4))
    assert trace.final_message == 'It is {"sky":"sunny in Paris"}'
    assert (failed.tool_calls[0].success, failed.tool_calls[0].error) == (False, "ValueError: there is no such city")
    assert failed.final_message == "It is error: ValueError: there is no such city"
    first = server.asked[0].json
    offered = first["tools"][0]["function"] if api == "chat" else first["tools"][0]
    assert (offered["name"], offered["description"]) == ("weather", "The weather in a city.")
    assert offered["parameters"]["properties"] == {"city": {"type": "string"}, "days": {"type": "integer"}}
    assert offered["parameters"]["required"] == ["city"]
    assert (first["messages"][0]["content"] if api == "chat" else first["instructions"]) == "Be brief."


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_observed_calls_are_asked_for_and_no_more(api: str, tmp_path: Path) -> None:
    settings = options(tmp_path, api=api)
    async with serving(endpoint) as server, opened("openai", _base(server.url), tmp_path, options=settings) as target:
        trace = await ask(target, "weather weather in Paris")
    (call,) = trace.tool_calls
    assert (call.name, call.arguments, call.called, call.success) == ("weather", {"city": "Paris"}, False, None)
    assert (trace.final_message, len(server.asked)) == ("", 1)


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("stream", [True, False])
async def test_turns_are_told_again(api: str, stream: bool, tmp_path: Path) -> None:
    settings = options(tmp_path, api=api, stream=stream, parameters={"temperature": 0})
    async with serving(endpoint) as server, opened("openai", _base(server.url), tmp_path, options=settings) as target:
        trace = await target.run(case("two", setup_prompts=("one",)), RunContext())
    assert (trace.final_message, trace.tokens) == ("Hello 3", Tokens(5, 2))
    assert trace.timings["first_token_ms"] > 0
    assert server.asked[0].json["temperature"] == 0


async def test_other_tools_and_endless_ones(tmp_path: Path) -> None:
    settings = options(tmp_path, mode="loop", max_steps=3)
    async with serving(endpoint) as server, opened("openai", _base(server.url), tmp_path, options=settings) as target:
        unknown = await ask(target, "weather sms in Paris")
        assert [(call.name, call.called, call.error) for call in unknown.tool_calls] == [
            ("sms", False, "there is no such tool")
        ]
        assert (await ask(target, "weather later in Rome")).final_message == "It is later in Rome"
        assert (await ask(target, "weather forever")).ended_by == "step limit"


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        pytest.param(
            started() + sse({"choices": [{"delta": {"content": "a"}}]}) + LAST, "bad-answer", "cut off", id="torn"
        ),
        pytest.param(started() + sse({"error": {"message": "overloaded"}}) + LAST, "agent", "overloaded", id="error"),
        pytest.param(http('{"error": {"message": "no"}}'), "agent", "an error: no", id="error-in-200"),
        pytest.param(http('{"reply": "hi"}'), "denied", "not a chat completion", id="another-protocol"),
        pytest.param(http("{}", status="422 Unprocessable"), "denied", "422", id="not-understood"),
        pytest.param(started() + sse("[DONE]") + LAST, "bad-answer", "finish_reason", id="nothing"),
    ],
)
async def test_what_is_no_answer_is_an_error(answer: bytes, kind: str, message: str, tmp_path: Path) -> None:
    async def said(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)

    async with serving(said) as server, opened("openai", _base(server.url), tmp_path, options={"model": "m"}) as target:
        with pytest.raises(TargetError, match=message) as caught:
            await ask(target, "hi")
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        pytest.param({}, "`model` is not set", id="no-model"),
        pytest.param({"model": "m", "tools": {"x": "gone.py:x"}}, "`tools`: x: ", id="no-function"),
        pytest.param({"model": "m", "mode": "loop", "tools": {"x": {}}}, "no function to run", id="nothing-to-run"),
    ],
)
async def test_what_cannot_be_followed_is_told(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        async with opened("openai", "http://127.0.0.1:9/v1", tmp_path, options=settings):
            pass
    assert message in str(caught.value)


def _base(url: str) -> str:
    return url.replace("/chat", "/v1")
