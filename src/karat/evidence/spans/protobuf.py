"""OTLP as protobuf: one request → its spans, and one of them → plain values, which only the spans of a case are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from karat.errors import ConfigError
from karat.evidence.spans.record import ERROR, RESOURCE, ArrivedSpan, Attributes, SpanEvent, SpanRecord

if TYPE_CHECKING:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
    from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, Span

MISSING = "pip install 'karat[otlp]'"
NANO = 1_000_000_000


class ProtobufOrigin:
    """Where spans of a request come from, which is the same for many of them."""

    __slots__ = ("_resource", "_scope")

    def __init__(self, scope: ScopeSpans, resource: Attributes) -> None:
        self._scope = scope
        self._resource = resource

    def record(self, span: Span) -> SpanRecord:
        return SpanRecord(
            trace_id=span.trace_id.hex(),
            span_id=span.span_id.hex(),
            parent_id=span.parent_span_id.hex(),
            name=span.name,
            started=span.start_time_unix_nano / NANO,
            ended=span.end_time_unix_nano / NANO,
            attributes=_table(span.attributes),
            events=tuple(SpanEvent(e.name, e.time_unix_nano / NANO, _table(e.attributes)) for e in span.events),
            failed=span.status.code == ERROR,
            status=span.status.message,
            scope=self._scope.scope.name,
            resource=self._resource,
            lossy=bool(span.dropped_attributes_count or span.dropped_events_count),
        )


def request_type() -> type[ExportTraceServiceRequest]:
    """What reads a request. Raises ConfigError if its library is not installed."""
    try:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    except ModuleNotFoundError as error:
        raise ConfigError("opentelemetry-proto is not installed.", fix=MISSING, slug="no-otlp") from error
    return ExportTraceServiceRequest


class ProtobufBatch:
    """A request, parsed. Its spans are looked at when somebody asks for them."""

    __slots__ = ("_request",)

    def __init__(self, body: bytes) -> None:
        """Raises ValueError if it cannot be read."""
        from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

        try:
            self._request = request_type().FromString(body)
        except DecodeError as error:
            raise ValueError("not an OTLP request in protobuf") from error

    def spans(self) -> list[ArrivedSpan[Span]]:
        return [
            (span.trace_id, span, origin)
            for group in self._request.resource_spans
            for resource in (_table(group.resource.attributes[:RESOURCE]),)
            for scope in group.scope_spans
            for origin in (ProtobufOrigin(scope, resource),)
            for span in scope.spans
        ]


def _table(pairs: Iterable[KeyValue]) -> Attributes:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: AnyValue) -> object:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return _table(value.kvlist_value.values)
    if kind == "bytes_value":
        return value.bytes_value.hex()
    return None if kind is None else getattr(value, kind)
