"""A service that nobody described: what is guessed is proved by a turn before it is proposed."""

from __future__ import annotations

import asyncio
import itertools
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from msgspec import structs

from carob.errors import ConfigError
from carob.features.setup.inspect import services
from carob.features.setup.inspect.catalog import target
from carob.features.setup.inspect.services import inspect_service
from carob.plugins.project import Project
from carob.targets.config import TargetConfig
from targets.http.server import LAST, Answer, Asked, constantly, http, serving, sse, started


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
        "body": {"question": "{prompt}", "session_id": "{conversation.id}"},
        "answer": "$.data.reply",
        "tool_calls": {
            "at": "$.data.steps[*]",
            "error": "$['error','err','errors','exception','exc','failure','error_message','errorMessage','errorText']",
            "name": "$.tool",
            "arguments": "$.input",
            "result": "$.output",
        },
        "conversation": {"id": "$.session_id"},
    }
    assert "both prompts were answered in one conversation" in str(found.sightings)


async def test_a_service_that_takes_the_id_of_a_conversation_is_sent_one() -> None:
    names: list[str] = []

    def reply(asked: Asked) -> str | None:
        names.append(asked.json.get("session_id") or "made by the service")
        return json.dumps({"reply": f"Re: {asked.json['message']}", "session_id": names[-1]})

    async with serving(answering(reply)) as server:
        found = await inspect_service(config(server.url), "Hello?")
    assert found.table["body"] == {"message": "{prompt}", "session_id": "{conversation.id}"}
    assert "conversation" not in found.table
    assert len({*names[-2:]}) == 2, "each proof is a conversation of its own"
    assert "both prompts" not in str(found.sightings)


async def test_a_service_that_refuses_the_id_of_a_conversation_names_its_own() -> None:
    count = itertools.count()

    def reply(asked: Asked) -> str | None:
        known = asked.json.keys() == {"message"}
        return json.dumps({"reply": f"Re: {asked.json['message']}", "session_id": f"s{next(count)}"}) if known else None

    async with serving(answering(reply)) as server:
        found = await inspect_service(config(server.url), "Hello?")
    assert (found.table["body"], found.table["conversation"]) == ({"message": "{prompt}"}, {"id": "$.session_id"})
    assert "both prompts" not in str(found.sightings)


async def test_a_stream_is_found() -> None:
    answer = constantly(started(), sse({"delta": {"text": "Hel"}}, {"delta": {"text": "lo"}}, "[DONE]"), LAST)
    async with serving(answer) as server:
        found = await inspect_service(config(server.url), "Hello?")
    assert found.trace is not None, found.problem
    assert found.trace.final_message == "Hello"
    assert found.table["stream"] == {"format": "sse", "text": "$.delta.text", "done": "[DONE]"}


