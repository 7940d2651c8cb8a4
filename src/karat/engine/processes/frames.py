"""Messages over a socket: a length, then that many bytes."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from time import monotonic
from typing import cast

LENGTH = struct.Struct("!I")
HOLD = 0.004
"""A message that follows another this soon waits for the end of the event loop's turn: several then share a write."""


class Frames(asyncio.Protocol):
    """Calls `received` with each whole message and `lost` when the other side is gone."""

    def __init__(self, received: Callable[[bytes], None], lost: Callable[[], None]) -> None:
        self._received = received
        self._lost = lost
        self._rest = bytearray()
        """The beginning of a message, and how many bytes there must be until more of it is known."""
        self._wanted = 0
        self._held: list[bytes] = []
        self._flushed = 0.0
        self._transport: asyncio.Transport | None = None

    def send(self, payload: bytes) -> None:
        self._held += (LENGTH.pack(len(payload)), payload)
        if monotonic() - self._flushed > HOLD:
            self.flush()
        elif len(self._held) == 2:
            asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        self._flushed = monotonic()
        if self._held and self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(self._held))
        self._held.clear()

    def close(self) -> None:
        self.flush()
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._rest:
            self._rest += data
            if len(self._rest) < self._wanted:
                return
            data = bytes(self._rest)
        start, size = 0, len(data)
        while True:
            begin = start + LENGTH.size
            end = begin + LENGTH.unpack_from(data, start)[0] if begin <= size else begin
            if end > size:
                break
            self._received(data[begin:end])
            start = end
        self._rest, self._wanted = bytearray(data[start:]), end - start

    def connection_lost(self, error: Exception | None) -> None:
        self._lost()
