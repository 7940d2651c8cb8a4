"""A small server on the loopback address, in threads of its own: what an agent blocks does not hold it up.

Whoever asks must come by the guard of the server. What a request may hold is bounded, and so is what all requests hold
together.
"""

from __future__ import annotations

import re
import socket
import struct
import threading
import zlib
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus

from msgspec import Struct

from karat.errors import ConfigError
from karat.system.loopback_auth import LOOPBACK, LoopbackGuard, RefusedRequest, new_token
from karat.text.wording import shorten

HEAD_CAP = 1 << 16
MOST_HEADERS = 100
BODY_CAP = 32 << 20
"""Also of what a compressed body becomes, and of a line of a stream of events."""
ROOM = 4 * BODY_CAP
"""So many bytes of bodies a server holds at once."""
CHUNK = 1 << 16
IDLE = 120
"""Seconds in which nothing comes before a connection is closed."""
PATIENCE = 2
BROKE_OFF = "a request was cut off"
_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_HEAD = re.compile(rb"%b [\x21-\x7e]+ HTTP/1\.[0-9]\r\n(?:%b:[\t\x20-\x7e\x80-\xff]*\r\n)*+\r\n" % (_TOKEN, _TOKEN))
"""The head of a request as it must be: what is handed on is what was looked at."""


