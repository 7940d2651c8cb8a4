"""A small HTTP server on the loopback address, in threads of its own: what an agent blocks does not hold it up.

h11 reads the requests; replies are written as bytes, since what an upstream sends is passed on as it comes, and a fault
may break it off. Every request must satisfy the guard of the server. What a request may hold is bounded, and so is what
all requests hold together.
"""

from __future__ import annotations

import re
import socket
import struct
import threading
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from http import HTTPStatus

import h11
from msgspec import Struct

from carob.errors import ConfigError
from carob.system.loopback_auth import LOOPBACK, LoopbackGuard, RefusedRequest, RequestGuard, new_token

HEAD_CAP = 1 << 16
MAX_HEADERS = 100
BODY_CAP = 32 << 20
"""Also of what a compressed body becomes, and of an event of a stream."""
MEMORY_CAP = 4 * BODY_CAP
"""The bytes of bodies that a server holds at once."""
CHUNK = 1 << 16
IDLE = 120
"""Seconds in which nothing comes before a connection is closed."""
DRAIN = 2
MAX_CONNECTIONS = 256
"""More connections than these at once are closed as they come."""
CUT_OFF = "a request was cut off"
_NOW: int = getattr(socket, "MSG_DONTWAIT", 0)
_LOOSE_LINES = re.compile(rb"(?<!\r)\n|\n[\t ]")
"""Line ends and folded lines that h11 accepts: a service that a proxy calls may read them in another way."""


class MemoryBudget:
    """The bytes that the connections of a server may hold together."""

    def __init__(self, size: int = MEMORY_CAP) -> None:
        self._free = size
        self._lock = threading.Lock()

    def take(self, size: int) -> None:
        """Raises RefusedRequest if there is no room for so many bytes."""
        with self._lock:
            if size > self._free:
                raise RefusedRequest(HTTPStatus.SERVICE_UNAVAILABLE, "too much data is being sent at the same time")
            self._free -= size

    def release(self, size: int) -> None:
        with self._lock:
            self._free += size


