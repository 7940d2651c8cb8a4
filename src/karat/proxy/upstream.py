"""The server that a request is handed on to, and its reply, all of it bounded."""

from __future__ import annotations

import http.client
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from urllib.parse import urljoin, urlsplit

from karat.system import loopback
from karat.system.loopback import Connection, HttpRequest, format_head
from karat.system.loopback_auth import RefusedRequest

NOT_HANDED_ON = frozenset(
    {"accept-encoding", "connection", "content-length", "expect", "host", "keep-alive", "origin", "transfer-encoding"}
)
"""Headers of one connection. Host and Origin name the proxy: its guard has seen them. Packed replies are unreadable."""
SILENCE = 300.0
EVENTS = "text/event-stream"
ERRORS = (http.client.HTTPException, OSError)


class Upstream:
    """A server, by the address that the user gave and the name that its failures are reported by.

    `whole_host`: every path of the host belongs to it, not only those below the path of its address.
    """

    def __init__(self, address: str, name: str, *, whole_host: bool = False) -> None:
        self._address = address
        self._parts = urlsplit(address)
        self.name = name
        self.path = f"{self._parts.path}?{self._parts.query}" if self._parts.query else self._parts.path
        """Its path and query, as an agent is to ask for them."""
        self.base = "" if whole_host else self._parts.path.rstrip("/")
        """What every path at the server starts with."""

    def path_below(self, address: str) -> str:
        """The path of an address that the server gave, below its base. Raises RefusedRequest if it is elsewhere."""
        try:
            parts, here = urlsplit(urljoin(self._address, address)), self._parts
            is_here = (parts.scheme, parts.hostname, parts.port) == (here.scheme, here.hostname, here.port)
        except ValueError:
            is_here = False
        if not is_here or not parts.path.startswith(self.base):
            raise bad_gateway(f"{self.name} redirected the agent to another address, where nothing would be recorded")
        path = parts.path.removeprefix(self.base)
        return f"{path}?{parts.query}" if parts.query else path

    @contextmanager
    def open_reply(self, request: HttpRequest, path: str) -> Iterator[UpstreamReply]:
        """Its reply to a request. Raises RefusedRequest if there is none, or if it breaks off while it is read."""
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(self._parts.hostname or "", self._parts.port, timeout=SILENCE)
        try:
            headers = {name: value for name, value in request.headers.items() if name not in NOT_HANDED_ON}
            connection.request(request.method, path, request.body or None, headers)
            with connection.getresponse() as response:
                yield UpstreamReply(response, self.name)
        except ERRORS as error:
            raise _request_error(self.name, error) from error
        finally:
            connection.close()


class UpstreamReply:
    """A reply as it comes in."""

    def __init__(self, response: http.client.HTTPResponse, name: str) -> None:
        self._response = response
        self._name = name
        self.status = response.status

    @property
    def is_stream(self) -> bool:
        return EVENTS in (self.header("Content-Type") or "").lower()

    def header(self, name: str) -> str | None:
        return self._response.getheader(name)

    def head(self, changed: dict[str, str]) -> bytes:
        """Its status and headers, for an agent; some of them changed."""
        dropped = NOT_HANDED_ON.union(name.lower() for name in changed)
        headers = [(name, value) for name, value in self._response.getheaders() if name.lower() not in dropped]
        return format_head(self.status, (*headers, *changed.items()))

    def body(self, connection: Connection) -> bytes:
        """All of it, counted as held by the connection. Raises RefusedRequest if it is too long."""
        body = b"".join(self._pieces(self._response.read, connection, "a reply", None))
        if missing := self._response.length:
            raise bad_gateway(f"{self._name} closed the connection {missing:,} bytes before the end of a reply")
        return body

    def lines(self, connection: Connection) -> Iterator[bytes]:
        """The lines of a stream, each held until the next. Raises RefusedRequest if one is too long."""
        while line := b"".join(self._pieces(self._response.readline, connection, "a line", b"\n")):
            yield line
            connection.release(len(line))

    def _pieces(
        self, read: Callable[[int], bytes], connection: Connection, unit: str, end: bytes | None
    ) -> Iterator[bytes]:
        size, piece = 0, b""
        while end is None or not piece.endswith(end):
            try:
                piece = read(loopback.CHUNK)
            except ERRORS as error:
                raise _request_error(self._name, error) from error
            if not piece:
                return
            connection.hold(len(piece))
            size += len(piece)
            if size > loopback.BODY_CAP:
                raise bad_gateway(f"{self._name} sent {unit} of more than {loopback.BODY_CAP:,} bytes")
            yield piece


def bad_gateway(why: str) -> RefusedRequest:
    return RefusedRequest(HTTPStatus.BAD_GATEWAY, why)


def _request_error(name: str, error: Exception) -> RefusedRequest:
    return bad_gateway(f"the request to {name} failed: {error or type(error).__name__}")
