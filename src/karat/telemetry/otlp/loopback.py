"""A small server on the loopback address, with a thread and an event loop of its own: what an agent blocks is ours."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable

from karat.errors import ConfigError
from karat.telemetry.otlp.requests import HEAD_CAP

HOST = "127.0.0.1"
READ_AHEAD = 1 << 20
MOST = 256
"""Connections at once; more than these are closed as they come."""

Served = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class LoopbackServer:
    """Serves each connection with one coroutine, from `open` to `close`."""

    def __init__(self, serve: Served, name: str) -> None:
        self.port = 0
        self._serve = serve
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def open(self, port: int = 0) -> None:
        """Listen. Raises ConfigError if the port is taken."""
        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
            listening.listen(MOST)
        except OSError as error:
            listening.close()
            fix = "End what listens there, or let Karat choose a free port."
            raise ConfigError(
                f"{self._name} cannot listen at {HOST}:{port}: {error.strerror}.", fix=fix, slug="port-in-use"
            ) from error
        listening.setblocking(False)
        self.port = listening.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, args=(self._loop, listening), name=self._name, daemon=True)
        self._thread.start()

    def close(self) -> None:
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop = self._thread = None

    def _run(self, loop: asyncio.AbstractEventLoop, listening: socket.socket) -> None:
        asyncio.set_event_loop(loop)
        started = asyncio.start_server(self._connected, sock=listening, limit=max(HEAD_CAP, READ_AHEAD))
        server = loop.run_until_complete(started)
        try:
            loop.run_forever()
        finally:
            server.close()
            for task in self._connections:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*self._connections, return_exceptions=True))
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._connections) >= MOST:
            writer.close()
            return
        self._connections.add(task)
        try:
            await self._serve(reader, writer)
        except ConnectionError:
            return  # the other side went away
        finally:
            self._connections.discard(task)
            writer.close()
