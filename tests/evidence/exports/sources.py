"""One scripted agent, as each platform has what it did: files of the real software, and files made by its schema.

`files/` holds what the SDKs sent and the platforms gave back; tools.jsonl is the log of the tools themselves.
Langfuse's API and blob export, LangSmith's bulk export, Responses and Anthropic's messages are made here from the same
conversations, as their documentation and source have them.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow
from pyarrow import parquet

FILES = Path(__file__).parent / "files"
Json = dict[str, Any]


class Source(NamedTuple):
    """A source, and what of its conversations it does not have."""

    name: str
    write: Callable[[Path], Path]
    format: str
    is_real: bool = True
    runs_tools: bool = True
    """Whether it has spans of the tools, and so what ran and how it failed."""


def read_lines(name: str) -> list[Json]:
    return [json.loads(line) for line in (FILES / name).read_text().splitlines()]


def write_lines(path: Path, rows: list[Json]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def recorded(name: str) -> Callable[[Path], Path]:
    return lambda folder: FILES / name


def otlp_spans(name: str) -> Iterator[tuple[Json, Json]]:
    """The spans of a file, each with its attributes."""
    for request in read_lines(name):
        for group in request["resourceSpans"]:
            for scope in group["scopeSpans"]:
                for span in scope["spans"]:
                    pairs = span.get("attributes", [])
                    yield span, {pair["key"]: next(iter(pair["value"].values())) for pair in pairs}


def langfuse_rows() -> tuple[list[Json], list[Json]]:
    """The traces and the observations of a blob export."""
    traces: dict[str, Json] = {}
    observations = []
    for span, values in otlp_spans("langfuse-otlp.jsonl"):
        traces[span["traceId"]] = {
            "id": span["traceId"], "timestamp": _iso(span["startTimeUnixNano"]), "name": "desk", "bookmarked": False,
            "session_id": values["session.id"], "user_id": values["user.id"], "version": values["langfuse.version"],
            "tags": ["prod"], "metadata": {}, "public": False, "release": None,
        }  # fmt: skip
        observations.append(
            {
                "id": span["spanId"], "trace_id": span["traceId"], "parent_observation_id": span.get("parentSpanId"),
                "type": values["langfuse.observation.type"].upper(), "name": span["name"],
                "start_time": _iso(span["startTimeUnixNano"]), "end_time": _iso(span["endTimeUnixNano"]),
                "input": _plain(values.get("langfuse.observation.input")),
                "output": _plain(values.get("langfuse.observation.output")),
                "level": values.get("langfuse.observation.level", "DEFAULT"),
                "status_message": values.get("langfuse.observation.status_message"),
                "provided_model_name": values.get("langfuse.observation.model.name"),
                "usage_details": {"input": 20, "output": 5} if "generation" in str(values) else {},
            }
        )  # fmt: skip
    return [*traces.values()], observations


def write_langfuse_api(folder: Path) -> Path:
    """A pretty-printed page of `GET /api/public/traces`, with observations."""
    traces, observations = langfuse_rows()
    page = [
        {
            **{_camel(key): value for key, value in trace.items()},
            "observations": [
                {_camel(key): value for key, value in row.items()}
                for row in observations
                if row["trace_id"] == trace["id"]
            ],
            "scores": [],
        }
        for trace in traces
    ]
    path = folder / "traces.json"
    path.write_text(json.dumps({"data": page, "meta": {"page": 1, "totalPages": 1}}, indent=2))
    return path


def write_langfuse_blob(suffix: str) -> Callable[[Path], Path]:
    """A folder of a blob export: observations before the traces that name their sessions."""

    def write(folder: Path) -> Path:
        traces, observations = langfuse_rows()
        root = folder / f"langfuse-{suffix}"
        scores = [{"id": "1", "trace_id": traces[0]["id"], "data_type": "NUMERIC", "name": "quality", "value": 0.5}]
        for name, rows in (("observations", observations), ("scores", scores), ("traces", traces)):
            path = root / name / f"2026-11-19.{suffix}"
            path.parent.mkdir(parents=True)
            _WRITERS[suffix](path, rows)
        return root

    return write


def _write_csv(path: Path, rows: list[Json]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(rows[0])
        for row in rows:
            cells = (json.dumps(v) if isinstance(v, dict | list) else v for v in row.values())
            writer.writerow("" if cell is None else cell for cell in cells)


def _write_parquet(path: Path, rows: list[Json]) -> None:
    texts = [{k: json.dumps(v) if isinstance(v, dict | list) else v for k, v in row.items()} for row in rows]
    parquet.write_table(pyarrow.Table.from_pylist(texts), path)


_WRITERS: dict[str, Callable[[Path, list[Json]], object]] = {
    "jsonl": write_lines,
    "csv": _write_csv,
    "parquet": _write_parquet,
}


def write_langsmith_bulk(folder: Path) -> Path:
    """The Parquet of a bulk export: objects are text, times are timestamps, `session_id` is the project."""
    rows = []
    for run in read_lines("langsmith.jsonl"):
        texts = {key: json.dumps(run[key]) for key in ("inputs", "outputs", "extra") if key in run}
        times = {key: datetime.fromisoformat(run[key]) for key in ("start_time", "end_time")}
        rows.append({**run, **texts, **times, "events": None, "session_id": "project-1", "error": run.get("error")})
    columns = ("id", "trace_id", "dotted_order", "parent_run_id", "run_type", "name", "inputs", "outputs", "extra")
    more = ("start_time", "end_time", "error", "tags", "session_id")
    path = folder / "export_id=1" / "runs" / "year=2026" / "runs.parquet"
    path.parent.mkdir(parents=True)
    parquet.write_table(
        pyarrow.Table.from_pylist([{key: row.get(key) for key in (*columns, *more)} for row in reversed(rows)]), path
    )
    return folder / "export_id=1"


def write_responses(folder: Path) -> Path:
    """Responses of each conversation with their inputs; the second one of a turn names the first."""
    rows = []
    for chat in read_lines("openai-chat.jsonl"):
        given: list[Json] = []
        for message in chat["messages"]:
            if message["role"] == "assistant":
                output = [
                    {"type": "function_call", "call_id": call["id"], **call["function"]}
                    for call in message.get("tool_calls", ())
                ]
                text = message.get("content")
                parts = [{"type": "output_text", "text": text}]
                output += [{"type": "message", "role": "assistant", "content": parts}] if text else []
                response = {
                    "id": f"resp_{len(rows)}", "object": "response", "created_at": 1795050000 + len(rows),
                    "model": "scripted-1", "status": "completed", "output": output,
                    "conversation": {"id": chat["id"]}, "metadata": {"user_id": chat["user"]},
                }  # fmt: skip
                rows.append({"input": given, "response": response})
                given = []
            elif message["role"] == "tool":
                call_id = message["tool_call_id"]
                given.append({"type": "function_call_output", "call_id": call_id, "output": message["content"]})
            else:
                given.append({"role": "user", "content": message["content"]})
    return write_lines(folder / "responses.jsonl", rows)


def write_anthropic(folder: Path) -> Path:
    rows = []
    for chat in read_lines("openai-chat.jsonl"):
        messages: list[Json] = []
        for message in chat["messages"]:
            if message["role"] == "tool":
                failed = message["content"].startswith("Error")
                block = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": message["content"]}
                block |= {"is_error": True} if failed else {}
                if messages[-1]["role"] == "user":
                    messages[-1]["content"].append(block)
                else:
                    messages.append({"role": "user", "content": [block]})
            elif calls := message.get("tool_calls"):
                blocks = [
                    {
                        "type": "tool_use", "id": call["id"], "name": call["function"]["name"],
                        "input": json.loads(call["function"]["arguments"]),
                    }
                    for call in calls
                ]  # fmt: skip
                messages.append({"role": "assistant", "content": blocks})
            else:
                messages.append({"role": message["role"], "content": message["content"]})
        rows.append({**chat, "system": "You are a desk.", "messages": messages})
    return write_lines(folder / "anthropic.jsonl", rows)


def write_patronus(folder: Path) -> Path:
    """The spans of OpenInference as trees: each span has those below it."""
    spans: dict[str, Json] = {}
    for span, values in otlp_spans("openinference-otlp.jsonl"):
        status = span.get("status", {})
        seconds = (int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"])) / 1e9
        spans[span["spanId"]] = {
            "timestamp": _iso(span["startTimeUnixNano"]), "duration": f"PT0M{seconds:.6f}S",
            "trace_id": span["traceId"], "span_id": span["spanId"], "parent_span_id": span.get("parentSpanId"),
            "span_name": span["name"], "status_code": "Error" if status.get("code") == 2 else "Ok",
            "status_message": status.get("message", ""),
            "span_attributes": values, "resource_attributes": {"service.name": "desk"}, "child_spans": [],
            "events": [
                {
                    "Name": event["name"], "Timestamp": _iso(event["timeUnixNano"]),
                    "Attributes": {pair["key"]: next(iter(pair["value"].values())) for pair in event["attributes"]},
                }
                for event in span.get("events", ())
            ],
        }  # fmt: skip
    traces: dict[str, Json] = {}
    for row in spans.values():
        trace = traces.setdefault(row["trace_id"], {"trace_id": row["trace_id"], "spans": []})
        above = spans.get(row["parent_span_id"])
        (trace["spans"] if above is None else above["child_spans"]).append(row)
    for number, trace in enumerate(traces.values()):
        path = folder / "patronus" / f"{number}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(trace, indent=1))
    return folder / "patronus"


def _iso(nanoseconds: str) -> str:
    return datetime.fromtimestamp(int(nanoseconds) / 1e9, UTC).isoformat()


def _plain(text: Any) -> Any:
    return json.loads(text) if isinstance(text, str) and text[:1] in "{[" else text


def _camel(key: str) -> str:
    first, *others = {"provided_model_name": "model"}.get(key, key).split("_")
    return first + "".join(word.title() for word in others)


SOURCES = (
    Source("openai-chat", recorded("openai-chat.jsonl"), "openai-chat", runs_tools=False),
    Source("anthropic", write_anthropic, "anthropic", is_real=False, runs_tools=False),
    Source("responses", write_responses, "openai-responses", is_real=False, runs_tools=False),
    Source("langfuse-otlp", recorded("langfuse-otlp.jsonl"), "otlp"),
    Source("langfuse-otlp-protobuf", recorded("langfuse-otlp.pb"), "otlp"),
    Source("langfuse-api", write_langfuse_api, "langfuse", is_real=False),
    Source("langfuse-blob-jsonl", write_langfuse_blob("jsonl"), "langfuse", is_real=False),
    Source("langfuse-blob-csv", write_langfuse_blob("csv"), "langfuse", is_real=False),
    Source("langfuse-blob-parquet", write_langfuse_blob("parquet"), "langfuse", is_real=False),
    Source("langsmith", recorded("langsmith.jsonl"), "langsmith"),
    Source("langsmith-bulk-parquet", write_langsmith_bulk, "langsmith", is_real=False),
    Source("openinference-otlp", recorded("openinference-otlp.jsonl"), "otlp"),
    Source("phoenix-rest", recorded("phoenix-rest.json"), "phoenix"),
    Source("phoenix-parquet", recorded("phoenix.parquet"), "phoenix"),
    Source("patronus", write_patronus, "patronus", is_real=False),
    Source("mlflow-json", recorded("mlflow.jsonl"), "mlflow"),
    Source("mlflow-sqlite", recorded("mlflow.db"), "mlflow"),
    Source("mlflow-parquet", recorded("mlflow.parquet"), "mlflow"),
    Source("openai-agents", recorded("openai-agents.jsonl"), "openai-agents"),
    Source("traceloop-otlp", recorded("traceloop-otlp.jsonl"), "otlp"),
    Source("ai-sdk-otlp", recorded("ai-sdk-otlp.jsonl"), "otlp"),
)
