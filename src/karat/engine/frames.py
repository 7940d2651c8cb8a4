"""Messages over a socket: a length, then that many bytes."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from typing import cast

_LENGTH = struct.Struct("!I")


class Frames(asyncio.Protocol):
    """Calls `received` with each whole message and `lost` when the other side is gone."""

    def __init__(self, received: Callable[[bytes], None], lost: Callable[[], None]) -> None:
        self._received = received
        self._lost = lost
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None

    def send(self, payload: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(_LENGTH.pack(len(payload)) + payload)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer
        buffer += data
        start = 0
        while len(buffer) - start >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(buffer, start)
            end = start + _LENGTH.size + length
            if len(buffer) < end:
                break
            self._received(bytes(buffer[start + _LENGTH.size : end]))
            start = end
        del buffer[:start]

    def connection_lost(self, error: Exception | None) -> None:
        self._lost()
