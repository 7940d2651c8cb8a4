"""Phoenix: spans as its REST API has them, and as its dataframe has them in Parquet or CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from carob.evidence.exports.base import ExportFormat, KeySign, Table
from carob.evidence.exports.facts import read_time
from carob.evidence.spans.otlp import SpanEvent, SpanRecord
from carob.providers.base import table, text_of
from carob.providers.messages import decode_value

DEEPEST = 16
ATTRIBUTES = "attributes."


def _read(row: Table) -> Iterator[SpanRecord]:
    context = table(row.get("context"))
    attributes = table(decode_value(row.get("attributes"))) | {
        key.removeprefix(ATTRIBUTES): value
        for key, value in row.items()
        if key.startswith(ATTRIBUTES) and value is not None
    }
    flat = dict(_list_attributes(attributes))
    kind = row.get("span_kind")
    if kind:
        flat["openinference.span.kind"] = kind
    yield SpanRecord(
        trace_id=str(context.get("trace_id") or row["context.trace_id"]),
        span_id=str(context.get("span_id") or row["context.span_id"]),
        parent_id=str(row.get("parent_id") or ""),
        name=str(row.get("name") or ""),
        started=read_time(row.get("start_time")) or 0.0,
        ended=read_time(row.get("end_time")) or 0.0,
        attributes=flat | _metadata(flat),
        events=tuple(_events(row)),
        failed=row.get("status_code") == "ERROR",
        status=text_of(row.get("status_message")),
    )


def _list_attributes(values: Mapping[str, object], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, object]]:
    """Attributes with one name each: objects and lists of messages are spread as instrumentations have them."""
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and depth < DEEPEST:
            yield from _list_attributes(value, f"{name}.", depth + 1)
        elif isinstance(value, list) and depth < DEEPEST and value and all(isinstance(i, Mapping) for i in value):
            yield from _list_attributes({str(number): item for number, item in enumerate(value)}, f"{name}.", depth + 1)
        elif value is not None:
            yield name, value


def _metadata(attributes: Mapping[str, object]) -> dict[str, object]:
    metadata = {key.removeprefix("metadata."): v for key, v in attributes.items() if key.startswith("metadata.")}
    return {"metadata": metadata} if metadata else {}


def _events(row: Table) -> Iterator[SpanEvent]:
    events = decode_value(row.get("events"))
    for event in events if isinstance(events, list) else ():
        values = table(event)
        attributes = dict(_list_attributes(table(values.get("attributes"))))
        yield SpanEvent(text_of(values.get("name")), read_time(values.get("timestamp")) or 0.0, attributes)


PHOENIX = ExportFormat(
    name="phoenix",
    signs=(KeySign(("context.span_id", "context.trace_id", "span_kind")),),
    read_spans=_read,
)
