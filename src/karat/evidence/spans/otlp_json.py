"""OTLP as JSON: as exporters send it, and as collectors write it to files. Ids are hexadecimal, long numbers texts."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from karat.evidence.spans.record import ERROR, RESOURCE, ArrivedSpan, Attributes, SpanEvent, SpanRecord

NANO = 1_000_000_000
DEEPEST = 64

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


_request = msgspec.json.Decoder(_Request).decode


class JsonOrigin:
    """Where spans of a request come from, which is the same for many of them."""

    __slots__ = ("_resource", "_scope")

    def __init__(self, scope: _ScopeSpans, resource: Attributes) -> None:
        self._scope = scope
        self._resource = resource

    def record(self, span: _Span) -> SpanRecord:
        status = span.status
        return SpanRecord(
            trace_id=span.trace_id.lower(),
            span_id=span.span_id.lower(),
            parent_id=span.parent_span_id.lower(),
            name=span.name,
            started=int(span.start_time_unix_nano) / NANO,
            ended=int(span.end_time_unix_nano) / NANO,
            attributes=_table(span.attributes),
            events=tuple(SpanEvent(e.name, int(e.time_unix_nano) / NANO, _table(e.attributes)) for e in span.events),
            failed=status is not None and status.code in (ERROR, "STATUS_CODE_ERROR"),
            status=status.message if status else "",
            scope=self._scope.scope.name if self._scope.scope else "",
            resource=self._resource,
            lossy=bool(span.dropped_attributes_count or span.dropped_events_count),
        )


class JsonBatch:
    """A request, parsed. Its spans are looked at when somebody asks for them."""

    __slots__ = ("_request",)

    def __init__(self, body: bytes) -> None:
        """Raises ValueError if it cannot be read."""
        try:
            self._request = _request(body)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise ValueError(f"not an OTLP request in JSON: {error}") from error
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error

    def spans(self) -> list[ArrivedSpan[_Span]]:
        return [
            (bytes.fromhex(span.trace_id), span, origin)
            for group in self._request.resource_spans
            for resource in (_table(group.resource.attributes[:RESOURCE]) if group.resource else {},)
            for scope in group.scope_spans
            for origin in (JsonOrigin(scope, resource),)
            for span in scope.spans
        ]


def records(body: bytes) -> list[SpanRecord]:
    """The spans of a request, read."""
    return [origin.record(span) for _, span, origin in JsonBatch(body).spans()]


def _table(pairs: list[_Pair], depth: int = 0) -> Attributes:
    return {pair.key: _value(pair.value, depth) for pair in pairs}


def _value(value: _Value | None, depth: int) -> object:
    if value is None or depth > DEEPEST:
        return None
    if value.array_value is not None:
        return [_value(item, depth + 1) for item in value.array_value.values]
    if value.kvlist_value is not None:
        return _table(value.kvlist_value.values, depth + 1)
    if value.int_value is not None:
        return int(value.int_value)
    plain = (value.string_value, value.bool_value, value.double_value, value.bytes_value)
    return next((item for item in plain if item is not None), None)
