"""Parquet files and databases of SQLite → rows, in batches."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Any

from carob.evidence.exports.base import ExportRow, TraceNotes
from carob.evidence.exports.mlflow import describe_trace, read_span
from carob.evidence.exports.record import ExportError
from carob.evidence.spans.otlp import SpanRecord
from carob.providers.base import table
from carob.providers.messages import decode_value
from carob.system.installing import install_extra
from carob.text.wording import error_text

PARQUET, SQLITE = b"PAR1", b"SQLite format 3\0"
"""How such files begin."""
BATCH = 256
MLFLOW_TABLES = ("spans", "trace_info", "trace_request_metadata", "trace_tags")
_MLFLOW_SPANS = """
SELECT trace_id, span_id, parent_span_id, name, start_time_unix_nano, end_time_unix_nano, status, content FROM spans
"""


def read_parquet(source: Path | IO[bytes], name: str) -> Iterator[ExportRow]:
    """The rows of a Parquet file, which is called by its name. Raises ExportError if it cannot be read."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        problem = "Parquet is read with pyarrow, which is not installed"
        raise ExportError(problem, where=name, fix=install_extra("parquet"), slug="no-parquet") from error
    number = 0
    try:
        with parquet.ParquetFile(source) as file:
            for batch in file.iter_batches(batch_size=BATCH):
                for value in _without_timestamps(pyarrow, batch).to_pylist():
                    number += 1
                    yield ExportRow(value, f"{name} [{number}]")
    except (pyarrow.ArrowException, OSError) as error:
        where = f"{name} after row {number}" if number else name
        problem = f"not a whole Parquet file: {error_text(error)}"
        raise ExportError(
            problem, where=where, fix="Export it again: it is cut off, or another kind of file."
        ) from error


def _without_timestamps(pyarrow: Any, batch: Any) -> Any:
    """A batch whose times are numbers: as objects they would lose nanoseconds, or need pandas."""
    columns = [
        column.cast(pyarrow.int64()) if pyarrow.types.is_timestamp(column.type) else column for column in batch.columns
    ]
    return pyarrow.RecordBatch.from_arrays(columns, names=batch.schema.names)


def read_mlflow_database(path: Path) -> Iterator[SpanRecord | TraceNotes]:
    """The spans of mlflow's tracking store, and what its tables say of traces. It is opened for reading alone."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
            names = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
            if not names.issuperset(MLFLOW_TABLES):
                problem = "a database of SQLite, and not the tracking store of mlflow: it has no tables of spans"
                raise ExportError(problem, where=str(path), fix="Name mlflow.db, or export it.", slug="export-format")
            db.row_factory = sqlite3.Row
            for info in db.execute("SELECT * FROM trace_info ORDER BY timestamp_ms, request_id"):
                trace_id = info["request_id"]
                yield TraceNotes(trace_id, _describe(db, dict(info)))
                for row in db.execute(f"{_MLFLOW_SPANS} WHERE trace_id = ? ORDER BY start_time_unix_nano", (trace_id,)):
                    yield _read_span(row)
    except sqlite3.Error as error:
        problem = f"the database cannot be read: {error_text(error)}"
        raise ExportError(problem, where=str(path), fix="Copy it while mlflow does not write to it.") from error


def _describe(db: sqlite3.Connection, info: dict[str, Any]) -> dict[str, object]:
    """What the tables say of a trace: its session is a column of its own, or metadata, as the version has it."""
    queries = (
        "SELECT key, value FROM trace_request_metadata WHERE request_id = ?",
        "SELECT key, value FROM trace_tags WHERE request_id = ?",
    )
    metadata, tags = (dict(map(tuple, db.execute(query, (info["request_id"],)))) for query in queries)
    session = {"session.id": info["session_id"]} if info.get("session_id") else {}
    return {**describe_trace(metadata, tags), **session}


def _read_span(row: sqlite3.Row) -> SpanRecord:
    trace_id, span_id, parent_id, name, began, ended, status, content = row
    whole = table(decode_value(content))
    columns = {"span_id": span_id, "parent_span_id": parent_id, "name": name, "status": whole.get("status", status)}
    times = {"start_time_unix_nano": began, "end_time_unix_nano": ended}
    return read_span({**whole, **columns, **times}, trace_id)
