"""A small server on the loopback address, in threads of its own: what an agent blocks does not hold it up."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from karat.errors import ConfigError
from karat.telemetry.otlp.requests import Wire

HOST = "127.0.0.1"
MOST = 256
"""Connections at once; more than these are closed as they come."""


class LoopbackServer:
    """Serves each connection with one function, from `open` to `close`."""

    def __init__(self, serve: Callable[[Wire], None], name: str) -> None:
        self.port = 0
        self._serve = serve
        self._name = name
        self._listening: socket.socket | None = None
        self._accepting: threading.Thread | None = None
        self._connections: set[socket.socket] = set()

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
        self.port = listening.getsockname()[1]
        self._listening = listening
        self._accepting = threading.Thread(target=self._accept, args=(listening,), name=self._name, daemon=True)
        self._accepting.start()

    def close(self) -> None:
        """Close every connection; what is being served ends with it."""
        if self._listening is None or self._accepting is None:
            return
        for each in (self._listening, *self._connections):
            with suppress(OSError):  # the other side was faster
                each.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listening.close()
        self._listening = None

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return  # it was closed
            if len(self._connections) >= MOST:
                connection.close()
                continue
            self._connections.add(connection)
            threading.Thread(target=self._attend, args=(connection,), name=self._name, daemon=True).start()

    def _attend(self, connection: socket.socket) -> None:
        try:
            self._serve(Wire(connection))
        except OSError:
            return  # the other side went away
        finally:
            self._connections.discard(connection)
            connection.close()
