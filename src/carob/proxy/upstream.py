"""The server that a request is handed on to, and its reply, all of it bounded."""

from __future__ import annotations

import http.client
import zlib
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from carob.system import loopback
from carob.system.loopback import Connection, HttpRequest, format_head
from carob.system.loopback_auth import RefusedRequest

NOT_HANDED_ON = frozenset(
    {"accept-encoding", "connection", "content-length", "expect", "host", "keep-alive", "origin", "transfer-encoding"}
)
"""Headers of one connection. Host and Origin name the proxy: its guard has seen them. Packed replies are unreadable."""
SILENCE = 300.0
EVENTS = "text/event-stream"
LOCAL = ("127.0.0.1", "localhost", "::1")
"""No proxy of a network leads to these."""
ERRORS = (http.client.HTTPException, OSError)


class Upstream:
    """A server, by the address that the user gave and the name that its failures are reported by.

    `environ` may name proxies of the network. `whole_host`: every path of the host belongs to it, not only those below
    the path of its address. `strip`: what agents ask for before the path at the server.
    """

    def __init__(
        self,
        address: str,
        name: str,
        environ: Mapping[str, str] | None = None,
        *,
        whole_host: bool = False,
        strip: str = "",
    ) -> None:
        self._strip = strip
        self._address = address
        self._environ = environ or {}
        self._parts = urlsplit(address)
        self.name = name
        self.path = f"{self._parts.path}?{self._parts.query}" if self._parts.query else self._parts.path
        """Its path and query, as an agent is to ask for them."""
        self.base = "" if whole_host else self._parts.path.rstrip("/")
        """What every path at the server starts with."""

    def strip_usual(self, path: str) -> str:
        """A path without what agents expect before it and this server does not have."""
        return path.removeprefix(self._strip) if path.startswith(f"{self._strip}/") else path

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
        connection, target, key = self._connect(path)
        headers = {name: value for name, value in request.headers.items() if name not in NOT_HANDED_ON}
        try:
            try:
                connection.request(request.method, target, request.body or None, {**headers, **key})
                response = connection.getresponse()
            except ERRORS as error:
                raise _request_error(self.name, error) from error
            with response:
                yield UpstreamReply(response, self.name)
        finally:
            connection.close()

    def _connect(self, path: str) -> tuple[http.client.HTTPConnection, str, dict[str, str]]:
        """A connection to it, what is to be asked for there, and with which headers: a network may have a proxy."""
        scheme, host, port = self._parts.scheme, self._parts.hostname or "", self._parts.port
        kind = http.client.HTTPSConnection if scheme == "https" else http.client.HTTPConnection
        proxy = None if host in LOCAL else find_proxy(scheme, host, self._environ)
        if proxy is None:
            return kind(host, port, timeout=SILENCE), path, {}
        connection = kind(proxy.hostname or "", proxy.port or 80, timeout=SILENCE)
        password = f"{unquote(proxy.username or '')}:{unquote(proxy.password or '')}".encode()
        key = {"Proxy-Authorization": f"Basic {b64encode(password).decode()}"} if proxy.username else {}
        if scheme == "http":
            return connection, f"http://{self._parts.netloc.rpartition('@')[2]}{path}", key
        connection.set_tunnel(host, port, key)
        return connection, path, {}


def find_proxy(scheme: str, host: str, environ: Mapping[str, str]) -> SplitResult | None:
    """The proxy that an environment names for a host, as most clients read it."""
    named = {name.lower(): value for name, value in sorted(environ.items()) if value}  # lower case counts, as in curl
    exempt = [entry.strip().lstrip("*.") for entry in named.get("no_proxy", "").lower().split(",")]
    if "*" in named.get("no_proxy", "").split(",") or any(
        entry and f".{host}".endswith(f".{entry}") for entry in exempt
    ):
        return None
    address = named.get(f"{scheme}_proxy") or named.get("all_proxy") or ""
    parts = urlsplit(address if "://" in address else f"http://{address}")
    return parts if parts.hostname and parts.scheme in ("http", "https") else None


class UpstreamReply:
    """A reply as it comes in."""

    def __init__(self, response: http.client.HTTPResponse, name: str) -> None:
        self._response = response
        self.name = name
        self.status = response.status
        self.headers = {name.lower(): response.getheader(name, "") for name in response.headers}
        """Those of one name together; an encoding that was not asked for is taken away."""
        encoding = self.headers.get("content-encoding", "").strip().lower()
        self._inflate = zlib.decompressobj(47) if encoding in ("gzip", "deflate") else None
        self._is_packed = False

    @property
    def is_stream(self) -> bool:
        return EVENTS in (self.header("Content-Type") or "").lower()

    def header(self, name: str) -> str | None:
        return self._response.getheader(name)

    def head(self, changed: dict[str, str]) -> bytes:
        """Its status and headers, for an agent; some of them changed."""
        dropped = NOT_HANDED_ON.union(name.lower() for name in changed)
        if self._inflate is not None:
            dropped |= {"content-encoding"}
        headers = [(name, value) for name, value in self._response.getheaders() if name.lower() not in dropped]
        return format_head(self.status, (*headers, *changed.items()))

    def body(self, connection: Connection) -> bytes:
        """All of it, counted as held by the connection. Raises RefusedRequest if it is too long."""
        body, size = bytearray(), 0
        for piece in self.pieces():
            connection.hold(len(piece))
            size += len(piece)
            if size > loopback.BODY_CAP:
                raise bad_gateway(f"{self.name} sent a reply of more than {loopback.BODY_CAP:,} bytes")
            body += piece
        return bytes(body)

    def pieces(self) -> Iterator[bytes]:
        """It, as it comes. Raises RefusedRequest if it breaks off."""
        while True:
            try:
                piece = self._response.read1(loopback.CHUNK)
                plain = piece if self._inflate is None else self._inflate.decompress(piece, loopback.BODY_CAP)
            except (*ERRORS, zlib.error) as error:
                raise _request_error(self.name, error) from error
            if not piece:
                break
            self._is_packed = True
            if self._inflate is not None and self._inflate.unconsumed_tail:
                raise bad_gateway(f"{self.name} sent a reply of more than {loopback.BODY_CAP:,} bytes")
            if plain:
                yield plain
        if missing := self._response.length:
            raise bad_gateway(f"{self.name} closed the connection {missing:,} bytes before the end of a reply")
        if self._inflate is not None and self._is_packed and not self._inflate.eof:
            raise bad_gateway(f"{self.name} closed the connection before the end of a compressed reply")


def bad_gateway(why: str) -> RefusedRequest:
    return RefusedRequest(HTTPStatus.BAD_GATEWAY, why)


def _request_error(name: str, error: Exception) -> RefusedRequest:
    return bad_gateway(f"the request to {name} failed: {error or type(error).__name__}")
