"""What a recording proxy hands on to its server, and what comes back, all of it bounded."""

from __future__ import annotations

import http.client
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from urllib.parse import urljoin, urlsplit

from karat.evidence.otlp import loopback
from karat.evidence.otlp.loopback import HttpRequest, Wire
from karat.system.loopback_auth import RefusedRequest

NOT_HANDED_ON = frozenset(
    {"accept-encoding", "connection", "content-length", "expect", "host", "keep-alive", "origin", "transfer-encoding"}
)
"""Headers of one connection. Host and Origin name the proxy; its door has looked at them. Packed replies are unread."""
SILENCE = 300.0
EVENTS = "text/event-stream"
FAULTS = (http.client.HTTPException, OSError)


class Upstream:
    """The server, by the address that the user gave and the name that its faults are reported by."""

    def __init__(self, address: str, name: str) -> None:
        self._to = urlsplit(address)
        self._address = address
        self.name = name

    @property
    def path(self) -> str:
        """Its path and query, as an agent is to ask for them."""
        return f"{self._to.path}?{self._to.query}" if self._to.query else self._to.path

    def path_of(self, address: str) -> str | None:
        """The path of an address that the server gave; None if it leads elsewhere, and so past the proxy."""
        try:
            found = urlsplit(urljoin(self._address, address))
            if (found.scheme, found.hostname, found.port) != (self._to.scheme, self._to.hostname, self._to.port):
                return None
        except ValueError:
            return None
        return f"{found.path}?{found.query}" if found.query else found.path

    @contextmanager
    def open_reply(self, request: HttpRequest, path: str) -> Iterator[UpstreamReply]:
        """Its reply to a request. Raises RefusedRequest if there is none, or if it breaks off while it is read."""
        kind = http.client.HTTPSConnection if self._to.scheme == "https" else http.client.HTTPConnection
        connection = kind(self._to.hostname or "", self._to.port, timeout=SILENCE)
        try:
            sent = {name: value for name, value in request.headers.items() if name not in NOT_HANDED_ON}
            connection.request(request.method, path, request.body or None, sent)
            with connection.getresponse() as response:
                yield UpstreamReply(response, self.name)
        except FAULTS as error:
            raise bad_gateway(f"{self.name} broke: {error or type(error).__name__}") from error
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
        return EVENTS in (self._response.getheader("Content-Type") or "").lower()

    @property
    def location(self) -> str | None:
        return self.header("Location")

    def header(self, name: str) -> str | None:
        return self._response.getheader(name)

    def head(self, **changed: str) -> bytes:
        """Its status and headers, for an agent; some of them changed."""
        given = [(name, value) for name, value in self._response.getheaders() if name.lower() not in NOT_HANDED_ON]
        kept = [(name, value) for name, value in given if name.title() not in changed and not {"\r", "\n"} & {*value}]
        lines = "".join(f"{name}: {value}\r\n" for name, value in (*kept, *changed.items()))
        return f"HTTP/1.1 {self.status} {self._response.reason}\r\n{lines}".encode("latin-1", "replace")

    def body(self, wire: Wire) -> bytes:
        """All of it, counted as held by the connection. Raises RefusedRequest if it is too long."""
        found = b"".join(self._pieces(self._response.read, wire, "a reply", None))
        if self._response.length:
            raise bad_gateway(
                f"{self._name} closed the connection {self._response.length:,} bytes before the end of a reply"
            )
        return found

    def lines(self, wire: Wire) -> Iterator[bytes]:
        """The lines of a stream, each held until the next. Raises RefusedRequest if one is too long."""
        while line := b"".join(self._pieces(self._response.readline, wire, "a line", b"\n")):
            yield line
            wire.let_go(len(line))

    def _pieces(self, read: Callable[[int], bytes], wire: Wire, what: str, end: bytes | None) -> Iterator[bytes]:
        size = 0
        while piece := self._read(read):
            wire.hold(len(piece))
            size += len(piece)
            if size > loopback.BODY_CAP:
                raise bad_gateway(f"{self._name} sent {what} of more than {loopback.BODY_CAP:,} bytes")
            yield piece
            if end is not None and piece.endswith(end):
                return

    def _read(self, read: Callable[[int], bytes]) -> bytes:
        try:
            return read(loopback.CHUNK)
        except FAULTS as error:
            raise bad_gateway(f"{self._name} broke: {error or type(error).__name__}") from error


def bad_gateway(why: str) -> RefusedRequest:
    return RefusedRequest(HTTPStatus.BAD_GATEWAY, why)
