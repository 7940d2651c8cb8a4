"""Spans that are put aside until all of a conversation are there: in a private file, so that memory stays small.

SQLite keeps it in memory while it is small, and writes it to a file that no other process sees where it is not.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from carob.evidence.exports.base import TraceNotes
from carob.evidence.spans.otlp import SpanRecord
from carob.evidence.spans.trace_context import CASE_ENTRY

SESSION_KEYS = (
    CASE_ENTRY,
    *("session.id", "gen_ai.conversation.id", "langfuse.session.id", "langfuse.trace.session_id"),
    *("traceloop.association.properties.session_id", "traceloop.association.properties.thread_id"),
    *("mlflow.trace.session", "thread_id", "session_id", "conversation_id"),
    *("ai.telemetry.metadata.sessionId", "ai.telemetry.metadata.chatId", "ai.telemetry.metadata.threadId"),
)
"""Attributes that say which conversation a span is of; the first that is there counts."""
_SESSION_KEYS = frozenset(SESSION_KEYS)
_TABLES = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE spans (trace TEXT, began REAL, data BLOB);
CREATE TABLE traces (trace TEXT PRIMARY KEY, session TEXT, place TEXT);
CREATE TABLE notes (trace TEXT, data BLOB);
"""
_GROUPS = """
SELECT coalesce(session, ''), trace, place FROM (
    SELECT *, rowid AS number, min(rowid) OVER (PARTITION BY session IS NULL, coalesce(session, trace)) AS first
    FROM traces
) ORDER BY first, number
"""
_encode = msgspec.msgpack.Encoder(enc_hook=str).encode
decode_span = msgspec.msgpack.Decoder(SpanRecord).decode
_decode_notes = msgspec.msgpack.Decoder(dict[str, object]).decode


def encode_span(record: SpanRecord) -> bytes:
    """A span as it is kept. Raises ValueError for one that could not be read."""
    if record.unread:
        raise ValueError(record.unread)
    return _encode(record)


class SpooledTrace(NamedTuple):
    """The spans of one trace, and what the export says of it besides."""

    id: str
    place: str
    records: list[SpanRecord]
    notes: Mapping[str, object]


class SpooledConversation(NamedTuple):
    """The traces of one session, or one trace without a session."""

    session: str
    traces: list[SpooledTrace]


class SpanSpool:
    """Everything of one format that was read."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.executescript(_TABLES)
        self._db.execute("BEGIN")
        self._last = ""

    def add(self, item: SpanRecord | TraceNotes, place: str) -> None:
        """Put a span or a note aside."""
        if isinstance(item, TraceNotes):
            self._db.execute("INSERT INTO notes VALUES (?, ?)", (item.trace_id, _encode(dict(item.attributes))))
        else:
            self._db.execute("INSERT INTO spans VALUES (?, ?, ?)", (item.trace_id, item.started, _encode(item)))
        session = find_session(item)
        if session is not None or item.trace_id != self._last:
            self._last = item.trace_id
            self._db.execute(
                "INSERT INTO traces VALUES (?, ?, ?) "
                "ON CONFLICT (trace) DO UPDATE SET session = coalesce(session, excluded.session)",
                (item.trace_id, session, place),
            )

    def conversations(self) -> Iterator[SpooledConversation]:
        """Each session with its traces, in the order in which they came."""
        self._db.execute("CREATE INDEX spans_by_trace ON spans (trace)")
        self._db.execute("CREATE INDEX notes_by_trace ON notes (trace)")
        current: SpooledConversation | None = None
        for session, trace, place in self._db.execute(_GROUPS):
            if current is None or not session or current.session != session:
                if current is not None:
                    yield current
                current = SpooledConversation(session, [])
            current.traces.append(self._load(trace, place))
        if current is not None:
            yield current

    def _load(self, trace: str, place: str) -> SpooledTrace:
        spans = self._db.execute("SELECT data FROM spans WHERE trace = ? ORDER BY began, rowid", (trace,))
        records = [decode_span(data) for (data,) in spans]
        notes: dict[str, object] = {}
        for (data,) in self._db.execute("SELECT data FROM notes WHERE trace = ? ORDER BY rowid", (trace,)):
            notes |= _decode_notes(data)
        return SpooledTrace(trace, place, records, notes)

    def close(self) -> None:
        self._db.close()


def find_session(item: SpanRecord | TraceNotes) -> str | None:
    """The conversation that a span or a note names, or the case of Carob that the process of a span was started for."""
    attributes = item.attributes
    named = None
    if not _SESSION_KEYS.isdisjoint(attributes):  # few spans of a conversation say it
        named = next((value for key in SESSION_KEYS if isinstance(value := attributes.get(key), str) and value), None)
    if named is not None or isinstance(item, TraceNotes):
        return named
    case = item.resource.get(CASE_ENTRY)
    return case if isinstance(case, str) else None
