"""Servers that break every rule: each is an ERROR of its own case, told with what was received, and nothing more."""

from __future__ import annotations

import asyncio
import gzip
import json
import resource
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from carob.targets.base import RunContext, TargetError
from targets.conftest import case, opened

from .server import LAST, Answer, Asked, chunk, constantly, http, serving, sse, started, then_closed

MB = 1 << 20
BODY = {"message": "{prompt}"}
PLAIN: dict[str, Any] = {"body": BODY, "answer": "$.reply", "retries": 0}
STREAM: dict[str, Any] = {**PLAIN, "answer": "", "stream": {"format": "sse", "text": "$.text", "done": "[DONE]"}}
QUIET = {"idle_timeout": 1.0}
LINES = {**PLAIN, "answer": "", "stream": {"format": "ndjson", "text": "$.text", "done": "$.done"}}
SMALL = {"max_bytes": 65_536}
VALUES = {**PLAIN, **SMALL, "answer": "", "stream": {"format": "json", "text": "$.text"}}
FRAMES = {**PLAIN, **SMALL, "answer": "", "stream": {"format": "frames", "text": "$.text"}}
CHUNKS = {**PLAIN, "answer": "", "stream": {"format": "chunks"}}
GOOD = http('{"reply": "good"}')


def endless(head: bytes, piece: bytes, pause: float = 0.0) -> Answer:
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)

    return answer


