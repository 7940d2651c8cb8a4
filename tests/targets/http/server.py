"""A server of raw bytes on loopback: what it answers is whatever a test writes."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Asked:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Answer = Callable[[Asked, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Server:
    url: str
    asked: list[Asked] = field(default_factory=list)

    @property
    def target(self) -> tuple[str, str]:
        """Its kind and what follows the colon."""
        kind, _, spec = self.url.partition(":")
        return kind, spec


@asynccontextmanager
async def serving(answer: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    tasks: set[asyncio.Task[Any]] = set()
    server = Server("")

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while not writer.is_closing():
                    asked = await _read(reader)
                    server.asked.append(asked)
                    await answer(asked, writer)
                    await writer.drain()
        finally:
            writer.close()

    listening = await asyncio.start_server(talk, "127.0.0.1", 0, limit=1 << 20, ssl=tls)
    server.url = f"http{'s' if tls else ''}://127.0.0.1:{listening.sockets[0].getsockname()[1]}/chat"
    try:
        yield server
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:]) if name}
    return Asked(method, path, headers, await reader.readexactly(int(headers.get("content-length", 0))))


def http(body: bytes | str, kind: str = "application/json", status: str = "200 OK", **headers: str) -> bytes:
    """A whole answer."""
    data = body.encode() if isinstance(body, str) else body
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(data)}\r\n{more}\r\n".encode() + data


def started(kind: str = "text/event-stream", status: str = "200 OK") -> bytes:
    """The head of an answer that comes in chunks."""
    return f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n".encode()


def chunk(data: bytes | str) -> bytes:
    data = data.encode() if isinstance(data, str) else data
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


LAST = b"0\r\n\r\n"


def sse(*data: object) -> bytes:
    """Server-sent events as one chunk."""
    lines = (item if isinstance(item, str) else json.dumps(item) for item in data)
    return chunk("".join(f"data: {line}\n\n" for line in lines))


def constantly(*pieces: bytes) -> Answer:
    """The same answer to everybody."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)

    return answer


def then_closed(*pieces: bytes) -> Answer:
    """An answer, and the end of the connection."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
        await writer.drain()
        writer.close()

    return answer
