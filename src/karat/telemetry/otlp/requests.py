"""One request of HTTP/1.1 from a connection, bounded in every part."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator
from contextlib import suppress

from msgspec import Struct

HEAD_CAP = 1 << 16
BODY_CAP = 32 << 20
"""Also of what a compressed body becomes."""
CHUNK = 1 << 16
PATIENCE = 2.0
IDLE = 120.0
"""Seconds in which nothing comes before a connection is closed."""


class RefusedRequest(Exception):
    """A request that is not served: the status that tells so, and why."""

    def __init__(self, status: str, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


class HttpRequest(Struct):
    """A request, whole."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""

    @property
    def keeps_alive(self) -> bool:
        return self.headers.get("connection", "").lower() != "close"


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> HttpRequest | None:
    """The next request of a connection, or None at its end. Raises RefusedRequest."""
    try:
        async with asyncio.timeout(IDLE):
            head = await reader.readuntil(b"\r\n\r\n")
            request = _head(head)
            if request.headers.get("expect", "").lower() == "100-continue":
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.body = await _body(reader, request.headers)
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise RefusedRequest("400 Bad Request", "a request broke off") from error
        return None
    except asyncio.LimitOverrunError as error:
        raise RefusedRequest("431 Request Header Fields Too Large", "a request has a head without end") from error
    except TimeoutError as error:
        raise RefusedRequest("408 Request Timeout", "a request did not come to an end") from error
    return request


async def let_finish(reader: asyncio.StreamReader) -> None:
    """Let who was refused send the rest, within bounds: cut off in the middle, it would not hear why."""
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            for _ in range(2 * BODY_CAP // CHUNK):
                if not await reader.read(CHUNK):
                    return


def unpacked(request: HttpRequest) -> bytes:
    """The body as it was before it was compressed. Raises RefusedRequest."""
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding == "identity":
        return request.body
    if encoding not in ("gzip", "deflate"):
        raise RefusedRequest("415 Unsupported Media Type", f"a request is encoded as {encoding[:40]!r}")
    inflate = zlib.decompressobj(47)  # gzip and zlib, by their own head
    try:
        body = inflate.decompress(request.body, BODY_CAP)
    except zlib.error as error:
        raise RefusedRequest("400 Bad Request", "a request cannot be unpacked") from error
    if inflate.unconsumed_tail:
        raise RefusedRequest("413 Content Too Large", f"a request unpacks to more than {BODY_CAP:,} bytes")
    if not inflate.eof:
        raise RefusedRequest("400 Bad Request", "a compressed request broke off")
    return body


def _head(head: bytes) -> HttpRequest:
    first, *lines = head.decode("latin-1").split("\r\n")
    method, _, rest = first.partition(" ")
    path, _, version = rest.rpartition(" ")
    if not version.startswith("HTTP/1."):
        raise RefusedRequest("400 Bad Request", "what came is no HTTP/1.1")
    pairs = (line.partition(":") for line in lines if line)
    return HttpRequest(method, path, {name.strip().lower(): value.strip() for name, _, value in pairs})


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return b"".join([chunk async for chunk in _chunks(reader)])
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdecimal()):
        raise RefusedRequest("400 Bad Request", "a request does not say how long it is")
    if int(length) > BODY_CAP:
        raise RefusedRequest("413 Content Too Large", f"a request has more than {BODY_CAP:,} bytes")
    try:
        return await reader.readexactly(int(length))
    except asyncio.IncompleteReadError as error:
        raise RefusedRequest("400 Bad Request", "a request broke off") from error


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    room = BODY_CAP
    while True:
        line = await reader.readuntil(b"\r\n")
        try:
            size = int(line.partition(b";")[0], 16)
        except ValueError as error:
            raise RefusedRequest("400 Bad Request", "a chunk does not say how long it is") from error
        room -= size
        if size < 0 or room < 0:
            raise RefusedRequest("413 Content Too Large", f"a request has more than {BODY_CAP:,} bytes")
        if size == 0:
            while (await reader.readuntil(b"\r\n")) != b"\r\n":
                continue
            return
        yield await reader.readexactly(size)
        await reader.readexactly(2)
