"""A service that nobody described: what is guessed is proved by a turn before it is proposed."""

from __future__ import annotations

import asyncio
import json
import tomllib

import pytest

from karat.errors import ConfigError
from karat.inspections import services
from karat.inspections.services import inspect_service
from karat.targets.config import TargetConfig
from targets.http.server import LAST, Asked, constantly, http, serving, sse, started


def config(url: str, **options: object) -> TargetConfig:
    return TargetConfig(kind="http", spec=url, name="bot", options=options)


async def test_the_shape_of_request_and_answer_is_found() -> None:
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        body = asked.json
        if "question" not in body:
            writer.write(http('{"detail": "question is missing"}', status="422 Unprocessable"))
            return
        step = {"tool": "lookup", "input": {"q": 1}, "output": "ok"}
        writer.write(http(json.dumps({"session_id": "s1", "data": {"reply": "Hi.", "id": "x", "steps": [step]}})))

    async with serving(answer) as server:
        found = await inspect_service(config(server.url), "Hello?")
    assert found.trace is not None, found.problem
    assert (found.trace.final_message, [call.name for call in found.trace.tool_calls]) == ("Hi.", ["lookup"])
    assert tomllib.loads(found.toml)["targets"]["bot"] == {
        "use": server.url,
        "body": {"question": "{prompt}"},
        "answer": "$.data.reply",
        "tool_calls": {"at": "$.data.steps[*]", "name": "$.tool", "arguments": "$.input", "result": "$.output"},
        "conversation": {"id": "$.session_id"},
    }


async def test_a_stream_is_found() -> None:
    answer = constantly(started(), sse({"delta": {"text": "Hel"}}, {"delta": {"text": "lo"}}, "[DONE]"), LAST)
    async with serving(answer) as server:
        found = await inspect_service(config(server.url), "Hello?")
    assert found.trace is not None, found.problem
    assert found.trace.final_message == "Hello"
    assert found.table["stream"] == {"format": "sse", "text": "$.delta.text", "done": "[DONE]"}


async def test_what_takes_nothing_or_says_nothing_is_told() -> None:
    async with serving(constantly(http("no", status="400 Bad"))) as server:
        refused = await inspect_service(config(server.url), "Hello?")
    async with serving(constantly(http('{"n": 1}'))) as server:
        silent = await inspect_service(config(server.url), "Hello?")
    assert (refused.trace, silent.trace) == (None, None)
    assert refused.problem == "no usual shape of a request was taken: set `body`"
    assert silent.problem == "`answer` is not set; the response is an object with 'n': set `answer`"


async def test_what_comes_from_the_environment_is_sent_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOT_KEY", "very-secret")

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        key = asked.headers.get("authorization", "")
        writer.write(http(json.dumps({"reply": f"You are {key}."}), status="200 OK" if key else "401 No"))

    async with serving(answer) as server:
        named = config(server.url.partition(":")[2], headers={"Authorization": "Bearer ${BOT_KEY}"})
        found = await inspect_service(named, "Hello?")
    assert found.trace is not None, found.problem
    assert found.table["use"] == server.url
    assert found.table["headers"] == {"Authorization": "Bearer ${BOT_KEY}"}
    assert "very-secret" not in found.toml + str(found.sightings)
    monkeypatch.delenv("BOT_KEY")
    with pytest.raises(ConfigError) as caught:
        await inspect_service(named, "Hello?")
    assert str(caught.value) == ("the environment variable BOT_KEY is not set. Set it before the run. [bad-options]")


async def test_a_service_that_does_not_come_to_an_end_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "PATIENCE", 0.3)

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(started())
        await asyncio.sleep(60)

    async with serving(answer) as server:
        found = await inspect_service(config(server.url), "Hello?")
    assert found.problem == "no complete answer arrived within 0.3 s"
    assert [len(sighting.seen) for sighting in found.sightings] == [1], "what was taken is not sent in other shapes"


async def test_a_service_that_has_nothing_more_to_say_is_told() -> None:
    said = iter(['{"reply": "Hi."}'])

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(http(next(said, '{"reply": ""}')))

    async with serving(answer) as server:
        found = await inspect_service(config(server.url), "Hello?")
    assert found.trace is None
    assert found.problem == "the turn ended without a word and without a tool call"
