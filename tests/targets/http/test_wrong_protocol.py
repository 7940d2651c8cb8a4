"""A preset before a service that speaks another protocol: told once, at its line, and the run ends there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from carob.targets.base import DENIED, TargetError
from targets.conftest import ask, opened

from .desk import COUNTERPARTS, HERE, RECORDINGS, Counterpart
from .server import LAST, Asked, chunk, constantly, http, serving, started

PROTOCOLS = {f"{part.kind} {part.options.get('api', '')}".strip(): part for part in reversed(COUNTERPARTS)}
"""One counterpart for each."""


@asynccontextmanager
async def speaking(spoken: Counterpart) -> AsyncIterator[str]:
    """A service that says, to whatever it is asked, what the real one said."""
    first = json.loads((RECORDINGS / f"{spoken.name}.json").read_text())["right"][0]

    async def answer(_: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(started(first["type"], f"{first['status']} As Told") + chunk(first["body"].encode()) + LAST)

    async with serving(answer) as server:
        yield server.url.removesuffix("/chat")


@pytest.mark.parametrize("name", PROTOCOLS)
async def test_what_another_protocol_says_is_no_answer(name: str) -> None:
    asked, others = PROTOCOLS[name], [other for other in PROTOCOLS if other != name]
    messages = {}
    for other in others:
        async with (
            speaking(PROTOCOLS[other]) as address,
            opened(asked.kind, address + asked.path, HERE, options=asked.options) as target,
        ):
            with pytest.raises(TargetError) as caught:
                await ask(target, "hello")
            messages[other] = (caught.value.kind, caught.value.message.rpartition(": ")[2])
    assert messages == dict.fromkeys(others, (DENIED, "check the address and the kind in `use`"))


@pytest.mark.parametrize(
    ("kind", "options"), [("http", {"body": {"m": "{prompt}"}, "answer": "$.a"}), ("a2a", {"stream": False})]
)
async def test_a_stream_that_nobody_said_how_to_read(kind: str, options: dict[str, object]) -> None:
    async with speaking(PROTOCOLS["ag-ui"]) as address, opened(kind, address, options=options) as target:
        with pytest.raises(TargetError) as caught:
            await ask(target, "hello")
    message = "the answer is a stream of events: set `stream` to say how to read it"
    assert (caught.value.kind, caught.value.message) == (DENIED, message)


@pytest.mark.parametrize("name", PROTOCOLS)
async def test_a_page_is_no_protocol(name: str) -> None:
    asked = PROTOCOLS[name]
    async with serving(constantly(http("<html>Sign in</html>", "text/html"))) as server:
        address = server.url.removesuffix("/chat") + asked.path
        async with opened(asked.kind, address, HERE, options=asked.options) as target:
            with pytest.raises(TargetError) as caught:
                await ask(target, "hello")
    message = "the answer is text/html, not a stream of sse: check the address and the kind in `use`"
    assert (caught.value.kind, caught.value.message) == (DENIED, message)
    assert caught.value.detail == "received: <html>Sign in</html>"
