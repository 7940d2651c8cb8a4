"""LangSmith: runs, one per line of JSON, or the rows of a bulk export in Parquet, whose objects are JSON as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from carob.evidence.exports.base import ExportFormat, KeySign, Table
from carob.evidence.exports.canonical import agent_attributes, model_attributes, tool_attributes
from carob.evidence.exports.facts import read_time
from carob.evidence.spans.otlp import NOT_RECORDED, SpanRecord
from carob.evidence.spans.platforms import answered_messages, finish_reason, given_messages
from carob.providers.base import table, text_of
from carob.providers.messages import decode_value
from carob.text.tool_results import parse_result

SESSION = ("session_id", "thread_id", "conversation_id")
"""In the metadata. The column `session_id` is the project."""
NOT_OF_USERS = ("ls_", "LANGSMITH_", "LANGCHAIN_", "revision_id", "usage_metadata")


def _read(row: Table) -> Iterator[SpanRecord]:
    extra = table(decode_value(row.get("extra")))
    metadata = table(extra.get("metadata")) or table(decode_value(row.get("metadata")))
    inputs, outputs = decode_value(row.get("inputs")), decode_value(row.get("outputs"))
    about = {key: value for key, value in metadata.items() if not key.startswith(NOT_OF_USERS)}
    session = next((str(metadata[key]) for key in SESSION if metadata.get(key)), None)
    error = text_of(row.get("error"))
    yield SpanRecord(
        trace_id=str(row["trace_id"]),
        span_id=str(row["id"]),
        parent_id=str(row.get("parent_run_id") or ""),
        name=str(row.get("name") or ""),
        started=read_time(row.get("start_time")) or 0.0,
        ended=read_time(row.get("end_time")) or 0.0,
        attributes={
            **_attributes(row, inputs, outputs, extra, metadata),
            "metadata": about,
            "tags": row.get("tags"),
            "version": extra.get("revision_id") or metadata.get("revision_id"),
            **({"session.id": session} if session else {}),
            **{key: metadata[key] for key in ("user_id", "user") if key in metadata},
        },
        failed=bool(error),
        status=_last_line(error),
    )


def _attributes(
    row: Table, inputs: object, outputs: object, extra: Table, metadata: Mapping[str, object]
) -> dict[str, object]:
    given = NOT_RECORDED if inputs in (None, {}) else inputs
    if row["run_type"] == "tool":
        arguments = NOT_RECORDED if inputs is None else _arguments(inputs)
        return tool_attributes(row.get("name"), arguments, _result(outputs))
    answer = NOT_RECORDED if outputs is None else _result(outputs)
    if row["run_type"] != "llm":
        return {**agent_attributes(row.get("name"), given_messages(given), answer), "gen_ai.operation.name": "chain"}
    output = table(outputs)
    parameters = table(extra.get("invocation_params"))
    usage = table(metadata.get("usage_metadata")) or table(output.get("usage_metadata")) or table(output.get("usage"))
    return model_attributes(
        given_messages(given),
        NOT_RECORDED if outputs is None or row.get("error") else answered_messages(outputs),
        model=metadata.get("ls_model_name") or output.get("model"),
        usage=usage or {"input_tokens": row.get("prompt_tokens"), "output_tokens": row.get("completion_tokens")},
        tools=table(inputs).get("tools") or parameters.get("tools"),
        finish=finish_reason(outputs) or NOT_RECORDED,
    )


def _arguments(inputs: object) -> object:
    """The arguments of a call. LangChain has all of them as one text: `{"input": "{'order': 'A-1'}"}`."""
    value = table(inputs)
    whole = parse_result(value["input"]) if [*value] == ["input"] else None
    return whole if isinstance(whole, Mapping) else inputs


def _result(outputs: object) -> object:
    """What was returned: anything but an object is under `output`, where null is nothing."""
    value = table(outputs)
    if [*value] != ["output"]:
        return NOT_RECORDED if outputs is None else outputs
    return NOT_RECORDED if value["output"] is None else value["output"]


def _last_line(error: str) -> str:
    """What an exception says, without its traceback."""
    lines = [line for line in error.strip().splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


LANGSMITH = ExportFormat(name="langsmith", signs=(KeySign(("run_type", "dotted_order")),), read_spans=_read)
