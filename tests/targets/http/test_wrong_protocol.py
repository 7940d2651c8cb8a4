"""A preset before a service that speaks another protocol: told once, at its line, and the run ends there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from karat.targets.base import DENIED, TargetError
from targets.conftest import ask, opened

from .desk import COUNTERPARTS, HERE, RECORDINGS, Counterpart
from .server import LAST, Asked, chunk, serving, started

PRESETS = {part.name: part for part in COUNTERPARTS if part.name not in ("ag-ui-langgraph", "a2a-1.0-unary")}
A2A = {"a2a-1.0", "a2a-0.3"}
"""Their answers are told apart by their shape, whatever was asked for."""


@asynccontextmanager
async def speaking(spoken: Counterpart) -> AsyncIterator[str]:
    """A service that says, to whatever it is asked, what the real one said."""
    first = json.loads((RECORDINGS / f"{spoken.name}.json").read_text())["right"][0]

    async def answer(_: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(started(first["type"], f"{first['status']} As Told") + chunk(first["body"].encode()) + LAST)

    async with serving(answer) as server:
        yield server.url.removesuffix("/chat")


def others(name: str) -> list[str]:
    return [other for other in PRESETS if other != name and not {name, other} <= A2A]


@pytest.mark.parametrize("name", PRESETS)
async def test_what_another_protocol_says_is_no_answer(name: str) -> None:
    asked = PRESETS[name]
    told = {}
    for other in others(name):
        async with (
            speaking(PRESETS[other]) as address,
            opened(asked.kind, address + asked.path, HERE, options=asked.options) as target,
        ):
            with pytest.raises(TargetError) as caught:
                await ask(target, "hello")
            told[other] = (caught.value.kind, caught.value.message.rpartition(": ")[2])
    assert told == dict.fromkeys(others(name), (DENIED, "check the address and the kind in `use`"))
