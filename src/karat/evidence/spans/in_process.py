"""Spans of an agent that runs in this process: they are made within the turn that Karat began, and flushed with it."""

from __future__ import annotations

import asyncio
import sys

from karat.evidence.spans.marks import CASE_ENTRY, Marks

FLUSH_MS = 5_000


def enter(marks: Marks) -> None:
    """Put the spans of this task below the mark of its turn, if its agent has loaded OpenTelemetry at all."""
    if not (marks.listening and marks.turns) or "opentelemetry.trace" not in sys.modules:
        return
    from opentelemetry import baggage, context, trace

    turn = marks.turns[-1]
    parent = trace.SpanContext(
        int(turn.trace_id, 16), int(turn.span_id, 16), is_remote=True, trace_flags=trace.TraceFlags(1)
    )
    within = trace.set_span_in_context(trace.NonRecordingSpan(parent))
    context.attach(baggage.set_baggage(CASE_ENTRY, marks.case_entry, within))


async def flush() -> None:
    """Have what this process made sent now; a provider that cannot flush sends in its own time."""
    if "opentelemetry.trace" not in sys.modules:
        return
    from opentelemetry import trace

    force = getattr(trace.get_tracer_provider(), "force_flush", None)
    if callable(force):
        await asyncio.to_thread(force, FLUSH_MS)
