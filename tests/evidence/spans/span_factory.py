"""Requests of OTLP as protobuf, made by hand, and how they are sent."""

from __future__ import annotations

import http.client
from collections.abc import Iterable
from itertools import count
from urllib.parse import urlsplit

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

NANO = 1_000_000_000
_ids = count(1)


def span(
    name: str,
    trace: str,
    *,
    parent: str = "",
    at: float = 100.0,
    took: float = 1.0,
    failed: str = "",
    **attributes: str,
) -> Span:
    """A span with an id of its own; of attributes, `__` stands for a dot."""
    return Span(
        trace_id=bytes.fromhex(trace),
        span_id=next(_ids).to_bytes(8, "big"),
        parent_span_id=bytes.fromhex(parent),
        name=name,
        start_time_unix_nano=int(at * NANO),
        end_time_unix_nano=int((at + 1) * NANO),
        attributes=[KeyValue(key=k.replace("__", "."), value=AnyValue(string_value=v)) for k, v in attributes.items()],
        status=Status(code=Status.STATUS_CODE_ERROR, message=failed) if failed else None,
    )


def tool(name: str, trace: str, arguments: str = "{}", result: str = '{"ok": true}', **rest: object) -> Span:
    content = {"gen_ai__tool__call__arguments": arguments, "gen_ai__tool__call__result": result}
    return span(
        f"execute_tool {name}",
        trace,
        gen_ai__operation__name="execute_tool",
        gen_ai__tool__name=name,
        **content,
        **rest,  # type: ignore[arg-type]
    )


def request(spans: Iterable[Span], scope: str = "") -> bytes:
    made = ExportTraceServiceRequest()
    group = made.resource_spans.add().scope_spans.add()
    group.scope.name = scope
    group.spans.extend(spans)
    return made.SerializeToString()


def post(endpoint: str, body: bytes, path: str = "/v1/traces", **headers: str) -> int:
    """Send a request; the status of its answer."""
    to = urlsplit(endpoint)
    connection = http.client.HTTPConnection(to.netloc, timeout=10)
    sent = {"Content-Type": "application/x-protobuf", **{k.replace("_", "-"): v for k, v in headers.items()}}
    try:
        connection.request("POST", to.path + path, body, sent)
        return connection.getresponse().status
    finally:
        connection.close()