class HttpRequest(Struct):
    """A complete request; its path is without the token of the server."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""
    http_version: str = "1.1"

    @property
    def keeps_alive(self) -> bool:
        connection = self.headers.get("connection", "").lower()
        return connection == "keep-alive" if self.http_version == "1.0" else connection != "close"

    @property
    def wants_head(self) -> bool:
        """Whether the reply is to have no body."""
        return self.method == "HEAD"


class Connection:
    """A connection of a client, in blocking mode."""

    def __init__(self, client: socket.socket, budget: MemoryBudget) -> None:
        self._socket = client
        self._budget = budget
        self._held = 0
        self._unread = b""
        self._set_timeout(IDLE)

    def next_request(self, guard: RequestGuard) -> HttpRequest | None:
        """The next request, or None at the end of the connection. Raises RefusedRequest."""
        received = self._unread or self._receive()
        if not received:
            return None
        parser = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_CAP)
        parser.receive_data(received)
        try:
            while (head := parser.next_event()) is h11.NEED_DATA:
                received += self._feed(parser)
            request = _build_request(head, received, guard)
            if parser.they_are_waiting_for_100_continue:
                self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.body = self._read_body(parser, request.headers)
        except h11.RemoteProtocolError as error:
            too_long = error.error_status_hint == HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE if too_long else HTTPStatus.BAD_REQUEST
            raise RefusedRequest(status, f"not an HTTP/1.1 request: {error}") from error
        self._unread = parser.trailing_data[0]
        return request

    def hold(self, size: int) -> None:
        """Count bytes of what is being served. Raises RefusedRequest if the server holds too many already."""
        self._budget.take(size)
        self._held += size

    def release(self, size: int | None = None) -> None:
        """Bytes that are no longer held: all of them once a request was served."""
        released = self._held if size is None else size
        self._budget.release(released)
        self._held -= released

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def is_closed(self) -> bool:
        """Whether the client has gone away; if it sent a further request early, it has not."""
        try:
            return not self._socket.recv(1, socket.MSG_PEEK | _NOW)
        except BlockingIOError:
            return False

    def drain(self) -> None:
        """Let a client that was refused send the rest, within bounds: cut off in the middle, it would not read why."""
        self._set_timeout(DRAIN)
        for _ in range(2 * BODY_CAP // CHUNK):
            try:
                if not self._socket.recv(CHUNK):
                    return
            except BlockingIOError:
                return

    def _set_timeout(self, seconds: int) -> None:
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", seconds, 0))

    def _receive(self) -> bytes:
        try:
            return self._socket.recv(CHUNK)
        except BlockingIOError as error:
            raise RefusedRequest(HTTPStatus.REQUEST_TIMEOUT, "a request did not finish in time") from error

    def _feed(self, parser: h11.Connection) -> bytes:
        data = self._receive()
        if not data:
            raise RefusedRequest(HTTPStatus.BAD_REQUEST, CUT_OFF)
        parser.receive_data(data)
        return data

    def _read_body(self, parser: h11.Connection, headers: dict[str, str]) -> bytes:
        is_chunked = "transfer-encoding" in headers
        if is_chunked and "content-length" in headers:
            raise RefusedRequest(HTTPStatus.BAD_REQUEST, "a request gives its length in two ways")
        chunks: list[bytes] = []
        size = 0

        def claim(more: int) -> None:
            nonlocal size
            size += more
            if size > BODY_CAP:
                raise RefusedRequest(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request has more than {BODY_CAP:,} bytes")
            self.hold(more)

        claim(int(headers.get("content-length", 0)))
        while not isinstance(event := parser.next_event(), h11.EndOfMessage):
            if event is h11.NEED_DATA:
                self._feed(parser)
            elif isinstance(event, h11.Data):
                if is_chunked:
                    claim(len(event.data))
                chunks.append(event.data)
        return b"".join(chunks)


def _build_request(head: object, received: bytes, guard: RequestGuard) -> HttpRequest:
    """The head of a request that satisfies the guard."""
    lines = received.partition(b"\r\n\r\n")[0]
    if not isinstance(head, h11.Request) or not head.http_version.startswith(b"1.") or _LOOSE_LINES.search(lines):
        raise RefusedRequest(HTTPStatus.BAD_REQUEST, "not an HTTP/1.1 request")
    if len(head.headers) > MAX_HEADERS or len(lines) > HEAD_CAP:
        raise RefusedRequest(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "a request has too many headers")
    headers = [(name.decode(), value.decode("latin-1")) for name, value in head.headers]
    path, version = guard.enter(head.target.decode(), headers), head.http_version.decode()
    return HttpRequest(head.method.decode(), path, dict(headers), http_version=version)


def unpack(request: HttpRequest) -> bytes:
    """The body as it was before it was compressed. Raises RefusedRequest."""
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding == "identity":
        return request.body
    if encoding not in ("gzip", "deflate"):
        raise RefusedRequest(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"a request is encoded as {encoding[:40]!r}")
    inflate = zlib.decompressobj(47)  # gzip and zlib, by their own head
    try:
        body = inflate.decompress(request.body, BODY_CAP)
    except zlib.error as error:
        raise RefusedRequest(HTTPStatus.BAD_REQUEST, "a request cannot be decompressed") from error
    if inflate.unconsumed_tail:
        why = f"a request decompresses to more than {BODY_CAP:,} bytes"
        raise RefusedRequest(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, why)
    if not inflate.eof:
        raise RefusedRequest(HTTPStatus.BAD_REQUEST, "a compressed request was cut off")
    return body


def format_head(status: int, headers: Iterable[tuple[str, str]]) -> bytes:
    """The first lines of a reply; a header that would begin another line is left out."""
    reason = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else "Recorded"
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers if not {"\r", "\n"} & {*value})
    return f"HTTP/1.1 {status} {reason}\r\n{lines}\r\n".encode("latin-1", "replace")


def format_reply(status: int, content_type: str, body: bytes = b"") -> bytes:
    """A complete reply."""
    return format_head(status, {"Content-Type": content_type, "Content-Length": str(len(body))}.items()) + body


class LoopbackServer:
    """Serves each request that satisfies its guard with one function, from `open` to `close`.

    The function returns whether the connection goes on after the request; `on_refused` receives why one was not served.
    """

    def __init__(
        self,
        serve: Callable[[Connection, HttpRequest], bool],
        name: str,
        on_refused: Callable[[str], None] = lambda why: None,
        guard: Callable[[int, str], RequestGuard] = LoopbackGuard,
    ) -> None:
        self.port = 0
        self.host = LOOPBACK
        self.token = new_token()
        self._guard = guard
        self._serve = serve
        self._name = name
        self._on_refused = on_refused
        self._budget = MemoryBudget()
        self._listening: socket.socket | None = None
        self._accepting: threading.Thread | None = None
        self._clients: dict[socket.socket, bool] = {}
        """The connections in the order in which they came, and whether a request of each satisfied the guard."""

    @property
    def address(self) -> str:
        """Where it listens, for people to read."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @property
    def url(self) -> str:
        """Where it is reached."""
        return f"{self.address}/{self.token}" if self.token else self.address

    def open(self, port: int = 0, host: str = LOOPBACK) -> None:
        """Listen. Raises ConfigError if the port is in use.

        At a port that the user chose there is no token: what sends there was configured before the token was made.
        """
        if port:
            self.token = ""
        self.host = host
        listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
            listening.listen(MAX_CONNECTIONS)
        except OSError as error:
            listening.close()
            message = f"{self._name} cannot listen at {host}:{port}: {error.strerror}."
            fix = "Stop the program that listens there, or choose another port; 0 is any free one."
            raise ConfigError(message, fix=fix, slug="port-in-use") from error
        self.port = listening.getsockname()[1]
        self._listening = listening
        self._accepting = threading.Thread(target=self._accept, args=(listening,), name=self._name, daemon=True)
        self._accepting.start()

    def close(self) -> None:
        """Close every connection; what is being served ends with it."""
        if self._listening is None or self._accepting is None:
            return
        for each in (self._listening, *self._clients):
            with suppress(OSError):  # the client closed it first
                each.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listening.close()
        self._listening = None

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return  # `close` shut it down
            if len(self._clients) >= MAX_CONNECTIONS and not self._make_room():
                client.close()
                continue
            self._clients[client] = False
            threading.Thread(target=self._handle_connection, args=(client,), name=self._name, daemon=True).start()

    def _make_room(self) -> bool:
        """Close the oldest connection on which no request had the token: it may be of anybody on this machine."""
        stranger = next((client for client, is_known in list(self._clients.items()) if not is_known), None)
        if stranger is None:
            return False
        with suppress(OSError):  # it has closed itself
            stranger.shutdown(socket.SHUT_RDWR)
        self._clients.pop(stranger, None)
        return True

    def _handle_connection(self, client: socket.socket) -> None:
        connection, guard = Connection(client, self._budget), self._guard(self.port, self.token)
        try:
            while (request := connection.next_request(guard)) is not None:
                self._clients[client] = True
                if not self._serve(connection, request):
                    break
                connection.release()
        except RefusedRequest as refused:
            self._on_refused(refused.why)
            with suppress(OSError):  # the client went away
                connection.send(format_reply(refused.status, "text/plain", f"{refused.why}\n".encode()))
                connection.drain()
        except OSError:
            return  # the client went away
        finally:
            connection.release()
            self._clients.pop(client, None)
            client.close()
