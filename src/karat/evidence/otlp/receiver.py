"""An OTLP/HTTP receiver on the loopback address: protobuf and JSON, plain or compressed, into an inbox."""

from __future__ import annotations

import threading
from http import HTTPStatus

from karat.evidence.otlp.inbox import Inbox
from karat.evidence.spans.otlp import SpanBatch, request_type
from karat.system import memory_estimate
from karat.system.loopback import Connection, HttpRequest, LoopbackServer, format_reply, unpack
from karat.system.loopback_auth import RefusedRequest
from karat.text.wording import shorten

TRACES = "/v1/traces"
OTHER_SIGNALS = ("/v1/metrics", "/v1/logs")
"""Taken and let go: an exporter that is refused them complains into the agent's own output."""
JSON, PROTOBUF = "application/json", "application/x-protobuf"
EMPTY = {JSON: b"{}", PROTOBUF: b""}


class Receiver:
    """Listens from `open` to `close`."""

    def __init__(self) -> None:
        self.inbox = Inbox()
        self._reading = threading.Lock()
        """Requests are read one at a time: what reading takes for a moment is bounded so."""
        self._server = LoopbackServer(self._serve, "the receiver of spans", self.inbox.note_loss)

    @property
    def endpoint(self) -> str:
        return self._server.url

    @property
    def address(self) -> str:
        return self._server.address

    def open(self, port: int = 0) -> None:
        """Listen, or raise a ConfigError."""
        request_type()
        self._server.open(port)

    def close(self) -> None:
        self._server.close()

    def _serve(self, connection: Connection, request: HttpRequest) -> bool:
        kind = self._take(request)
        connection.send(format_reply(HTTPStatus.OK, kind, EMPTY[kind]))
        return request.keeps_alive

    def _take(self, request: HttpRequest) -> str:
        """Take a request in; the type of its content."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        path = request.path.partition("?")[0].rstrip("/")
        if request.method != "POST":
            raise RefusedRequest(HTTPStatus.METHOD_NOT_ALLOWED, f"spans were sent by {shorten(request.method, 20)!r}")
        if path.endswith(OTHER_SIGNALS):
            return kind if kind == JSON else PROTOBUF
        if not path.endswith(TRACES):
            raise RefusedRequest(HTTPStatus.NOT_FOUND, f"spans were sent to {shorten(path, 80)!r}, not to {TRACES!r}")
        if kind not in (JSON, PROTOBUF):
            raise RefusedRequest(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"spans were sent as {shorten(kind, 40)!r}")
        with self._reading:
            self._read(unpack(request), kind)
        return kind

    def _read(self, body: bytes, kind: str) -> None:
        size = (memory_estimate.json_weight if kind == JSON else memory_estimate.protobuf_weight)(body)
        if size > memory_estimate.HEAVIEST:
            why = "a request takes too much memory to read"
            raise RefusedRequest(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, why)
        try:
            self.inbox.put(SpanBatch(body, json=kind == JSON), size)
        except ValueError as error:
            raise RefusedRequest(HTTPStatus.BAD_REQUEST, f"a request cannot be read: {error}") from error
