"""OTLP: a request, as JSON or protobuf → its spans → plain values, which only the spans of a case become.

In JSON, as exporters send it and collectors write it to files, ids are hexadecimal and long numbers are texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct

from carob.errors import ConfigError
from carob.system.installing import install_extra

if TYPE_CHECKING:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

Attributes = Mapping[str, object]
ERROR = 2
"""OTLP's status code of a span that failed."""
RESOURCE_CAP = 256
"""So many attributes of a resource are read: each of its spans is looked for in them."""
NANO = 1_000_000_000
DEEPEST = 64


class NotRecorded:
    """What a span does not carry, which is not the same as None."""

    def __bool__(self) -> bool:
        return False


NOT_RECORDED = NotRecorded()


class SpanEvent(Struct, frozen=True):
    """What a span reports of a moment within it."""

    name: str
    at: float
    attributes: Attributes


class SpanRecord(Struct, frozen=True):
    """A span that has ended. Ids are hexadecimal; a root has no parent."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    started: float
    ended: float
    attributes: Attributes
    events: tuple[SpanEvent, ...] = ()
    failed: bool = False
    status: str = ""
    """What the span says of its failure."""
    scope: str = ""
    resource: Attributes = {}
    lossy: bool = False
    """Whether its maker had to leave attributes or events out."""


ReadTable = Callable[[Any], Attributes]


class Origin(NamedTuple):
    """Where spans of a request come from, which is the same for many of them, and what reads one of them."""

    scope: str
    resource: Attributes
    read_table: ReadTable
    read_id: Callable[[Any], bytes]

    def record(self, span: Any) -> SpanRecord:
        status, read_table, read_id = span.status or _Status(), self.read_table, self.read_id
        return SpanRecord(
            trace_id=read_id(span.trace_id).hex(),
            span_id=read_id(span.span_id).hex(),
            parent_id=read_id(span.parent_span_id).hex(),
            name=span.name,
            started=int(span.start_time_unix_nano) / NANO,
            ended=int(span.end_time_unix_nano) / NANO,
            attributes=read_table(span.attributes),
            events=tuple(
                SpanEvent(e.name, int(e.time_unix_nano) / NANO, read_table(e.attributes)) for e in span.events
            ),
            failed=status.code in (ERROR, "STATUS_CODE_ERROR"),
            status=status.message,
            scope=self.scope,
            resource=self.resource,
            lossy=bool(span.dropped_attributes_count or span.dropped_events_count),
        )


ArrivedSpan = tuple[bytes, Any, Origin]
"""A span that was received and not yet read: the id of its trace, the span, and what can read it."""


class SpanBatch:
    """A request that was received, parsed, and not looked at any further."""

    __slots__ = ("_read_spans",)

    def __init__(self, body: bytes, *, json: bool = False) -> None:
        """Raises ValueError if it cannot be read."""
        self._read_spans: Callable[[], Iterator[ArrivedSpan]] = (
            partial(_spans, _parse_json(body), _json_table, bytes.fromhex)
            if json
            else partial(_spans, _parse_protobuf(body), _protobuf_table, bytes)
        )

    def spans(self) -> list[ArrivedSpan]:
        return list(self._read_spans())

    def records(self) -> list[SpanRecord]:
        """Its spans, read."""
        return [origin.record(span) for _, span, origin in self.spans()]


def request_type() -> type[ExportTraceServiceRequest]:
    """What reads a request in protobuf. Raises ConfigError if its library is not installed."""
    try:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    except ModuleNotFoundError as error:
        raise ConfigError("opentelemetry-proto is not installed.", fix=install_extra("otlp"), slug="no-otlp") from error
    return ExportTraceServiceRequest


def _parse_protobuf(body: bytes) -> ExportTraceServiceRequest:
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    try:
        request: ExportTraceServiceRequest = request_type().FromString(body)
    except DecodeError as error:
        raise ValueError("not an OTLP request in protobuf") from error
    return request


def _protobuf_table(pairs: Iterable[KeyValue]) -> Attributes:
    return {pair.key: _protobuf_value(pair.value) for pair in pairs}


def _protobuf_value(value: AnyValue) -> object:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_protobuf_value(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return _protobuf_table(value.kvlist_value.values)
    if kind == "bytes_value":
        return value.bytes_value.hex()
    return None if kind is None else getattr(value, kind)


Nanoseconds = int | Annotated[str, Meta(pattern=r"^\d{1,20}$")]


class _Value(Struct, rename="camel"):
    string_value: str | None = None
    bool_value: bool | None = None
    int_value: int | Annotated[str, Meta(pattern=r"^-?\d{1,20}$")] | None = None
    double_value: float | str | None = None
    array_value: _Values | None = None
    kvlist_value: _Pairs | None = None
    bytes_value: str | None = None


class _Values(Struct):
    values: list[_Value] = []


class _Pair(Struct):
    key: str = ""
    value: _Value | None = None


class _Pairs(Struct):
    values: list[_Pair] = []


class _Event(Struct, rename="camel"):
    name: str = ""
    time_unix_nano: Nanoseconds = 0
    attributes: list[_Pair] = []


class _Status(Struct):
    code: int | str = 0
    message: str = ""


class _Span(Struct, rename="camel"):
    trace_id: Annotated[str, Meta(pattern=r"^[0-9a-fA-F]{32}$")]
    span_id: Annotated[str, Meta(pattern=r"^[0-9a-fA-F]{16}$")]
    parent_span_id: Annotated[str, Meta(pattern=r"^([0-9a-fA-F]{16})?$")] = ""
    name: str = ""
    start_time_unix_nano: Nanoseconds = 0
    end_time_unix_nano: Nanoseconds = 0
    attributes: list[_Pair] = []
    events: list[_Event] = []
    status: _Status | None = None
    dropped_attributes_count: int = 0
    dropped_events_count: int = 0


class _Scope(Struct):
    name: str = ""


class _ScopeSpans(Struct):
    scope: _Scope | None = None
    spans: list[_Span] = []


class _Resource(Struct):
    attributes: list[_Pair] = []


class _ResourceSpans(Struct, rename="camel"):
    resource: _Resource | None = None
    scope_spans: list[_ScopeSpans] = []


class _Request(Struct, rename="camel"):
    resource_spans: list[_ResourceSpans] = []


_decode_request = msgspec.json.Decoder(_Request).decode


def _parse_json(body: bytes) -> _Request:
    try:
        return _decode_request(body)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise ValueError(f"not an OTLP request in JSON: {error}") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _spans(request: Any, read_table: ReadTable, read_id: Callable[[Any], bytes]) -> Iterator[ArrivedSpan]:
    """The spans of a request. What is parsed of JSON has the same names as a message of protobuf."""
    for group in request.resource_spans:
        resource = read_table(group.resource.attributes[:RESOURCE_CAP]) if group.resource else {}
        for scope in group.scope_spans:
            origin = Origin(scope.scope.name if scope.scope else "", resource, read_table, read_id)
            yield from ((read_id(span.trace_id), span, origin) for span in scope.spans)


def _json_table(pairs: list[_Pair], depth: int = 0) -> Attributes:
    return {pair.key: _json_value(pair.value, depth) for pair in pairs}


def _json_value(value: _Value | None, depth: int) -> object:
    if value is None or depth > DEEPEST:
        return None
    if value.array_value is not None:
        return [_json_value(item, depth + 1) for item in value.array_value.values]
    if value.kvlist_value is not None:
        return _json_table(value.kvlist_value.values, depth + 1)
    if value.int_value is not None:
        return int(value.int_value)
    plain = (value.string_value, value.bool_value, value.double_value, value.bytes_value)
    return next((item for item in plain if item is not None), None)