def huge(make: Callable[[], bytes]) -> Answer:
    """An answer that is made when it is asked for."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await constantly(make())(asked, writer)

    return answer


def bomb(make: Callable[[bytes], bytes], name: str) -> Answer:
    return huge(lambda: http(make(b"0" * (64 * MB)), content_encoding=name))


async def silent(asked: Asked, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(3600)


async def reset(asked: Asked, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


class Hostile(NamedTuple):
    """How a server answers, how it is asked, and the error that this makes: its kind, and a part of its message."""

    answer: Answer
    options: dict[str, Any]
    kind: str
    message: str
    received: str = ""


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
DEEP = "[" * 100_000
SERVERS = {
    "html": Hostile(constantly(http("<html>login</html>", "text/html")), PLAIN, "bad-answer", "is HTML", "login"),
    "html-as-json": Hostile(constantly(http("<!doctype html>")), PLAIN, "bad-answer", "is HTML", "doctype"),
    "html-as-stream": Hostile(constantly(http("<html>", "text/html")), STREAM, "bad-answer", "text/html", "<html>"),
    "json-as-stream": Hostile(constantly(http('{"error": 1}')), STREAM, "bad-answer", "not a stream of sse", "error"),
    "no-json": Hostile(constantly(http("so sorry")), PLAIN, "bad-answer", "not valid JSON", "so sorry"),
    "half-json": Hostile(constantly(http('{"reply": "go')), PLAIN, "bad-answer", "not valid JSON", '"go'),
    "two-jsons": Hostile(constantly(http('{"reply": "a"}{"reply": "b"}')), PLAIN, "bad-answer", "not valid JSON"),
    "empty": Hostile(constantly(http("")), PLAIN, "bad-answer", "is empty", "nothing was received"),
    "no-content": Hostile(constantly(b"HTTP/1.1 204 No Content\r\n\r\n"), PLAIN, "bad-answer", "is empty"),
    "null": Hostile(constantly(http('{"reply": null}')), PLAIN, "bad-answer", "finds nothing"),
    "another-shape": Hostile(constantly(http('{"text": "hi"}')), PLAIN, "bad-answer", "with 'text'"),
    "a-list": Hostile(constantly(http("[1]")), PLAIN, "bad-answer", "a list"),
    "bad-utf8": Hostile(constantly(http(b'{"reply": "\xff\xfe"}')), PLAIN, "bad-answer", "not valid JSON", "�"),
    "bad-utf8-in-events": Hostile(
        constantly(started(), chunk(b'data: {"text": "\xff"}\n\n'), LAST), STREAM, "bad-answer", "cannot be read"
    ),
    "bad-utf8-in-chunks": Hostile(
        constantly(started("text/plain"), chunk(b"hi \xe2\x82"), LAST), CHUNKS, "bad-answer", "cannot be read"
    ),
    "duplicate-keys": Hostile(constantly(http('{"reply": "a", "reply": "b"}')), PLAIN, "bad-answer", "duplicate key"),
    "duplicate-keys-in-events": Hostile(
        constantly(started(), sse('{"text": "a", "text": "b"}', "[DONE]"), LAST), STREAM, "bad-answer", "duplicate key"
    ),
    "nan": Hostile(constantly(http('{"reply": "a", "score": NaN}')), PLAIN, "bad-answer", "not valid JSON", "NaN"),
    "infinity": Hostile(constantly(http('{"reply": "a", "score": -Infinity}')), PLAIN, "bad-answer", "not valid JSON"),
    "nan-next-to-a-lone-surrogate": Hostile(
        constantly(http('{"reply": "\\ud800", "score": NaN}')), PLAIN, "bad-answer", "NaN is not JSON"
    ),
    "nan-in-events": Hostile(
        constantly(started(), sse('{"text": "a", "p": NaN}', "[DONE]"), LAST), STREAM, "bad-answer", "not valid JSON"
    ),
    "deep": Hostile(constantly(http(DEEP)), PLAIN, "bad-answer", "recursion limit"),
    "50-mb": Hostile(huge(lambda: http(b'"' + b"x" * (50 * MB) + b'"')), PLAIN, "bad-answer", "over the limit"),
    "endless-body": Hostile(endless(started("application/json"), chunk("[" * 65536)), PLAIN, "bad-answer", "more than"),
    "gzip-bomb": Hostile(bomb(gzip.compress, "gzip"), PLAIN, "bad-answer", "more than 4,194,304"),
    "deflate-bomb": Hostile(bomb(zlib.compress, "deflate"), PLAIN, "bad-answer", "more than 4,194,304"),
    "no-gzip": Hostile(
        constantly(http("hello", content_encoding="gzip")), PLAIN, "bad-answer", "cannot be decompressed"
    ),
    "torn-gzip": Hostile(
        constantly(http(gzip.compress(b'{"reply": "' + bytes(range(32, 90)) * 9)[:60], content_encoding="gzip")),
        PLAIN,
        "bad-answer",
        "",
    ),
    "torn-body": Hostile(then_closed(HEAD + b"content-length: 99\r\n\r\n{"), PLAIN, "gone", "before the answer", "{"),
    "torn-stream": Hostile(then_closed(started(), sse({"text": "half"})), STREAM, "gone", "before the answer", "half"),
    "torn-event": Hostile(
        constantly(started(), chunk('data: {"text": "a"}\n\ndata: {"te'), LAST), STREAM, "bad-answer", "within an event"
    ),
    "stream-without-its-end": Hostile(
        constantly(started(), sse({"text": "half"}), LAST), STREAM, "bad-answer", "without '[DONE]'", "half"
    ),
    "lines-without-their-end": Hostile(
        constantly(started(), chunk('{"text": "a"}\n{"text"'), LAST), LINES, "bad-answer", "within an event"
    ),
    "stream-of-nothing": Hostile(constantly(started(), sse("[DONE]"), LAST), STREAM, "bad-answer", "no event has text"),
    "endless-stream": Hostile(
        endless(started(), sse(*[{"text": "x" * 1000}] * 100)), STREAM, "bad-answer", "more than 4,194,304"
    ),
    "endless-comments": Hostile(
        endless(started(), chunk(b": xxxxxx\n" * 9999)), STREAM, "bad-answer", "longer than 4,194,304"
    ),
    "endless-line": Hostile(endless(started(), chunk("x" * 65536)), LINES, "bad-answer", "longer than"),
    "endless-value": Hostile(endless(started("x"), chunk('{"a": ' * 9999)), VALUES, "bad-answer", "longer than 65,536"),
    "endless-array": Hostile(
        endless(started("x"), chunk('[{"a": 1}, ' * 9999)), VALUES, "bad-answer", "longer than 65,536"
    ),
    "torn-array": Hostile(
        constantly(started("x"), chunk('[{"text": "a"}, '), LAST), VALUES, "bad-answer", "within an event"
    ),
    "endless-frame": Hostile(endless(started("x"), chunk("0:" + "x" * 65536)), FRAMES, "bad-answer", "longer than"),
    "endless-unmapped-events": Hostile(
        endless(started(), sse(*({"kind": chr(97 + n) * 9999} for n in range(26)))),
        STREAM | SMALL,
        "bad-answer",
        "more than",
    ),
    "endless-calls": Hostile(
        endless(started(), sse(*({"tool": {"name": "x" * 999, "id": n}} for n in range(100)))),
        {**STREAM, **SMALL, "stream": STREAM["stream"] | {"tool": "$.tool"}},
        "bad-answer",
        "more than",
    ),
    "endless-arguments": Hostile(
        endless(started(), sse(*([{"tool": "x"}] + [{"more": "x" * 9999}] * 50))),
        {
            **STREAM,
            **SMALL,
            "stream": STREAM["stream"]
            | {
                "tool": {"when": "$.tool", "name": "$.tool"},
                "arguments": {"when": "$.more", "arguments": "$.more"},
            },
        },
        "bad-answer",
        "more than",
    ),
    "endless-event": Hostile(
        endless(started(), chunk("data: " + "x" * 65536 + "\n")), STREAM, "bad-answer", "longer than"
    ),
    "one-byte-at-a-time": Hostile(
        endless(started("application/json"), chunk("["), 0.02), PLAIN, "timeout", "took longer"
    ),
    "drip-of-events": Hostile(endless(started(), sse({"text": "."}), 0.02), STREAM, "timeout", "took longer"),
    "silent": Hostile(silent, PLAIN | QUIET, "timeout", "sent nothing for 1 s", "nothing was received"),
    "stuck-after-the-head": Hostile(constantly(started()), STREAM | QUIET, "timeout", "sent nothing"),
    "closed-at-once": Hostile(then_closed(), PLAIN, "gone", "broke before"),
    "reset": Hostile(reset, PLAIN, "gone", "broke before"),
    "no-http": Hostile(then_closed(b"SSH-2.0-OpenSSH_9.2\r\n"), PLAIN, "gone", "broke before"),
    "endless-headers": Hostile(endless(b"HTTP/1.1 200 OK\r\n", b"x: y\r\n" * 9999), PLAIN, "gone", "broke before"),
    "two-lengths": Hostile(
        constantly(HEAD + b"content-length: 1\r\ncontent-length: 9\r\n\r\n{"), PLAIN, "gone", "broke before"
    ),
    "another-host": Hostile(
        constantly(http("", status="307 Temporary Redirect", location="http://169.254.169.254/latest")),
        PLAIN,
        "bad-answer",
        "redirects to http://169.254.169.254",
    ),
    "another-scheme": Hostile(
        constantly(http("", status="308 Permanent Redirect", location="file:///etc/passwd")),
        PLAIN,
        "bad-answer",
        "file:",
    ),
    "an-impossible-port": Hostile(
        constantly(http("", status="307 Temporary Redirect", location="http://127.0.0.1:99999/")),
        PLAIN,
        "bad-answer",
        "redirects to http://127.0.0.1:99999/",
    ),
    **{
        f"leads-to-{to!r}": Hostile(
            constantly(http("", status="308 Permanent Redirect", location=to)),
            PLAIN,
            "bad-answer",
            f"redirects to {shown}",
        )
        for to, shown in {
            "http://[::1/": "http://[::1/",
            "http://127.0.0.1:0x50/": "http://127.0.0.1:0x50/",
            "javascript:alert(1)": "javascript:alert(1)",
            "http:chat": "http:chat",
            "/\x7f": "/\\x7f",
        }.items()
    },
    "moved": Hostile(constantly(http("", status="302 Found", location="/login")), PLAIN, "bad-answer", "to /login"),
    "in-circles": Hostile(
        constantly(http("", status="307 Temporary Redirect", location="/chat")), PLAIN, "bad-answer", "to /chat"
    ),
    "500": Hostile(constantly(http("boom", status="500 Oops")), PLAIN, "agent", "answered 500 Oops", "boom"),
    "500-in-a-stream": Hostile(constantly(http("boom", status="500 Oops")), STREAM, "agent", "answered 500", "boom"),
    "huge-500": Hostile(constantly(http("x" * (20 * MB), status="500 Oops")), PLAIN, "agent", "answered 500", "begin"),
    "429-for-an-hour": Hostile(
        constantly(http("", status="429 Too Many", retry_after="3600")), PLAIN | {"retries": 3}, "agent", "429"
    ),
    "401": Hostile(constantly(http("who?", status="401 Unauthorized")), PLAIN, "denied", "access denied", "who?"),
    "404": Hostile(constantly(http("", status="404 Not Found")), PLAIN, "denied", "404"),
    "failure-in-200": Hostile(
        constantly(http('{"error": {"message": "model down\x1b[31m"}}'.replace("\x1b", "\\u001b"))),
        PLAIN | {"failure": {"at": "$.error"}},
        "agent",
        "failure: model down\\x1b[31m",
    ),
    "failure-in-a-stream": Hostile(
        constantly(started(), sse({"text": "I th"}, {"error": "model down"}), LAST),
        STREAM | {"failure": {"at": "$.error"}},
        "agent",
        "failure: model down",
    ),
}


def test_there_are_servers_enough() -> None:
    assert len(SERVERS) >= 25


@pytest.mark.parametrize("name", SERVERS)
async def test_a_hostile_server_is_an_error(name: str) -> None:
    hostile = SERVERS[name]
    context = RunContext()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.json["message"] == "good":
            writer.write(GOOD if "stream" not in hostile.options else b"".join(_good(hostile.options)))
        else:
            await hostile.answer(asked, writer)

    async with serving(answer) as server:
        late = 2.0 if hostile.kind == "timeout" and "longer" in hostile.message else 60.0
        async with opened(*server.target, options=hostile.options, turn_timeout=late) as target:
            hit, other = await asyncio.gather(
                target.run(case("hostile"), context),
                target.run(case("good", "two"), RunContext()),
                return_exceptions=True,
            )
    assert isinstance(hit, TargetError), hit
    assert (hit.kind, hostile.message in hit.message) == (hostile.kind, True), (hit.kind, hit.message)
    assert hostile.received in hit.detail, hit.detail
    assert "\x1b" not in hit.message + hit.detail
    assert len(hit.message) < 1_000
    assert len(hit.detail) < 5_000
    assert other.final_message == "good", "another case was touched"  # type: ignore[union-attr]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 1024


def _good(options: dict[str, Any]) -> tuple[bytes, ...]:
    form = options["stream"]["format"]
    if form == "sse":
        return started(), sse({"text": "go"}, {"text": "od"}, "[DONE]"), LAST
    if form in ("ndjson", "json", "frames"):
        return started("application/x-ndjson"), chunk('{"text": "good"}\n{"done": true}\n'), LAST
    return started("text/plain"), chunk("good"), LAST


async def test_what_came_before_a_time_out_is_kept() -> None:
    context = RunContext()
    answer = endless(started(), sse({"text": "still here "}), 0.02)
    async with serving(answer) as server, opened(*server.target, options=STREAM, turn_timeout=0.5) as target:
        with pytest.raises(TargetError, match="took longer"):
            await target.run(case("hi"), context)
    assert context.recorder.final_message.startswith("still here still here")
    assert json.dumps("still here ") in context.recorder.messages[-1].content
