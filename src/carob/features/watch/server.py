"""Takes spans over OTLP/HTTP and shows what is counted. A request is answered once its spans are written down."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from ipaddress import ip_address
from typing import Final

import msgspec

from carob.evidence.span_receiver import EMPTY, JSON, RequestReader
from carob.evidence.spans.otlp import SpanBatch, SpanRecord, request_type
from carob.features.watch.metrics import CONTENT_TYPE
from carob.system.loopback import Connection, HttpRequest, LoopbackServer, format_reply
from carob.system.loopback_auth import LOOPBACK, BearerGuard, RefusedRequest

METRICS: Final = "/metrics"
NAME: Final = "carob watch"
HELLO: Final = "carob watch: POST spans to /v1/traces (OTLP, protobuf or JSON); figures are at /metrics\n"
NO_ID: Final = "spans without a valid trace id and span id"
NOT_HELD: Final = "spans of conversations that Carob cannot hold"
Accept = Callable[[list[SpanRecord]], int]


def is_local(host: str) -> bool:
    """Whether only this machine reaches what listens there."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class WatchServer:
    """Listens from `open` to `close`. `accept` writes spans down, and says how many of them cannot be held."""

    def __init__(
        self,
        host: str,
        token: str,
        accept: Accept,
        metrics: Callable[[], str],
        note_request: Callable[[str], None],
    ) -> None:
        self._host = host
        self._accept = accept
        self._metrics = metrics
        self._note_request = note_request
        self._reader = RequestReader()
        guard = partial(BearerGuard, is_local=is_local(host))
        self._server = LoopbackServer(self._serve, NAME, note_request, lambda port, _: guard(port, token))

    @property
    def address(self) -> str:
        return self._server.address

    def open(self, port: int) -> None:
        """Listen. Raises ConfigError."""
        request_type()
        self._server.open(port, LOOPBACK if self._host == "localhost" else self._host)

    def close(self) -> None:
        self._server.close()

    def _serve(self, connection: Connection, request: HttpRequest) -> bool:
        path = request.path.partition("?")[0]
        if request.method == "GET" and path in (METRICS, "/"):
            text = self._metrics() if path == METRICS else HELLO
            kind = CONTENT_TYPE if path == METRICS else "text/plain"
            connection.send(format_reply(HTTPStatus.OK, kind, text.encode()))
            return request.keeps_alive
        refused: list[tuple[int, str]] = []
        kind = self._reader.read(request, lambda batch, _: refused.extend(self._take(batch)))
        self._note_request("")
        connection.send(format_reply(HTTPStatus.OK, kind, _describe_refused(refused, kind)))
        return request.keeps_alive

    def _take(self, batch: SpanBatch) -> list[tuple[int, str]]:
        """Take spans; how many were not taken, and why."""
        records = batch.records()
        named = [record for record in records if _is_named(record)]
        try:
            dropped = self._accept(named)
        except sqlite3.Error as error:
            why = f"spans cannot be written down now: {error}. Send them again"
            raise RefusedRequest(HTTPStatus.SERVICE_UNAVAILABLE, why) from error
        counts = [(len(records) - len(named), NO_ID), (dropped, NOT_HELD)]
        return [(count, why) for count, why in counts if count]


def _is_named(record: SpanRecord) -> bool:
    """Whether a span has an id and a trace: without them it would be taken for one of another conversation."""
    ids = (record.trace_id, record.span_id)
    return [len(name) for name in ids] == [32, 16] and all(name.strip("0") for name in ids)


def _describe_refused(refused: list[tuple[int, str]], kind: str) -> bytes:
    """The answer to a request: what of it was not taken, as OTLP has it."""
    if not refused:
        return EMPTY[kind]
    count = sum(number for number, _ in refused)
    message = "; ".join(f"{number} {why}" for number, why in refused)
    if kind == JSON:
        return msgspec.json.encode({"partialSuccess": {"rejectedSpans": str(count), "errorMessage": message}})
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    reply = ExportTraceServiceResponse()
    reply.partial_success.rejected_spans, reply.partial_success.error_message = count, message
    return bytes(reply.SerializeToString())
