"""Traces of OpenAI's Agents SDK: `trace` and `trace.span`, one per line, or within `data` as they are sent."""

from __future__ import annotations

from collections.abc import Iterator

from carob.evidence.exports.base import ExportFormat, KeySign, Table, TraceNotes
from carob.evidence.exports.canonical import agent_attributes, model_attributes, tool_attributes
from carob.evidence.exports.facts import read_time
from carob.evidence.spans.otlp import NOT_RECORDED, SpanRecord
from carob.providers.base import table, text_of

REDACTED = "Error running tool (non-fatal)"


def _read(row: Table) -> Iterator[SpanRecord | TraceNotes]:
    if row["object"] == "trace":
        metadata = table(row.get("metadata"))
        session = {"session.id": row["group_id"]} if row.get("group_id") else {}
        user = next((metadata[key] for key in ("user_id", "user") if metadata.get(key)), "")
        yield TraceNotes(str(row["id"]), {**session, "user.id": user, "metadata": metadata})
        return
    data, error = table(row["span_data"]), table(row.get("error"))
    yield SpanRecord(
        trace_id=str(row["trace_id"]),
        span_id=str(row["id"]),
        parent_id=str(row.get("parent_id") or ""),
        name=text_of(data.get("name")) or text_of(data.get("type")),
        started=read_time(row.get("started_at")) or 0.0,
        ended=read_time(row.get("ended_at")) or 0.0,
        attributes=_attributes(data),
        failed=bool(error),
        status=_error_text(error),
    )


def _attributes(data: Table) -> dict[str, object]:
    kind = data.get("type")
    if kind == "function":
        arguments, result = (_or_not_recorded(data.get(key)) for key in ("input", "output"))
        return tool_attributes(data.get("name"), arguments, result)
    if kind == "handoff":
        name = f"transfer_to_{text_of(data.get('to_agent')).lower().replace(' ', '_')}"
        return tool_attributes(name, NOT_RECORDED, NOT_RECORDED)
    if kind in ("generation", "response"):
        return model_attributes(
            _or_not_recorded(data.get("input")),
            _or_not_recorded(data.get("output")),
            model=data.get("model"),
            usage=table(data.get("usage")),
            tools=None,
            finish=None,
        )
    return agent_attributes(data.get("name"), NOT_RECORDED, NOT_RECORDED) if kind == "agent" else {}


def _or_not_recorded(value: object) -> object:
    return NOT_RECORDED if value is None else value


def _error_text(error: Table) -> str:
    """What is said of a failure; the details are left out by the SDK unless it is set to keep them."""
    details = text_of(table(error.get("data")).get("error"))
    message = text_of(error.get("message"))
    return details if message == REDACTED and details else message or details


def _is_trace(row: Table) -> bool:
    return bool(row["object"] == "trace")


def _is_span(row: Table) -> bool:
    return bool(row["object"] == "trace.span")


OPENAI_AGENTS = ExportFormat(
    name="openai-agents",
    signs=(KeySign(("object", "workflow_name"), _is_trace), KeySign(("object", "span_data"), _is_span)),
    read_spans=_read,
)
