"""The channel to a worker: messages both ways, its last words, and the end of what it prints."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from karat.engine.processes.frames import Frames
from karat.engine.processes.messages import Begun, Finished, Ready, Refused, Returned, for_runner
from karat.engine.processes.process import OurEnds

TAIL = 4096


class Garbled(NamedTuple):
    """Something that came over the channel and is no message."""

    why: str


Heard = Ready | Refused | Begun | Finished | Returned | Garbled


class Channel:
    """Hands each message to `heard`, and calls `closed` as soon as one of its two ends is: `is_over` when both are."""

    def __init__(self, heard: Callable[[Heard], None], closed: Callable[[], None]) -> None:
        self._heard = heard
        self._closed = closed
        self._open_ends = 0
        self._messages: Frames | None = None
        self._pipes: list[asyncio.BaseTransport] = []
        self._tail = _Tail()

    async def open(self, ends: OurEnds) -> None:
        self._open_ends = 2
        loop = asyncio.get_running_loop()
        _, self._messages = await loop.create_connection(self._frames, sock=ends.messages)
        await self._listen(ends.words, self._frames())
        await self._listen(ends.printed, self._tail)

    def send(self, payload: bytes) -> None:
        assert self._messages is not None
        self._messages.send(payload)

    def hang_up(self) -> None:
        """Say no more: a worker that hears this ends by itself."""
        if self._messages is not None:
            self._messages.close()

    def close(self) -> None:
        """Hear no more."""
        for pipe in self._pipes:
            pipe.close()

    @property
    def is_over(self) -> bool:
        """Whether all was heard that there is to hear."""
        return self._open_ends == 0

    @property
    def printed(self) -> str:
        return self._tail.text

    def _frames(self) -> Frames:
        return Frames(self._received, self._lost)

    async def _listen(self, fd: int, protocol: asyncio.Protocol) -> None:
        pipe, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(fd, "rb", 0))
        self._pipes.append(pipe)

    def _received(self, payload: bytes) -> None:
        try:
            message = for_runner(payload)
        except msgspec.DecodeError as error:
            self._heard(Garbled(str(error)))
        else:
            self._heard(message)

    def _lost(self) -> None:
        self._open_ends -= 1
        self._closed()


class _Tail(asyncio.Protocol):
    """Keeps the end of what a worker prints, however much that is."""

    def __init__(self) -> None:
        self._kept: deque[bytes] = deque(maxlen=8)

    def data_received(self, data: bytes) -> None:
        self._kept.append(data[-TAIL:])

    @property
    def text(self) -> str:
        return b"".join(self._kept)[-TAIL:].decode(errors="replace")
