"""An OTLP/HTTP receiver on the loopback address: protobuf and JSON, plain or compressed, into an inbox."""

from __future__ import annotations

import asyncio

from karat.telemetry.otlp.inbox import Inbox
from karat.telemetry.otlp.loopback import LoopbackServer
from karat.telemetry.otlp.requests import HttpRequest, RefusedRequest, let_finish, read_request, unpacked
from karat.telemetry.spans import otlp_json, protobuf

TRACES = "/v1/traces"
OTHER_SIGNALS = ("/v1/metrics", "/v1/logs")
"""Taken and let go: an exporter that is refused them complains into the agent's own output."""
JSON, PROTOBUF = "application/json", "application/x-protobuf"


class Receiver:
    """Listens from `open` to `close`."""

    def __init__(self) -> None:
        self.inbox = Inbox()
        self._server = LoopbackServer(self._serve, "the receiver of spans")

    @property
    def endpoint(self) -> str:
        return self._server.url

    def open(self, port: int = 0) -> None:
        """Listen, or raise a ConfigError."""
        protobuf.request_type()
        self._server.open(port)

    def close(self) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                request = await read_request(reader, writer)
                if request is None:
                    return
                writer.write(_answered("200 OK", self._taken(request)))
            except RefusedRequest as refused:
                self.inbox.lost(refused.why)
                writer.write(_answered(refused.status, JSON, refused.why.encode()))
                await writer.drain()
                await let_finish(reader)
                return
            await writer.drain()
            if not request.keeps_alive:
                return

    def _taken(self, request: HttpRequest) -> str:
        """Take a request in; the type of its content."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        path = request.path.partition("?")[0].rstrip("/")
        if request.method != "POST":
            raise RefusedRequest("405 Method Not Allowed", f"{request.method[:20]!r} is no way to send spans")
        if path.endswith(OTHER_SIGNALS):
            return kind if kind == JSON else PROTOBUF
        if not path.endswith(TRACES):
            raise RefusedRequest("404 Not Found", f"spans were sent to {path[:80]!r} instead of {TRACES!r}")
        if kind not in (JSON, PROTOBUF):
            raise RefusedRequest("415 Unsupported Media Type", f"spans were sent as {kind[:40]!r}")
        body = unpacked(request)
        try:
            self.inbox.put(otlp_json.spans(body) if kind == JSON else protobuf.spans(body), len(body))
        except ValueError as error:
            raise RefusedRequest("400 Bad Request", f"a request was sent of which {error}") from error
        return kind


def _answered(status: str, kind: str, body: bytes = b"") -> bytes:
    body = body or (b"{}" if kind == JSON else b"")
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body
