"""mlflow: traces as `Trace.to_json` writes them, rows of `search_traces` in Parquet, and the tables of its database."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping

from carob.evidence.exports.base import ExportFormat, KeySign, Table, TraceNotes
from carob.evidence.exports.facts import read_time
from carob.evidence.spans.otlp import NANO, SpanEvent, SpanRecord
from carob.providers.base import table, text_of
from carob.providers.messages import decode_value

RESERVED = "mlflow."
HEX_OF_SPAN = 16


def _read(row: Table) -> Iterator[SpanRecord | TraceNotes]:
    """The spans of a trace, and what its info says of it."""
    whole = table(decode_value(row.get("trace"))) or row
    info = table(whole.get("info")) or whole
    trace_id = str(info.get("trace_id") or info["request_id"])
    metadata = _pairs(info.get("trace_metadata", info.get("request_metadata")))
    tags = _pairs(info.get("tags"))
    yield TraceNotes(trace_id, describe_trace(metadata, tags))
    spans = decode_value(table(whole.get("data")).get("spans", row.get("spans")))
    if not isinstance(spans, list):
        raise ValueError("`spans` is not a list")
    for span in spans:
        yield read_span(table(decode_value(span)), trace_id)


def describe_trace(metadata: Mapping[str, object], tags: Mapping[str, object]) -> dict[str, object]:
    """What the metadata and the tags of a trace say, by the names of attributes."""
    reserved = {key: value for key, value in metadata.items() if key in ("mlflow.trace.session", "mlflow.trace.user")}
    own = {key: value for key, value in {**metadata, **tags}.items() if not key.startswith(RESERVED)}
    version = {"version": metadata["mlflow.modelId"]} if metadata.get("mlflow.modelId") else {}
    return {**reserved, **version, "metadata": own}


def read_span(span: Table, trace_id: str) -> SpanRecord:
    """One span of a trace, whose ids are base64 or hexadecimal."""
    status = span.get("status")
    code, message = (
        (table(status).get("code"), table(status).get("message")) if not isinstance(status, str) else (status, "")
    )
    attributes = table(decode_value(span.get("attributes")))
    return SpanRecord(
        trace_id=trace_id,
        span_id=_hex(span.get("span_id")),
        parent_id=_hex(span.get("parent_span_id", span.get("parent_id"))),
        name=str(span.get("name") or ""),
        started=_seconds(span, "start_time"),
        ended=_seconds(span, "end_time"),
        attributes=attributes,
        events=tuple(_events(span)),
        failed=code in ("STATUS_CODE_ERROR", "ERROR"),
        status=text_of(message),
    )


def _seconds(span: Table, name: str) -> float:
    nanoseconds = span.get(f"{name}_unix_nano", span.get(f"{name}_ns", span.get(name)))
    return read_time(nanoseconds) or 0.0


def _hex(value: object) -> str:
    """An id as hexadecimal; other texts as they are."""
    text = text_of(value)
    if not text or len(text) == HEX_OF_SPAN:
        return text
    try:
        return base64.b64decode(text, validate=True).hex()
    except ValueError:
        return text


def _pairs(value: object) -> dict[str, object]:
    """An object, or a list of keys and values as Parquet has a map."""
    value = decode_value(value)
    if isinstance(value, list):
        return {str(pair[0]): pair[1] for pair in value if isinstance(pair, list | tuple) and len(pair) == 2}
    return {key: item for key, item in table(value).items() if item is not None}


def _events(span: Table) -> Iterator[SpanEvent]:
    events = decode_value(span.get("events"))
    for event in events if isinstance(events, list) else ():
        values = table(event)
        at = values.get("time_unix_nano", values.get("timestamp", 0))
        moment = float(at) / NANO if isinstance(at, int) else 0.0
        yield SpanEvent(text_of(values.get("name")), moment, table(decode_value(values.get("attributes"))))


MLFLOW = ExportFormat(
    name="mlflow",
    signs=(KeySign(("info", "data.spans")), KeySign(("trace_id", "trace_metadata", "spans"))),
    read_spans=_read,
)
