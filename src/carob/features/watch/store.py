"""Spans on disk, by conversation: until it has been judged, and for as long afterwards as there is room.

What was accepted is written before the request is answered, so that a process that is killed loses nothing. A
conversation that cannot be held is dropped as a whole; one whose spans were let go is remembered by a hash.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from carob.evidence.exports.spool import (
    SpooledConversation,
    SpooledTrace,
    decode_span,
    encode_span,
    find_session,
)
from carob.evidence.spans.otlp import SpanRecord
from carob.features.watch import tables
from carob.text.wording import shorten

OVERHEAD: Final = 300
"""Bytes that a span takes besides, in tables and indexes."""
NAME_CAP, LONGEST_NAME = 200, 1_000
"""So much of the name of a conversation is shown, and kept."""
REMEMBERED: Final = 500_000
"""So many conversations are remembered whose spans were let go, and twice as many traces."""
MOST_UNSENT: Final = 50_000
"""So many reports wait for a service that does not take them."""
SLACK: Final = 0.9
"""How full the room is once spans were let go."""
TOO_MANY: Final = "more conversations are open than Carob may hold (--max-conversations)"
NO_ROOM: Final = "the spans of open conversations need more room than Carob may use (--room)"
TOO_LONG: Final = "the conversation has more spans than Carob may hold of one (--max-spans)"
TOO_LARGE: Final = "the spans of the conversation need more room than Carob may use for one (--max-size)"
UNREADABLE: Final = "a span of the conversation holds what cannot be kept, such as a number of more than 64 bits"
CANNOT_ENCODE: Final = (ValueError, TypeError, OverflowError, RecursionError)
_COLUMNS: Final = (
    "id, name, has_session, began, touched, changes, spans, bytes, latest, revision, outcomes, is_kept, dropped, let_go"
)
_OF_CONVERSATION: Final = "trace IN (SELECT trace FROM traces WHERE conversation = ?)"


class SpanStore:
    """The spans in one folder. One process uses it at a time; its methods may be called from any thread."""

    def __init__(
        self, folder: Path, limits: tables.StoreLimits, clock: Callable[[], float], *, quiet: float, resend: float
    ) -> None:
        """Open it, or make it for this user alone. Raises ConfigError.

        A conversation is due after `quiet` seconds; exporters send again for `resend` seconds what was not taken.
        """
        self._limits = limits
        self._clock = clock
        self._quiet = quiet
        self._resend = resend
        self._lock = threading.RLock()
        self._bytes = self._spans = 0
        self.counts: Counter[str] = Counter()
        """What became of spans and conversations since it was opened."""
        self._database = tables.open_tables(folder)
        self._begin()
        held = self._run("SELECT coalesce(sum(bytes), 0), coalesce(sum(spans), 0) FROM conversations").fetchone()
        self._bytes, self._spans = held

    def _begin(self) -> None:
        now = self._clock()
        with self._transaction():
            alive = self._run("SELECT max(at) FROM alive").fetchone()[0]
            if alive is not None and now - alive > self._resend:
                self._run("INSERT INTO stops VALUES (?, ?)", alive, now)
            # Exporters may still send what the last process did not take.
            self._run("UPDATE conversations SET due = ? WHERE due IS NOT NULL AND dropped = ''", now + self._quiet)
            self._beat(now)

    def close(self) -> None:
        with self._lock:
            with suppress(sqlite3.Error):  # the disk may be full
                self.beat()
            self._database.close()

    def beat(self) -> None:
        """Note that Carob still runs."""
        with self._transaction():
            self._beat(self._clock())

    def _beat(self, now: float) -> None:
        self._run("DELETE FROM alive")
        self._run("INSERT INTO alive VALUES (?)", now)

    @property
    def stops(self) -> list[tables.Stop]:
        """The times in which Carob did not run, as long as spans of before are held."""
        with self._lock:
            return [tables.Stop(*row) for row in self._run("SELECT began, ended FROM stops ORDER BY began")]

    def accept(self, records: Sequence[SpanRecord]) -> int:
        """Write down spans; how many of them belong to conversations that cannot be held."""
        counts = Counter[str]()
        ordered = sorted(records, key=lambda record: record.trace_id)
        with self._transaction():
            for trace, group in groupby(ordered, key=lambda record: record.trace_id):
                self._accept_trace(trace, list(group), counts)
        with self._lock:
            self.counts += counts
        return counts["spans_dropped"]

    def _accept_trace(self, trace: str, records: Sequence[SpanRecord], counts: Counter[str]) -> None:
        row, is_judged = self._find_conversation(trace, records, counts)
        if not row.dropped:
            try:
                encoded = [(record, data) for record in records if (data := encode_span(record))]
            except CANNOT_ENCODE:
                row = self._drop(row, UNREADABLE, counts)
        if row.dropped:
            counts["spans_dropped"] += len(records)
            return
        new, size = 0, 0
        for record, data in encoded:
            key = (trace, record.span_id, blake2b(data, digest_size=16).digest())
            if self._run("INSERT OR IGNORE INTO spans VALUES (?, ?, ?, ?, ?)", *key, record.started, data).rowcount:
                new, size = new + 1, size + len(data) + OVERHEAD
        counts["spans_repeated"] += len(records) - new
        if not new:
            return
        counts["spans_accepted"] += new
        counts["spans_late"] += new if is_judged else 0
        self._bytes, self._spans = self._bytes + size, self._spans + new
        now = self._clock()
        self._run(
            "UPDATE conversations SET due = ?, touched = ?, changes = changes + 1, spans = spans + ?, "
            "bytes = bytes + ?, latest = ? WHERE id = ?",
            *(now + self._quiet, now, new, size, trace, row.id),
        )
        row = row._replace(spans=row.spans + new, size=row.size + size)
        if why := self._why_too_much(row, counts):
            self._drop(row, why, counts)
            counts["spans_dropped"] += new
            counts["spans_accepted"] -= new

    def _find_conversation(
        self, trace: str, records: Sequence[SpanRecord], counts: Counter[str]
    ) -> tuple[tables.ConversationRow, bool]:
        """Whose a trace is, and whether it was judged: that of the session that a span of it names, else its own."""
        session = next(filter(None, map(find_session, records)), None)
        if session is not None and len(session) > LONGEST_NAME:
            session = f"{session[:NAME_CAP]}… {_hash(session).hex()}"
        known = self._run("SELECT conversation, session, is_judged FROM traces WHERE trace = ?", trace).fetchone()
        if known is None:
            row = self._find_or_begin(session or trace, bool(session), counts)
            self._run("INSERT INTO traces VALUES (?, ?, ?, 0)", trace, row.id, session)
            return row, False
        if session is not None and known[1] is None:
            return self._move(trace, known[0], session, counts), bool(known[2])
        return self._row(known[0]), bool(known[2])

    def _find_or_begin(self, name: str, has_session: bool, counts: Counter[str]) -> tables.ConversationRow:
        key = _hash(f"{'session' if has_session else 'trace'} {name}")
        if (row := self._find_row(key)) is not None:
            return row
        now = self._clock()
        self._run(
            "INSERT INTO conversations (id, name, has_session, began, touched) VALUES (?, ?, ?, ?, ?)",
            *(key, shorten(name, NAME_CAP), has_session, now, now),
        )
        row = self._row(key)
        is_full = self._count("conversations WHERE due IS NOT NULL") >= self._limits.conversations
        return self._drop(row, TOO_MANY, counts) if is_full else row

    def _move(self, trace: str, before: bytes, session: str, counts: Counter[str]) -> tables.ConversationRow:
        """A span says of which session its trace is, which was a conversation of its own until now."""
        old, new = self._row(before), self._find_or_begin(session, True, counts)
        self._run("UPDATE traces SET conversation = ?, session = ? WHERE trace = ?", new.id, session, trace)
        self._run("DELETE FROM conversations WHERE id = ?", before)
        if old.dropped or new.dropped:
            self._run("UPDATE conversations SET spans = spans + ?, bytes = bytes + ? WHERE id = ?",
                      old.spans, old.size, new.id)  # fmt: skip
            return self._drop(self._row(new.id), new.dropped or old.dropped, counts)
        self._run(
            "UPDATE conversations SET spans = spans + ?, bytes = bytes + ?, began = min(began, ?), "
            "revision = max(revision, ?), let_go = max(let_go, ?) WHERE id = ?",
            *(old.spans, old.size, old.began, old.revision, old.let_go, new.id),
        )
        return self._row(new.id)

    def _why_too_much(self, row: tables.ConversationRow, counts: Counter[str]) -> str:
        """Why a conversation that grew cannot be held; room is made by letting go of what was judged."""
        if row.spans > self._limits.spans:
            return TOO_LONG
        if row.size > self._limits.size:
            return TOO_LARGE
        if self._bytes > self._limits.room:
            self._let_go_until(self._limits.room * SLACK, counts)
        return NO_ROOM if self._bytes > self._limits.room else ""

    def _let_go_until(self, size: float, counts: Counter[str]) -> None:
        idle = "SELECT id FROM conversations WHERE due IS NULL AND bytes > 0 ORDER BY touched LIMIT 200"
        while self._bytes > size and (rows := self._run(idle).fetchall()):
            for (key,) in rows:
                if self._bytes > size:
                    self._remove_spans(self._row(key))
                    self._run("UPDATE conversations SET let_go = 1 WHERE id = ?", key)
                    counts["conversations_let_go"] += 1

    def _remove_spans(self, row: tables.ConversationRow) -> None:
        self._run(f"DELETE FROM spans WHERE {_OF_CONVERSATION}", row.id)
        self._run("UPDATE conversations SET spans = 0, bytes = 0 WHERE id = ?", row.id)
        self._bytes, self._spans = self._bytes - row.size, self._spans - row.spans

    def _drop(self, row: tables.ConversationRow, why: str, counts: Counter[str]) -> tables.ConversationRow:
        """No span of the conversation is held any more: it is reported as unknown, whatever else comes of it."""
        self._remove_spans(row)
        now = self._clock()
        self._run(
            "UPDATE conversations SET dropped = ?, due = ?, touched = ?, changes = changes + 1 WHERE id = ?",
            *(why, now, now, row.id),
        )
        counts["conversations_dropped"] += not row.dropped
        return row._replace(dropped=why, spans=0, size=0)

    def due(self, limit: int, *, is_ending: bool = False) -> list[bytes]:
        """The conversations that are to be looked at now, or at the end all that have something new."""
        until = float("inf") if is_ending else self._clock()
        with self._lock:
            rows = self._run(
                "SELECT id FROM conversations WHERE due <= ? ORDER BY due LIMIT ?", until, limit
            ).fetchall()
        return [row[0] for row in rows]

    def load(self, key: bytes) -> tables.HeldConversation | None:
        """A conversation with its spans; None if it is part of another one by now."""
        with self._lock:
            row = self._find_row(key)
            if row is None:
                return None
            traces, session = [], ""
            if not row.dropped:
                query = "SELECT trace, session FROM traces WHERE conversation = ? ORDER BY rowid"
                for trace, named in self._run(query, key).fetchall():
                    session = named or ""
                    spans = self._run("SELECT data FROM spans WHERE trace = ? ORDER BY began, rowid", trace)
                    if records := [decode_span(data) for (data,) in spans]:
                        traces.append(SpooledTrace(trace, "", records, {}))
            return tables.HeldConversation(row, SpooledConversation(session, traces))

    def postpone(self, held: tables.HeldConversation, until: float) -> None:
        """Look at a conversation later, unless something new comes before."""
        with self._transaction():
            query = "UPDATE conversations SET due = ? WHERE id = ? AND changes = ?"
            self._run(query, until, held.row.id, held.row.changes)

    def note_judgement(self, held: tables.HeldConversation, judgement: tables.NotedJudgement | None) -> bool:
        """Write down that a conversation was judged as it was held, or that it is none of an agent.

        False if it became a part of another one meanwhile, with which it will be judged.
        """
        key, changes = held.row.id, held.row.changes
        with self._transaction():
            self._run("UPDATE conversations SET due = NULL WHERE id = ? AND changes = ?", key, changes)
            if judgement is None:
                return True
            query = "UPDATE conversations SET revision = ?, outcomes = ?, is_kept = ? WHERE id = ?"
            if not self._run(query, held.row.revision + 1, judgement.outcomes, judgement.is_kept, key).rowcount:
                return False
            self._run("UPDATE traces SET is_judged = 1 WHERE conversation = ?", key)
            for data in judgement.reports:
                self._run("INSERT INTO reports (data) VALUES (?)", data)
        return True

    def unsent(self, limit: int) -> list[tuple[int, bytes]]:
        """The oldest reports that were not sent yet, with their numbers."""
        with self._lock:
            return self._run("SELECT number, data FROM reports ORDER BY number LIMIT ?", limit).fetchall()

    def note_sent(self, number: int) -> None:
        """The reports up to this number need not be sent any more."""
        with self._transaction():
            self._run("DELETE FROM reports WHERE number <= ?", number)

    def tidy(self) -> None:
        """Let go of what was judged long ago, and of more reports than may wait."""
        counts = Counter[str]()
        now = self._clock()
        oldest = now - self._limits.keep_seconds
        with self._transaction():
            old = "SELECT id FROM conversations WHERE due IS NULL AND bytes > 0 AND touched < ? LIMIT 2000"
            for (key,) in self._run(old, oldest).fetchall():
                self._remove_spans(self._row(key))
                self._run("UPDATE conversations SET let_go = 1 WHERE id = ?", key)
                counts["conversations_let_go"] += 1
            lost = "DELETE FROM reports WHERE number <= (SELECT max(number) FROM reports) - ?"
            counts["reports_lost"] += self._run(lost, MOST_UNSENT).rowcount
            self._run("DELETE FROM stops WHERE ended < ?", oldest)
            self._forget()
        with self._lock:
            self.counts += counts

    def _forget(self) -> None:
        excess = self._count("conversations WHERE bytes = 0") - REMEMBERED
        excess = max(excess, (self._count("traces") - 2 * REMEMBERED) // 2)
        if excess > 0:
            query = "SELECT id FROM conversations WHERE due IS NULL AND bytes = 0 ORDER BY touched LIMIT ?"
            for (key,) in self._run(query, excess).fetchall():
                self._run("DELETE FROM traces WHERE conversation = ?", key)
                self._run("DELETE FROM conversations WHERE id = ?", key)

    def measure(self) -> tables.HeldSizes:
        """How much is held now."""
        with self._lock:
            held = self._count("conversations WHERE bytes > 0")
            waiting = self._count("conversations WHERE due IS NOT NULL")
            return tables.HeldSizes(waiting, held, self._spans, self._bytes, self._count("reports"))

    def _count(self, where: str) -> int:
        return int(self._run(f"SELECT count(*) FROM {where}").fetchone()[0])

    def _find_row(self, key: bytes) -> tables.ConversationRow | None:
        row = self._run(f"SELECT {_COLUMNS} FROM conversations WHERE id = ?", key).fetchone()
        return tables.ConversationRow(*row) if row is not None else None

    def _row(self, key: bytes) -> tables.ConversationRow:
        """A conversation that is there, as the transaction has seen."""
        return tables.ConversationRow(*self._run(f"SELECT {_COLUMNS} FROM conversations WHERE id = ?", key).fetchone())

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:
            before = self._bytes, self._spans
            self._run("BEGIN IMMEDIATE")
            try:
                yield
                self._run("COMMIT")
            except BaseException:
                self._bytes, self._spans = before
                with suppress(sqlite3.Error):
                    self._run("ROLLBACK")
                raise

    def _run(self, statement: str, *values: Any) -> sqlite3.Cursor:
        return self._database.execute(statement, values)


def _hash(text: str) -> bytes:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()