class Room:
    """The bytes that the connections of a server may hold together."""

    def __init__(self, size: int = ROOM) -> None:
        self._left = size
        self._lock = threading.Lock()

    def take(self, size: int) -> None:
        """Raises RefusedRequest if there is no room for so many bytes."""
        with self._lock:
            if size > self._left:
                raise RefusedRequest(HTTPStatus.SERVICE_UNAVAILABLE, "too much data is being sent at the same time")
            self._left -= size

    def give_back(self, size: int) -> None:
        with self._lock:
            self._left += size


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

    def __init__(self, connection: socket.socket, room: Room) -> None:
        self._socket = connection
        self._room = room
        self._held = 0
        self._rest = b""
        self._patience(IDLE)

    def request(self, guard: LoopbackGuard) -> HttpRequest | None:
        """The next request, or None at the end of the connection. Raises RefusedRequest."""
        head = self._until(b"\r\n\r\n")
        if head is None:
            return None
        request = _head(head, guard)
        if request.headers.get("expect", "").lower() == "100-continue":
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.body = self._body(request.headers)
        return request

    def hold(self, size: int) -> None:
        """Count bytes of what is being served. Raises RefusedRequest if the server holds too many already."""
        self._room.take(size)
        self._held += size

    def let_go(self, size: int | None = None) -> None:
        """Bytes that are no longer held: all of them once a request was served."""
        given = self._held if size is None else size
        self._room.give_back(given)
        self._held -= given

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def is_closed(self) -> bool:
        """Whether the other side has gone away; a request that came early counts as there."""
        try:
            return not self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False

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
        while (at := self._rest.find(end, 0, HEAD_CAP)) < 0:
            if len(self._rest) >= HEAD_CAP:
                raise RefusedRequest(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "a request's headers are too long")
            more = self._receive(CHUNK)
            if not more:
                if self._rest:
                    raise RefusedRequest(HTTPStatus.BAD_REQUEST, BROKE_OFF)
                return None
            self._rest += more
        found, self._rest = self._rest[: at + len(end)], self._rest[at + len(end) :]
        return found

    def _exactly(self, size: int) -> bytes:
        found, self._rest = self._rest[:size], self._rest[size:]
        while len(found) < size:
            more = self._receive(size - len(found), socket.MSG_WAITALL)
            if not more:
                raise RefusedRequest(HTTPStatus.BAD_REQUEST, BROKE_OFF)
            found = found + more if found else more
        return found

    def _receive(self, most: int, flags: int = 0) -> bytes:
        try:
            return self._socket.recv(most, flags)
        except BlockingIOError as error:
            raise RefusedRequest(HTTPStatus.REQUEST_TIMEOUT, "a request did not finish in time") from error

    def _body(self, headers: dict[str, str]) -> bytes:
        if "transfer-encoding" in headers:
            if headers["transfer-encoding"].lower() != "chunked" or "content-length" in headers:
                raise RefusedRequest(HTTPStatus.BAD_REQUEST, "a request does not give its length")
            return self._read_chunks()
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal()):
            raise RefusedRequest(HTTPStatus.BAD_REQUEST, "a request does not give its length")
        if len(length) > len(str(BODY_CAP)) or int(length) > BODY_CAP:
            raise RefusedRequest(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request has more than {BODY_CAP:,} bytes")
        self.hold(int(length))
        return self._exactly(int(length))

    def _read_chunks(self) -> bytes:
        chunks: list[bytes] = []
        room = BODY_CAP
        while True:
            line = self._until(b"\r\n") or b""
            try:
                size = int(line.partition(b";")[0], 16)
            except ValueError as error:
                raise RefusedRequest(HTTPStatus.BAD_REQUEST, "a chunk does not give its length") from error
            room -= size
            if size < 0 or room < 0:
                raise RefusedRequest(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request has more than {BODY_CAP:,} bytes")
            self.hold(size)
            if size == 0:
                while self._until(b"\r\n") not in (b"\r\n", None):
                    continue
                return b"".join(chunks)
            chunks.append(self._exactly(size))
            self._exactly(2)


def unpack(request: HttpRequest) -> bytes:
    """The body as it was before it was compressed. Raises RefusedRequest."""
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding == "identity":
        return request.body
    if encoding not in ("gzip", "deflate"):
        raise RefusedRequest(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"a request is encoded as {shorten(encoding, 40)!r}")
    inflate = zlib.decompressobj(47)  # gzip and zlib, by their own head
    try:
        body = inflate.decompress(request.body, BODY_CAP)
    except zlib.error as error:
        raise RefusedRequest(HTTPStatus.BAD_REQUEST, "a request cannot be decompressed") from error
    if inflate.unconsumed_tail:
        raise RefusedRequest(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request decompresses to more than {BODY_CAP:,} bytes"
        )
    if not inflate.eof:
        raise RefusedRequest(HTTPStatus.BAD_REQUEST, "a compressed request was cut off")
    return body


def format_answer(status: HTTPStatus, kind: str, body: bytes = b"") -> bytes:
    """An answer as it is sent."""
    head = f"HTTP/1.1 {status} {status.phrase}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _head(head: bytes, guard: LoopbackGuard) -> HttpRequest:
    """The head of a request that may come in, its path without the token."""
    if _HEAD.fullmatch(head) is None:
        raise RefusedRequest(HTTPStatus.BAD_REQUEST, "not an HTTP/1.1 request")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ")
    if len(lines) > MOST_HEADERS:
        raise RefusedRequest(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "a request has too many headers")
    split = (line.partition(":") for line in lines if line)
    pairs = [(name.lower(), value.strip()) for name, _, value in split]
    return HttpRequest(method, guard.enter(path, pairs), dict(pairs))


MOST = 256
"""Connections at once; more than these are closed as they come."""


class LoopbackServer:
    """Serves each request that may come in with one function, from `open` to `close`.

    The function says whether the connection goes on after the request; `refused` hears of what was not served.
    """

    def __init__(
        self,
        serve: Callable[[Wire, HttpRequest], bool],
        name: str,
        refused: Callable[[str], None] = lambda why: None,
    ) -> None:
        self.port = 0
        self.token = new_token()
        self._serve = serve
        self._name = name
        self._refused = refused
        self._room = Room()
        self._listening: socket.socket | None = None
        self._accepting: threading.Thread | None = None
        self._connections: set[socket.socket] = set()

    @property
    def place(self) -> str:
        """Where it listens, for people to read."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def url(self) -> str:
        """Where it is reached."""
        return f"{self.place}/{self.token}" if self.token else self.place

    def open(self, port: int = 0) -> None:
        """Listen. Raises ConfigError if the port is taken.

        At a port that the user chose there is no token: what sends there was configured before the token was made.
        """
        if port:
            self.token = ""
        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((LOOPBACK, port))
            listening.listen(MOST)
        except OSError as error:
            listening.close()
            fix = "Stop the program that listens there, or let Karat choose a free port."
            raise ConfigError(
                f"{self._name} cannot listen at {LOOPBACK}:{port}: {error.strerror}.", fix=fix, slug="port-in-use"
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
        wire, guard = Wire(connection, self._room), LoopbackGuard(self.port, self.token)
        try:
            while (request := wire.request(guard)) is not None and self._serve(wire, request):
                wire.let_go()
        except RefusedRequest as refused:
            self._refused(refused.why)
            self._excuse(wire, refused)
        except OSError:
            return  # the other side went away
        finally:
            wire.let_go()
            self._connections.discard(connection)
            connection.close()

    def _excuse(self, wire: Wire, refused: RefusedRequest) -> None:
        with suppress(OSError):  # the other side went away
            wire.send(format_answer(refused.status, "text/plain", f"{refused.why}\n".encode()))
            wire.let_finish()
