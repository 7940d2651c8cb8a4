"""Langfuse: traces of its API with their observations, observations alone, and the files of a blob export.

A blob export has the session of a trace only in its `traces`, and observations apart from them; scores are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from carob.evidence.exports.base import ExportFormat, KeySign, Table, TraceNotes
from carob.evidence.exports.canonical import keep_recorded
from carob.evidence.exports.facts import list_tags, read_time
from carob.evidence.spans.otlp import NOT_RECORDED, SpanRecord
from carob.evidence.spans.platforms import LANGFUSE_IN, LANGFUSE_OUT, LANGFUSE_TYPE, LANGFUSE_USAGE
from carob.providers.base import table, text_of
from carob.providers.messages import decode_value

KNOWN_TYPES = {"TOOL": "tool", "GENERATION": "generation", "AGENT": "agent"}


def _read(row: Table) -> Iterator[SpanRecord | TraceNotes]:
    if "dataType" in row or "data_type" in row:  # a score
        return
    if "parent_observation_id" in row or "parentObservationId" in row:
        yield _read_observation(row, str(_get(row, "trace_id", "traceId") or ""))
        return
    trace_id = str(row["id"])
    yield TraceNotes(trace_id, _describe(row))
    observations = decode_value(row.get("observations"))
    for observation in observations if isinstance(observations, list) else ():
        if not isinstance(observation, dict):
            raise ValueError("an observation is not an object: ask the API for the trace with `fields=observations`")
        yield _read_observation(observation, trace_id)


def _describe(row: Table) -> dict[str, object]:
    """What a trace says of itself, by the names of attributes."""
    return keep_recorded(
        {
            "session.id": _get(row, "session_id", "sessionId") or NOT_RECORDED,
            "user.id": _get(row, "user_id", "userId") or NOT_RECORDED,
            "langfuse.version": row.get("version") or NOT_RECORDED,
            "langfuse.release": row.get("release") or NOT_RECORDED,
            "tags": [*list_tags(row)],
            "metadata": table(decode_value(row.get("metadata"))),
        }
    )


def _read_observation(row: Table, trace_id: str) -> SpanRecord:
    if not trace_id:
        raise ValueError("`trace_id` is missing")
    kind = str(row.get("type") or "SPAN").upper()
    ended = read_time(_get(row, "end_time", "endTime"))
    started = read_time(_get(row, "start_time", "startTime")) or 0.0
    level = row.get("level")
    model = _get(row, "provided_model_name", "model")
    attributes = {
        LANGFUSE_TYPE: KNOWN_TYPES.get(kind, kind.lower()),
        LANGFUSE_IN: _content(row.get("input")),
        LANGFUSE_OUT: _output(row),
        "langfuse.observation.level": level or NOT_RECORDED,
        "langfuse.observation.model.name": model or NOT_RECORDED,
        "langfuse.observation.model.parameters": _content(_get(row, "model_parameters", "modelParameters")),
        LANGFUSE_USAGE[0]: _usage(row),
        "langfuse.observation.cost_details": _content(_get(row, "cost_details", "costDetails")),
        "session.id": _get(row, "session_id", "sessionId") or NOT_RECORDED,
        "user.id": _get(row, "user_id", "userId") or NOT_RECORDED,
        "langfuse.version": row.get("version") or NOT_RECORDED,
    }
    return SpanRecord(
        trace_id=trace_id,
        span_id=str(row["id"]),
        parent_id=str(_get(row, "parent_observation_id", "parentObservationId") or ""),
        name=str(row.get("name") or ""),
        started=started,
        ended=ended if ended is not None else (started if kind == "EVENT" else 0.0),
        attributes=keep_recorded(attributes),
        failed=level == "ERROR",
        status=text_of(_get(row, "status_message", "statusMessage")),
    )


def _output(row: Table) -> object:
    """The output; calls that an export has in a column of their own belong to it."""
    output = _content(row.get("output"))
    calls = decode_value(_get(row, "tool_calls", "toolCalls"))
    decoded = decode_value(output)
    if isinstance(calls, list) and calls and not (isinstance(decoded, dict) and decoded.get("tool_calls")):
        names = decode_value(_get(row, "tool_call_names", "toolCallNames"))
        listed = names if isinstance(names, list) else []
        named = [
            {"name": name, **table(decode_value(call))}
            for call, name in zip(calls, [*listed, *[""] * len(calls)], strict=False)
        ]
        text = output if isinstance(output, str) else None
        return {"role": "assistant", "content": text, "tool_calls": named}
    return output


def _usage(row: Table) -> object:
    usage = table(decode_value(_get(row, "usage_details", "usageDetails"))) or table(decode_value(row.get("usage")))
    return {key: _read_count(value) for key, value in usage.items()} or NOT_RECORDED


def _read_count(value: object) -> object:
    return int(value) if isinstance(value, str) and value.isdecimal() else value


def _content(value: object) -> object:
    return NOT_RECORDED if value in (None, "") else value


def _get(row: Table, *names: str) -> object:
    return next((row[name] for name in names if row.get(name) is not None), None)


LANGFUSE = ExportFormat(
    name="langfuse",
    signs=(
        KeySign(("parent_observation_id", "type")),
        KeySign(("parentObservationId", "type")),
        KeySign(("sessionId", "observations")),
        KeySign(("session_id", "bookmarked")),
        KeySign(("data_type", "trace_id", "value")),
        KeySign(("dataType", "traceId", "value")),
    ),
    read_spans=_read,
)
