"""`http:` as carob.toml maps it: what is sent, what is read, what is unknown, and when a request is sent again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from carob.model.trace import Tokens
from carob.plugins.project import find_project
from carob.targets.base import RunContext, TargetError
from carob.targets.config import read_config, resolve
from targets.conftest import ask, case, opened

from .server import LAST, Asked, chunk, constantly, http, serving, sse, started

BODY = {"session": "{conversation.id}", "message": "{prompt}"}
CALLS = {
    "at": "$.data.steps[*]",
    "name": "$.tool",
    "arguments": "$.input",
    "result": "$.output",
    "error": "$.error",
}
STEPS = [
    {"tool": "lookup", "input": {"order": "A-17"}, "output": {"status": "open"}},
    {"tool": "refund", "input": '{"order": "A-17"}', "error": "not allowed"},
    {"tool": "wait"},
]


def answering(reply: Callable[[Asked], Any]) -> Any:
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(http(json.dumps(reply(asked))))

    return answer


async def test_an_answer_is_read_as_it_is_mapped() -> None:
    usage = {"input": "$.usage.in", "output": "$.usage.out", "cost": "$.usage.usd"}
    said = {"data": {"reply": "Done.", "steps": STEPS}, "usage": {"in": 7, "out": 3, "usd": 0.01}}
    options = {"body": BODY, "answer": "$.data.reply", "tool_calls": CALLS, "usage": usage}
    async with serving(answering(lambda _: said)) as server, opened(*server.target, options=options) as target:
        trace = await ask(target, "Refund A-17.")
    assert trace.final_message == "Done."
    assert [(call.name, call.arguments, call.success) for call in trace.tool_calls] == [
        ("lookup", {"order": "A-17"}, True),
        ("refund", {"order": "A-17"}, False),
        ("wait", None, None),
    ]
    assert (trace.tool_calls[0].result, trace.tool_calls[1].error) == ({"status": "open"}, "not allowed")
    assert trace.tool_calls[2].has_unknown_outcome
    assert trace.unobserved.keys() == {"telemetry", "state"}
    assert (trace.tokens, trace.metadata["cost_usd"]) == (Tokens(7, 3), 0.01)
    assert trace.duration_ms
    sent = server.asked[0]
    assert sent.json == {"session": trace.metadata["conversation"], "message": "Refund A-17."}
    assert sent.headers["traceparent"] == trace.metadata["traceparent"]
    assert sent.headers["baggage"] == f"carob.case=one/{trace.metadata['conversation']}"


@pytest.mark.parametrize(
    ("calls", "said", "unseen"),
    [
        pytest.param(None, {"steps": []}, "not mapped", id="not-mapped"),
        pytest.param({"at": "$.steps[*]", "name": "$.tool", "result": "$.r"}, {"steps": []}, None, id="none"),
        pytest.param(
            {"at": "$.stepz[*]", "name": "$.tool", "result": "$.r"}, {"steps": []}, "has nothing at", id="nowhere"
        ),
        pytest.param(
            {"at": "$.stepz[*]", "name": "$.tool", "result": "$.r", "absent": "none"},
            {"steps": []},
            None,
            id="left-out",
        ),
        pytest.param(
            {"at": "$.steps[*]", "name": "$.name", "result": "$.r"},
            {"steps": [{"tool": "x"}]},
            "no name",
            id="nameless",
        ),
        pytest.param({"at": "$..calls[*]", "name": "$.n", "result": "$.r"}, {"x": {"calls": []}}, None, id="anywhere"),
    ],
)
async def test_tools_that_were_not_seen_are_unknown(calls: Any, said: Any, unseen: str | None) -> None:
    options = {"body": BODY, "answer": "$.reply"} | ({"tool_calls": calls} if calls else {})
    answer = answering(lambda _: said | {"reply": "x"})
    async with serving(answer) as server, opened(*server.target, options=options) as target:
        why = (await ask(target, "hi")).unobserved.get("tools")
    assert (why is None) if unseen is None else (why is not None and unseen in why)


async def test_names_alone_say_nothing_of_results() -> None:
    options = {"body": BODY, "answer": "$.reply", "tool_calls": {"at": "$.used[*]", "name": "$.n"}}
    answer = answering(lambda _: {"reply": "x", "used": [{"n": "lookup"}]})
    async with serving(answer) as server, opened(*server.target, options=options) as target:
        trace = await ask(target, "hi")
    assert ([call.name for call in trace.tool_calls], "tool_results" in trace.unobserved) == (["lookup"], True)


async def test_turns_share_a_conversation_and_cases_do_not() -> None:
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        cookie = asked.headers.get("cookie", "")
        new_cookie = "" if cookie else f"k={len(server.asked)}"
        writer.write(
            http(
                json.dumps({"reply": cookie, "id": len(server.asked)}),
                **({"set_cookie": new_cookie} if new_cookie else {}),
            )
        )

    options = {"body": BODY | {"all": "{messages}"}, "answer": "$.reply", "conversation": {"id": "$.id"}}
    async with serving(answer) as server, opened(*server.target, options=options) as target:
        first = await target.run(case("two", setup_prompts=("one",)), RunContext())
        await ask(target, "three")
    bodies = [asked.json for asked in server.asked]
    assert [body.get("session") for body in bodies] == [None, "1", None]
    assert [asked.headers.get("cookie") for asked in server.asked] == [None, "k=1", None]
    assert first.final_message == "k=1"
    assert [message["content"] for message in bodies[1]["all"]] == ["one", "", "two"]
    assert len({asked.headers["traceparent"] for asked in server.asked}) == 3


async def test_cases_that_the_service_puts_in_one_conversation_are_reported() -> None:
    options = {"body": BODY, "answer": "$.reply", "conversation": {"id": "$.id"}}
    notices: list[list[str]] = []
    answer = constantly(http(json.dumps({"reply": "Hi.", "id": "s1"})))
    async with serving(answer) as server, opened(*server.target, options=options) as target:
        for name in ("one", "two"):
            context = RunContext()
            await target.run(case(name), context)
            notices.append(context.notices)
    assert notices[0] == []
    assert "the service named the conversation 's1', as in an earlier one" in notices[1][0]


TOLD = [{"text": "Let me "}, {"tool": {"name": "find", "input": {"q": 1}, "id": 7}}, {"text": "see."}]
RESULT = {"tool": {"name": "find", "id": 7, "output": "ok"}}


@pytest.mark.parametrize(
    ("form", "pieces"),
    [
        pytest.param("sse", [started(), sse(*TOLD), sse(RESULT, "[DONE]"), LAST], id="sse"),
        pytest.param("sse", [started(), sse(*TOLD, RESULT), chunk("data: [DONE]"), LAST], id="no-line-end"),
        pytest.param(
            "ndjson",
            [started("x"), *(chunk(json.dumps(item) + "\r\n") for item in [*TOLD, RESULT]), chunk('"[DONE]"'), LAST],
            id="ndjson",
        ),
    ],
)
async def test_a_stream_is_read_as_it_comes(form: str, pieces: list[bytes]) -> None:
    done = "[DONE]" if form == "sse" else '"[DONE]"'
    options = {"body": BODY, "stream": {"format": form, "text": "$.text", "tool": "$.tool", "done": done}}
    async with serving(constantly(*pieces)) as server, opened(*server.target, options=options) as target:
        trace = await ask(target, "hi")
    assert trace.final_message == "Let me see."
    assert [(call.name, call.arguments, call.result, call.success) for call in trace.tool_calls] == [
        ("find", {"q": 1}, "ok", True)
    ]
    assert 0 < trace.timings["first_token_ms"] <= (trace.duration_ms or 0)
    assert "tools" not in trace.unobserved


@pytest.mark.parametrize(
    ("refusal", "headers", "sent"),
    [
        pytest.param("503 Busy", {"retry_after": "0"}, 2, id="503-with-a-time"),
        pytest.param("429 Slow", {"retry_after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 2, id="429-with-a-date"),
        pytest.param("503 Busy", {}, 1, id="503-without"),
        pytest.param("500 Oops", {"retry_after": "0"}, 1, id="500"),
    ],
)
async def test_only_what_was_not_taken_is_sent_again(refusal: str, headers: dict[str, str], sent: int) -> None:
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        first = len(server.asked) == 1
        writer.write(http("no", status=refusal, **headers) if first else http('{"reply": "yes"}'))

    async with serving(answer) as server, opened(*server.target, options={"body": BODY, "answer": "$.reply"}) as target:
        if sent == 2:
            assert (await ask(target, "hi")).final_message == "yes"
        else:
            with pytest.raises(TargetError, match="answered 50"):
                await ask(target, "hi")
    assert len(server.asked) == sent


async def test_a_connection_that_is_refused_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async with serving(constantly()) as server:
        pass
    monkeypatch.setattr("carob.targets.http.service.asyncio.sleep", sleep)
    async with opened(*server.target, options={"body": BODY, "answer": "$.reply"}) as target:
        with pytest.raises(TargetError, match="refuses the connection") as caught:
            await ask(target, "hi")
    assert (caught.value.kind, waits) == ("gone", [0.2, 0.4])


async def test_a_redirect_on_the_same_host_is_followed_with_what_was_sent() -> None:
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        moved = http("", status="307 Temporary Redirect", location="/chat/")
        writer.write(http('{"reply": "here"}') if asked.path == "/chat/" else moved)

    async with serving(answer) as server, opened(*server.target, options={"body": BODY, "answer": "$.reply"}) as target:
        assert (await ask(target, "hi")).final_message == "here"
    assert [asked.json["message"] for asked in server.asked] == ["hi", "hi"]


async def test_statuses_that_are_no_failure_are_answers() -> None:
    options = {"body": BODY, "answer": "$.reply", "failure": {"status": [500, 502, 503]}}
    answer = constantly(http('{"reply": "I must not."}', status="422 Unprocessable"))
    async with serving(answer) as server, opened(*server.target, options=options) as target:
        assert (await ask(target, "hi")).final_message == "I must not."


async def test_plain_text_and_addresses_with_places() -> None:
    options = {"method": "GET", "headers": {"X-Case": "{case.id}"}}
    async with serving(constantly(http("fine", "text/plain"))) as server:
        kind, spec = server.target
        async with opened(kind, f"{spec}?q={{prompt}}", options=options) as target:
            assert (await ask(target, "a b&c=d")).final_message == "fine"
    assert (server.asked[0].method, server.asked[0].path) == ("GET", "/chat?q=a%20b%26c%3Dd")
    assert (server.asked[0].headers["x-case"], server.asked[0].body) == ("one", b"")


async def test_no_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    answer = constantly(http('{"reply": "direct"}'))
    async with serving(answer) as server, opened(*server.target, options={"body": BODY, "answer": "$.reply"}) as target:
        assert (await ask(target, "hi")).final_message == "direct"


TABLE = """
[targets.bot]
use = "http://127.0.0.1:9/chat"
headers = { Authorization = "Bearer ${BOT_KEY}" }
body = { message = "{prompt}" }
answer = "$.reply"
"""


@pytest.mark.parametrize(
    ("change", "line", "message"),
    [
        pytest.param(
            ('"{prompt}"', '"{promt}"'),
            5,
            "`body`: there is no placeholder {promt}. Did you mean 'prompt'? For the text itself, write {{promt}}.",
            id="placeholder",
        ),
        pytest.param(
            ("Bearer ${BOT_KEY}", "{country}"),
            4,
            "`headers`: there is no placeholder {country}. There are {prompt}, {messages}, {conversation.id} and "
            "{case.id}. For the text itself, write {{country}}.",
            id="placeholder-in-a-header",
        ),
        pytest.param(
            ("{prompt}", "{otlp}"),
            5,
            "`body`: there is no placeholder {otlp}. It needs telemetry = { otlp = true }. "
            "For the text itself, write {{otlp}}.",
            id="a-receiver-that-is-not-open",
        ),
        pytest.param(
            ("${BOT_KEY}", "${BOT-KEY}"),
            4,
            "`headers`: ${BOT-KEY} names no environment variable. Write it as ${NAME}.",
            id="no-variable",
        ),
        pytest.param(
            ('"$.reply"', '"$.re[ply"'),
            6,
            "`answer`: '$.re[ply' is not a JSONPath: unexpected token 'p' in bracketed selection. "
            "For instance: $.data.reply",
            id="path",
        ),
        pytest.param(
            ('answer = "$.reply"', '[targets.bot.tool_calls]\nat = "$.calls[*]"\nname = "tool"'),
            6,
            "`tool_calls`: 'tool' is not a JSONPath: expected '$', found 't'. Write $.tool",
            id="path-in-a-table",
        ),
        pytest.param(
            ("BOT_KEY", "NOT_SET"),
            4,
            "`headers`: the environment variable NOT_SET is not set. Set it before the run.",
            id="variable",
        ),
        pytest.param(
            ("answer =", "anwser ="),
            6,
            "unknown option 'anwser' of a target of kind 'http'. Did you mean 'answer'?",
            id="option",
        ),
        pytest.param(
            ("answer =", "max_concurency ="),
            6,
            "unknown option 'max_concurency' of a target of kind 'http'. Did you mean 'max_concurrency'?",
            id="shared-option",
        ),
        pytest.param(
            ('body = { message = "{prompt}" }', ""),
            3,
            "`body` is not set, so no request can be sent. Let `carob init --inspect http://127.0.0.1:9/chat"
            ' --write` find what it expects, or set body = { message = "{prompt}" } for it in carob.toml.',
            id="no-body",
        ),
        pytest.param(
            ("http://127.0.0.1:9/chat", "http:chat"),
            3,
            "'http:chat' is not the address of a service. Write it as 'http://127.0.0.1:8080/chat'.",
            id="no-address",
        ),
        pytest.param(
            ('answer = "$.reply"', 'stream = { format = "sze" }'),
            6,
            "Invalid enum value 'sze' - at `$.stream.format`, in the options of a target of kind 'http'.",
            id="format",
        ),
        pytest.param(
            ('answer = "$.reply"', 'stream = { format = "sse" }'),
            6,
            '`stream`: `text` is not set. Set text = "$.delta.text".',
            id="no-text",
        ),
        pytest.param(
            ('answer = "$.reply"', 'tool_calls = { at = "$.a" }'),
            6,
            '`tool_calls`: `name` is not set. Set name = "$.tool".',
            id="no-name",
        ),
        pytest.param(
            ('answer = "$.reply"', 'ca = "none.pem"'),
            6,
            "no client can be made: [Errno 2] No such file or directory. Check `ca` and `proxy`.",
            id="no-certificates",
        ),
    ],
)
async def test_what_cannot_be_followed_is_told_at_its_line(
    change: tuple[str, str], line: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from carob.errors import ConfigError
    from carob.targets.catalog import build

    monkeypatch.setenv("BOT_KEY", "very-secret")
    file = tmp_path / "carob.toml"
    file.write_text(TABLE.replace(*change))

    async def opened_and_closed() -> None:
        target = build(resolve("bot", read_config(find_project(tmp_path)), tmp_path))
        try:
            await target.open()
        finally:
            await target.close()  # whoever opens also closes, whatever came of it

    with pytest.raises(ConfigError) as caught:
        await opened_and_closed()
    assert str(caught.value).rpartition(" [")[0].removeprefix(f"{caught.value.where}: ") == message
    assert caught.value.where == f"{file}:{line}"


@pytest.mark.parametrize("status", ["500 Internal Server Error", "200 OK"])
async def test_a_connection_that_the_server_closed_is_not_used_again(status: str) -> None:
    """Some servers close a connection after an answer without saying so."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(http(json.dumps({"reply": asked.json["message"]}), status=status))
        await writer.drain()
        asyncio.get_running_loop().call_later(0.05, writer.close)

    async with serving(answer) as server, opened(*server.target, options={"body": BODY, "answer": "$.reply"}) as target:
        for prompt in ("one", "two", "three"):
            if status.startswith("200"):
                assert (await ask(target, prompt)).final_message == prompt
            else:
                with pytest.raises(TargetError, match="500"):
                    await ask(target, prompt)
