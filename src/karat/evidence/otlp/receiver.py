"""An OTLP/HTTP receiver on the loopback address: protobuf and JSON, plain or compressed, into an inbox."""

from __future__ import annotations

import threading
from http import HTTPStatus

from karat.evidence import memory_estimate as weight
from karat.evidence.memory_estimate import json_weight, protobuf_weight
from karat.evidence.otlp.inbox import Inbox
from karat.evidence.otlp.loopback import HttpRequest, LoopbackServer, Wire, format_answer, unpack
from karat.evidence.spans.otlp_json import JsonBatch
from karat.evidence.spans.protobuf import ProtobufBatch, request_type
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
    def place(self) -> str:
        return self._server.place

    def open(self, port: int = 0) -> None:
        """Listen, or raise a ConfigError."""
        request_type()
        self._server.open(port)

    def close(self) -> None:
        self._server.close()

    def _serve(self, wire: Wire, request: HttpRequest) -> bool:
        kind = self._take(request)
        wire.send(format_answer(HTTPStatus.OK, kind, EMPTY[kind]))
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
        size = json_weight(body) if kind == JSON else protobuf_weight(body)
        if size > weight.HEAVIEST:
            why = "a request takes too much memory to read"
            raise RefusedRequest(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, why)
        try:
            self.inbox.put(JsonBatch(body) if kind == JSON else ProtobufBatch(body), size)
        except ValueError as error:
            raise RefusedRequest(HTTPStatus.BAD_REQUEST, f"a request cannot be read: {error}") from error