def answering(reply: Callable[[Asked], str | None]) -> Answer:
    """A service that answers a POST in JSON, and refuses what it has no reply to."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        said = reply(asked) if asked.method == "POST" else None
        writer.write(http("no", status="422 No") if said is None else http(said))

    return answer


async def test_a_request_whose_prompt_is_not_read_is_not_taken_for_the_right_one() -> None:
    def reply(asked: Asked) -> str:
        return json.dumps({"reply": f"You said {asked.json.get('query', 'nothing')}."})

    async with serving(answering(reply)) as server:
        found = await inspect_service(config(server.url), "Hello?")
    assert found.table["body"] == {"query": "{prompt}"}
    assert "not proved" not in [what for what, _ in found.sightings]


async def test_a_service_that_always_says_the_same_is_proposed_and_not_proved() -> None:
    async with serving(answering(lambda _: '{"reply": "I am busy."}')) as server:
        found = await inspect_service(config(server.url), "Hello?")
    assert found.table["body"] == {"message": "{prompt}"}
    assert found.works
    assert "two different prompts got the same answer" in dict(found.sightings)["not proved"][0]


async def test_a_draft_that_the_second_answer_breaks_is_not_proposed() -> None:
    def reply(asked: Asked) -> str:
        first = asked.json.get("message") == "Hello?"
        return json.dumps({"reply": "Hi."} if first else {"out": {"words": "Bye."}})

    async with serving(answering(reply)) as server:
        found = await inspect_service(config(server.url), "Hello?")
    assert (found.trace, found.problem.startswith("`answer` $.reply finds nothing")) == (None, True)


async def test_a_second_prompt_that_is_refused_shows_how_the_service_says_so() -> None:
    def reply(asked: Asked) -> str:
        return json.dumps({"reply": "It is open."} if "A-17" in asked.json["message"] else {"error": "no order number"})

    async with serving(answering(reply)) as server:
        found = await inspect_service(config(server.url), "Where is A-17?")
    assert found.trace is not None, found.problem
    assert found.table["failure"] == {"at": "$.error"}
    assert "the service reports a failure: no order number" in str(found.sightings)


async def test_a_form_is_tried() -> None:
    def reply(asked: Asked) -> str | None:
        fields = parse_qs(asked.body.decode()) if "urlencoded" in asked.headers["content-type"] else {}
        return json.dumps({"reply": f"Re: {fields['question'][0]}"}) if "question" in fields else None

    async with serving(answering(reply)) as server:
        found = await inspect_service(config(server.url), "Hello?")
    assert found.trace is not None, found.problem
    assert (found.table["form"], found.trace.final_message) == ({"question": "{prompt}"}, "Re: Hello?")


TURN = {
    "type": "object",
    "required": ["utterance", "locale", "session_id"],
    "properties": {
        "utterance": {"type": "string"},
        "locale": {"enum": ["en", "de"]},
        "session_id": {"anyOf": [{"type": "null"}, {"type": "string"}]},
        "trace": {"type": "boolean"},
        "note": {"type": "string"},
    },
}
WRAPPED = {"type": "object", "required": ["turn"], "properties": {"turn": {"$ref": "#/components/schemas/Turn"}}}
FILLED = {"utterance": "{prompt}", "locale": "en", "session_id": "{conversation.id}"}


@pytest.mark.parametrize(
    ("kind", "schema", "options"),
    [
        pytest.param("application/json", WRAPPED, {"body": {"turn": FILLED}}, id="json"),
        pytest.param("application/x-www-form-urlencoded", TURN, {"form": FILLED}, id="form"),
        pytest.param(
            "multipart/form-data",
            {"$ref": "#/components/schemas/Turn"},
            {"form": FILLED, "headers": {"Content-Type": "multipart/form-data"}},
            id="multipart",
        ),
    ],
)
async def test_what_a_service_says_of_itself_is_read(kind: str, schema: Any, options: Any) -> None:
    operation = {"post": {"requestBody": {"content": {kind: {"schema": schema}}}}}
    document = {"openapi": "3.1.0", "paths": {"/chat": operation}, "components": {"schemas": {"Turn": TURN}}}

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.path == "/openapi.json":
            writer.write(http(json.dumps(document)))
        elif kind in asked.headers["content-type"] and b"locale" in asked.body:
            prompt = "Hello" if b"Hello" in asked.body else "else"
            writer.write(http(json.dumps({"reply": f"You said {prompt}."})))
        else:
            writer.write(http("{}", status="422 No"))

    async with serving(answer) as server:
        found = await inspect_service(config(server.url), "Hello?")
    assert found.trace is not None, found.problem
    assert {name: found.table[name] for name in ("body", "form", "headers") if name in found.table} == options
    assert [asked.path for asked in server.asked].count("/chat") == 4, "no other request was tried"


async def test_an_address_that_takes_no_prompt_shows_the_others() -> None:
    document = json.dumps({"paths": {"/ask": {"post": {}}, "/health": {"get": {}}}})
    async with serving(constantly(http(document, status="200 OK"))) as server:
        found = await inspect_service(config(server.url), "Hello?")
    assert dict(found.sightings)["/openapi.json"] == ("no prompt at /chat; POST is for /ask",)


async def test_calls_and_results_in_one_list_of_messages_are_found() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": 1}'}}

    def reply(asked: Asked) -> str:
        said = [
            {"role": "user", "content": asked.json["message"]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [call],
            },
            {"role": "tool", "tool_call_id": "c1", "content": '{"n": 2}'},
            {"role": "assistant", "content": f"Found 2 for {asked.json['message']}"},
        ]
        return json.dumps({"messages": said})

    async with serving(answering(reply)) as server:
        found = await inspect_service(config(server.url), "Hello?")
    assert found.trace is not None, found.problem
    (made,) = found.trace.tool_calls
    assert (made.name, made.arguments, made.result, made.success) == ("find", {"q": 1}, '{"n": 2}', True)
    calls = found.table["tool_calls"]
    assert isinstance(calls, dict)
    assert (calls["at"], calls["id"]) == ("$.messages[*].tool_calls[*]", "$.id")
    assert calls["results"]["at"] == "$.messages[?@.role == 'tool']"


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        pytest.param(
            [{"type": "alpha", "text": "One and"}, {"type": "beta", "text": "two and"}],
            "it may be $.text of 'alpha' or $.text of 'beta'",
            id="two-kinds-of-words",
        ),
        pytest.param([{"n": 1}, {"n": 2}], "no event is clearly the answer; set", id="no-words"),
        pytest.param(
            [{"v": "Hi"}, {"v": " you"}, {"v": {"x": 1}}],
            "it may be $.v",
            id="something-else-in-the-same-place",
        ),
    ],
)
async def test_what_is_not_clear_in_a_stream_is_not_guessed(events: list[Any], problem: str) -> None:
    async with serving(constantly(started(), sse(*events), LAST)) as server:
        found = await inspect_service(config(server.url), "Hello?")
    assert (found.trace, "stream" in found.table) == (None, False)
    assert problem in found.problem
    assert len(dict(found.sightings)["events"]) >= 1, "the kinds of events are listed all the same"


async def test_two_kinds_that_look_like_calls_are_not_guessed() -> None:
    said = [
        {"kind": "act", "name": "find_order", "args": {"q": 1}},
        {"kind": "delegate", "name": "ask_expert", "args": {"q": 2}},
        {"kind": "word", "text": "Done "},
    ]

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(started() + sse(*said, {"kind": "word", "text": f"for {asked.json['message']}"}) + LAST)

    async with serving(answer) as server:
        found = await inspect_service(config(server.url, body={"message": "{prompt}"}), "Hello?")
    assert found.trace is not None, found.problem
    assert "tool" not in found.table["stream"]  # type: ignore[operator]
    assert "'act' and 'delegate' look like tool calls" in dict(found.sightings)["not clear"][0]
    assert "tools" in found.trace.unobserved


async def test_what_takes_nothing_or_says_nothing_is_told() -> None:
    async with serving(constantly(http("no", status="400 Bad"))) as server:
        refused = await inspect_service(config(server.url), "Hello?")
    async with serving(constantly(http('{"n": 1}'))) as server:
        silent = await inspect_service(config(server.url), "Hello?")
    assert (refused.trace, silent.trace) == (None, None)
    assert refused.problem == "the service accepted none of the usual requests: set `body` or `form`"
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
        writer.write(http(next(said, '{"reply": ""}') if asked.method == "POST" else "{}"))

    async with serving(answer) as server:
        found = await inspect_service(config(server.url), "Hello?")
    assert found.trace is None
    assert found.problem == "the turn ended without any text and without a tool call"


@pytest.mark.parametrize(
    ("handler", "body"),
    [
        ("const last = req.body.messages[req.body.messages.length - 1];", {"messages": "{messages}"}),
        ("const { text, user } = req.body;", {"text": "{prompt}"}),
        ("const { question }: { question: string } = await req.json();", {"question": "{prompt}"}),
    ],
)
async def test_what_the_source_of_a_route_reads_is_sent_first(
    handler: str, body: dict[str, str], tmp_path: Path
) -> None:
    requests: list[dict[str, Any]] = []

    def reply(asked: Asked) -> str:
        if asked.method == "POST":
            requests.append(asked.json)
        return json.dumps({"reply": f"Re: {asked.json}" if asked.method == "POST" else "none"})

    others = 'app.post("/old", (req, res) => res.json(req.body.message));'
    route = f'app.post("/chat", (req, res) => {{ {handler} }});'
    (tmp_path / "package.json").write_text('{"dependencies": {"express": "4"}}')
    (tmp_path / "server.js").write_text(f'const express = require("express");\n{others}\n{route}\n{others}')
    async with serving(answering(reply)) as server:
        url = f"{server.url.rpartition('/')[0]}/chat"
        found = await inspect_service(structs.replace(config(url), folder=tmp_path), "Hello?")
    assert found.table["body"] == body
    assert {tuple(request) for request in requests} == {tuple(body)}, "anything else may end the service"


async def test_a_service_that_breaks_off_is_not_asked_again() -> None:
    posts = 0

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        nonlocal posts
        posts += asked.method == "POST"
        writer.close()

    async with serving(answer) as server:
        found = await inspect_service(config(server.url), "Hello?")
    assert posts <= 2, "once, and once more on another connection"
    assert "the service closed the connection, or ended, at body = " in found.problem
    assert "-o 'body=" in found.problem


def test_a_route_that_sends_ui_messages_is_spoken_to_as_one(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"dependencies": {"express": "4", "ai": "6"}}')
    route = 'app.post("/api/chat", (req, res) => streamText({}).pipeUIMessageStreamToResponse(res));'
    (tmp_path / "server.js").write_text(f'const express = require("express");\n{route}')
    project = Project(folder=str(tmp_path))
    assert target("http://127.0.0.1:9/api/chat", None, None, {}, project).kind == "ai-sdk"
    with pytest.raises(ConfigError, match="does not respond"):
        target("http://127.0.0.1:9/api/other", None, None, {}, project)
