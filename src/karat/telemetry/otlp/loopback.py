"""A small server on the loopback address, in threads of its own: what an agent blocks does not hold it up."""

from __future__ import annotations

import socket
import struct
import threading
import zlib
from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct

from karat.errors import ConfigError

HEAD_CAP = 1 << 16
BODY_CAP = 32 << 20
"""Also of what a compressed body becomes."""
CHUNK = 1 << 16
IDLE = 120
"""Seconds in which nothing comes before a connection is closed."""
PATIENCE = 2
BROKE_OFF = "a request broke off"


class RefusedRequest(Exception):
    """A request that is not served: the status that says so, and why."""

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


class Wire:
    """A connection in blocking mode: the kernel gathers a body, so a large one costs no more turns than a small."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._rest = b""
        self._patience(IDLE)

    def request(self) -> HttpRequest | None:
        """The next request, or None at the end of the connection. Raises RefusedRequest."""
        head = self._until(b"\r\n\r\n")
        if head is None:
            return None
        request = _head(head)
        if request.headers.get("expect", "").lower() == "100-continue":
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.body = self._body(request.headers)
        return request

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def let_finish(self) -> None:
        """Let who was refused send the rest, within bounds: cut off in the middle, it would not hear why."""
        self._patience(PATIENCE)
        for _ in range(2 * BODY_CAP // CHUNK):
            try:
                if not self._socket.recv(CHUNK):
                    return
            except BlockingIOError:
                return

    def _patience(self, seconds: int) -> None:
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", seconds, 0))

    def _until(self, end: bytes) -> bytes | None:
        """What comes up to these bytes; None if the connection ends before anything came."""
        while (at := self._rest.find(end)) < 0:
            if len(self._rest) > HEAD_CAP:
                raise RefusedRequest("431 Request Header Fields Too Large", "a request has a head without end")
            more = self._received(CHUNK)
            if not more:
                if self._rest:
                    raise RefusedRequest("400 Bad Request", BROKE_OFF)
                return None
            self._rest += more
        found, self._rest = self._rest[: at + len(end)], self._rest[at + len(end) :]
        return found

    def _exactly(self, size: int) -> bytes:
        found, self._rest = self._rest[:size], self._rest[size:]
        while len(found) < size:
            more = self._received(size - len(found), socket.MSG_WAITALL)
            if not more:
                raise RefusedRequest("400 Bad Request", BROKE_OFF)
            found = found + more if found else more
        return found

    def _received(self, most: int, flags: int = 0) -> bytes:
        try:
            return self._socket.recv(most, flags)
        except BlockingIOError as error:
            raise RefusedRequest("408 Request Timeout", "a request did not come to an end") from error

    def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return self._chunked()
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal()):
            raise RefusedRequest("400 Bad Request", "a request does not say how long it is")
        if int(length) > BODY_CAP:
            raise RefusedRequest("413 Content Too Large", f"a request has more than {BODY_CAP:,} bytes")
        return self._exactly(int(length))

    def _chunked(self) -> bytes:
        chunks: list[bytes] = []
        room = BODY_CAP
        while True:
            line = self._until(b"\r\n") or b""
            try:
                size = int(line.partition(b";")[0], 16)
            except ValueError as error:
                raise RefusedRequest("400 Bad Request", "a chunk does not say how long it is") from error
            room -= size
            if size < 0 or room < 0:
                raise RefusedRequest("413 Content Too Large", f"a request has more than {BODY_CAP:,} bytes")
            if size == 0:
                while self._until(b"\r\n") not in (b"\r\n", None):
                    continue
                return b"".join(chunks)
            chunks.append(self._exactly(size))
            self._exactly(2)


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


def answered(status: str, kind: str, body: bytes = b"") -> bytes:
    """An answer as it is sent."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _head(head: bytes) -> HttpRequest:
    first, *lines = head.decode("latin-1").split("\r\n")
    method, _, rest = first.partition(" ")
    path, _, version = rest.rpartition(" ")
    if not version.startswith("HTTP/1."):
        raise RefusedRequest("400 Bad Request", "not an HTTP/1.1 request")
    pairs = (line.partition(":") for line in lines if line)
    return HttpRequest(method, path, {name.strip().lower(): value.strip() for name, _, value in pairs})


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
