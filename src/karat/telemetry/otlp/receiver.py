"""An OTLP/HTTP receiver on the loopback address: protobuf and JSON, plain or compressed, into an inbox."""

from __future__ import annotations

from karat.telemetry.otlp.inbox import Inbox
from karat.telemetry.otlp.loopback import HttpRequest, LoopbackServer, RefusedRequest, Wire, answered, unpacked
from karat.telemetry.spans.otlp_json import JsonBatch
from karat.telemetry.spans.protobuf import ProtobufBatch, request_type

TRACES = "/v1/traces"
OTHER_SIGNALS = ("/v1/metrics", "/v1/logs")
"""Taken and let go: an exporter that is refused them complains into the agent's own output."""
JSON, PROTOBUF = "application/json", "application/x-protobuf"
EMPTY = {JSON: b"{}", PROTOBUF: b""}


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
        request_type()
        self._server.open(port)

    def close(self) -> None:
        self._server.close()

    def _serve(self, wire: Wire) -> None:
        goes_on = True
        while goes_on:
            try:
                request = wire.request()
                if request is None:
                    return
                kind = self._taken(request)
                wire.send(answered("200 OK", kind, EMPTY[kind]))
                goes_on = request.keeps_alive
            except RefusedRequest as refused:
                self.inbox.lost(refused.why)
                wire.send(answered(refused.status, "text/plain", refused.why.encode()))
                wire.let_finish()
                return

    def _taken(self, request: HttpRequest) -> str:
        """Take a request in; the type of its content."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        path = request.path.partition("?")[0].rstrip("/")
        if request.method != "POST":
            raise RefusedRequest("405 Method Not Allowed", f"{request.method[:20]!r} is not a method to send spans")
        if path.endswith(OTHER_SIGNALS):
            return kind if kind == JSON else PROTOBUF
        if not path.endswith(TRACES):
            raise RefusedRequest("404 Not Found", f"spans were sent to {path[:80]!r} instead of {TRACES!r}")
        if kind not in (JSON, PROTOBUF):
            raise RefusedRequest("415 Unsupported Media Type", f"spans were sent as {kind[:40]!r}")
        body = unpacked(request)
        try:
            self.inbox.put(JsonBatch(body) if kind == JSON else ProtobufBatch(body), len(body))
        except ValueError as error:
            raise RefusedRequest("400 Bad Request", f"a request was sent of which {error}") from error
        return kind
