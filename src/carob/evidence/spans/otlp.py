"""OTLP: a request, as JSON or protobuf → its spans → plain values, which only the spans of a case become.

In JSON, as exporters send it and collectors write it to files, ids are hexadecimal and long numbers are texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import msgspec
from msgspec import Meta, Struct, structs

from carob.errors import ConfigError
from carob.system.installing import install_extra
from carob.system.memory_estimate import split_fields
from carob.text.clean import is_clean, jsonable

if TYPE_CHECKING:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

Attributes = Mapping[str, object]
Part = TypeVar("Part", bound=Struct)
CUT_TEXT = "a text of a span is cut within a character"
NOT_DECODED = "a span cannot be decoded"
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})+")
ERROR = 2
"""OTLP's status code of a span that failed."""
RESOURCE_CAP = 256
"""So many attributes of a resource are read: each of its spans is looked for in them."""
NANO = 1_000_000_000
LATEST = (1 << 63) / NANO
"""Clocks count nanoseconds in 63 bits: no span has a later time, in seconds."""
NO_TIME = "a span has a time that cannot be"
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
    unread: str = ""
    """Why the span could not be read; nothing of it is known but its trace."""


ReadTable = Callable[[Any], Attributes]


class Origin(NamedTuple):
    """Where spans of a request come from, which is the same for many of them, and what reads one of them."""

    scope: str
    resource: Attributes
    read_table: ReadTable
    read_id: Callable[[Any], bytes]

    def record(self, span: Any) -> SpanRecord:
        if isinstance(span, UnreadSpan):
            known = None if span.span is None else self.record(span.span)
            known = known or SpanRecord(span.trace_id, span.span_id, "", "", 0.0, 0.0, {}, resource=self.resource)
            return structs.replace(known, unread=span.why)
        record = self._record(span)
        is_possible = max(record.started, record.ended, *(event.at for event in record.events)) < LATEST
        return record if is_possible else structs.replace(record, started=0.0, ended=0.0, events=(), unread=NO_TIME)

    def _record(self, span: Any) -> SpanRecord:
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

    @classmethod
    def of_value(cls, value: Mapping[str, Any]) -> SpanBatch:
        """A request that was decoded already, texts that are cut within a character included."""
        batch = cls.__new__(cls)
        batch._read_spans = partial(_spans, _convert_request(value), _json_table, bytes.fromhex)
        return batch

    def spans(self) -> list[ArrivedSpan]:
        return list(self._read_spans())

    def records(self) -> list[SpanRecord]:
        """Its spans, read."""
        return [origin.record(span) for _, span, origin in self.spans()]


class UnreadSpan(Struct, frozen=True):
    """A span of a request that is not as OTLP says, and what is known of it; every other one is read."""

    trace_id: str
    span_id: str
    why: str
    span: _Span | None = None
    name: str = ""


def request_type() -> type[ExportTraceServiceRequest]:
    """What reads a request in protobuf. Raises ConfigError if its library is not installed."""
    try:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    except ModuleNotFoundError as error:
        raise ConfigError("opentelemetry-proto is not installed.", fix=install_extra("otlp"), slug="no-otlp") from error
    return ExportTraceServiceRequest


def _parse_protobuf(body: bytes) -> Any:
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    try:
        return request_type().FromString(body)
    except DecodeError as error:
        request = _split_protobuf(body)
        if not any(scope.spans for group in request.resource_spans for scope in group.scope_spans):
            raise ValueError("not an OTLP request in protobuf") from error
        return request


def _split_protobuf(body: bytes) -> _Request:
    """A request of which a part cannot be decoded, span by span."""
    from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
    from opentelemetry.proto.resource.v1.resource_pb2 import Resource
    from opentelemetry.proto.trace.v1.trace_pb2 import Span

    groups = []
    for group in (split_fields(data) for data in split_fields(body).get(1, ())):
        resource, why = _decode_part(Resource, b"".join(group.get(1, ())))
        scopes = []
        for scope in (split_fields(data) for data in group.get(2, ())):
            about, problem = _decode_part(InstrumentationScope, b"".join(scope.get(1, ())))
            spans = [_decode_span(Span, data, why or problem) for data in scope.get(2, ())]
            scopes.append(_ScopeSpans(about, spans))
        groups.append(_ResourceSpans(resource, scopes))
    return _Request(groups)


def _decode_part(kind: Any, data: bytes) -> tuple[Any, str]:
    from google.protobuf.message import DecodeError

    try:
        return kind.FromString(data), ""
    except DecodeError:
        return None, NOT_DECODED


def _decode_span(kind: Any, data: bytes, why: str) -> Any:
    span, problem = _decode_part(kind, data)
    if span is not None and not why:
        return span
    fields = split_fields(data)
    trace_id, span_id = (b"".join(fields.get(number, ())[:1]).hex() for number in (1, 2))
    return UnreadSpan(trace_id, span_id, why or problem)


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
        reason = str(error)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    try:
        return _convert_request(json.loads(body.decode("utf-8", "surrogateescape")))
    except (ValueError, RecursionError):
        raise ValueError(f"not an OTLP request in JSON: {reason}") from None


def _convert_request(request: object) -> _Request:
    """A request of which a part is not as OTLP says, span by span. Raises ValueError for what has no spans."""
    groups = []
    for group in _objects(request, "resourceSpans"):
        resource, why = _convert_part(group.get("resource"), _Resource)
        scopes = []
        for scope in _objects(group, "scopeSpans"):
            about, problem = _convert_part(scope.get("scope"), _Scope)
            spans = [_convert_span(span, why or problem) for span in _objects(scope, "spans")]
            scopes.append(_ScopeSpans(about, spans))
        groups.append(_ResourceSpans(resource, scopes))
    if not any(scope.spans for group in groups for scope in group.scope_spans):
        raise ValueError("it has no spans")
    return _Request(groups)


def _objects(value: object, key: str) -> list[dict[str, Any]]:
    """The objects of a list; what is none in it is one without keys."""
    entries = value.get(key) if isinstance(value, Mapping) else None
    if not isinstance(entries, list | None):
        raise ValueError(f"`{key}` is not a list")
    return [entry if isinstance(entry, dict) else {} for entry in entries or ()]


def _convert_part(value: object, kind: type[Part]) -> tuple[Part | None, str]:
    """A part of a request, and what is wrong with it."""
    try:
        return msgspec.convert(jsonable(value), kind | None), "" if is_clean(value) else CUT_TEXT
    except msgspec.ValidationError as error:
        return None, f"a span cannot be read: {error}"


def _convert_span(value: dict[str, Any], why: str) -> Any:
    span, problem = _convert_part(value, _Span)
    if span is not None and not (why or problem):
        return span
    ids = [text if isinstance(text := value.get(key), str) else "" for key in ("traceId", "spanId")]
    trace_id, span_id = (text.lower() if _HEX.fullmatch(text) else "" for text in ids)
    return UnreadSpan(trace_id, span_id, why or problem, span)


def _spans(request: Any, read_table: ReadTable, read_id: Callable[[Any], bytes]) -> Iterator[ArrivedSpan]:
    """The spans of a request. What is parsed of JSON has the same names as a message of protobuf."""
    for group in request.resource_spans:
        resource = read_table(group.resource.attributes[:RESOURCE_CAP]) if group.resource else {}
        for scope in group.scope_spans:
            origin = Origin(scope.scope.name if scope.scope else "", resource, read_table, read_id)
            for span in scope.spans:
                trace_id = bytes.fromhex(span.trace_id) if isinstance(span, UnreadSpan) else read_id(span.trace_id)
                yield trace_id, span, origin


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
