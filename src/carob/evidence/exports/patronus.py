"""Patronus: traces as trees, each span with those below it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from carob.evidence.exports.base import ExportFormat, KeySign, Table
from carob.evidence.exports.facts import read_time
from carob.evidence.spans.otlp import SpanEvent, SpanRecord
from carob.providers.base import table, text_of

_DURATION: Final = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")
_UNITS: Final = (86_400.0, 3_600.0, 60.0, 1.0)


def _read(row: Table) -> Iterator[SpanRecord]:
    """A span and all below it. Not by recursion: a tree may be deep."""
    waiting = [row]
    while waiting:
        span = waiting.pop()
        yield _read_span(span)
        below = span.get("child_spans")
        waiting += below[::-1] if isinstance(below, list) else []


def _read_span(span: Table) -> SpanRecord:
    started = read_time(span.get("timestamp")) or 0.0
    return SpanRecord(
        trace_id=str(span["trace_id"]),
        span_id=str(span["span_id"]),
        parent_id=str(span.get("parent_span_id") or ""),
        name=text_of(span.get("span_name")),
        started=started,
        ended=_find_end(started, span.get("duration")),
        attributes=table(span.get("span_attributes")),
        resource=table(span.get("resource_attributes")),
        events=tuple(_read_events(span.get("events"))),
        failed=text_of(span.get("status_code")).lower() == "error",
        status=text_of(span.get("status_message")),
    )


def _find_end(started: float, duration: object) -> float:
    """The end of a span; 0 where its duration is not known, as it is where the span has not ended."""
    matched = _DURATION.fullmatch(text_of(duration))
    if matched is None or not started:
        return 0.0
    return started + sum(unit * float(number) for unit, number in zip(_UNITS, matched.groups(), strict=True) if number)


def _read_events(value: object) -> Iterator[SpanEvent]:
    for event in value if isinstance(value, list) else ():
        values = table(event)
        name = text_of(values.get("Name", values.get("name")))
        moment = read_time(values.get("Timestamp", values.get("timestamp")))
        yield SpanEvent(name, moment or 0.0, table(values.get("Attributes", values.get("attributes"))))


PATRONUS = ExportFormat(
    name="patronus", signs=(KeySign(("span_id", "span_attributes", "child_spans")),), read_spans=_read
)
"""Trees of spans."""
