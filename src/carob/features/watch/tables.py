"""The file in which spans are held, and what is read from it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct

from carob.errors import ConfigError
from carob.evidence.exports.spool import SpooledConversation, SpooledTrace
from carob.system.portable import NO_LINK

VERSION: Final = 1
FILE: Final = "spans.sqlite"
_TABLES: Final = """
CREATE TABLE conversations (
  id BLOB PRIMARY KEY, name TEXT NOT NULL, has_session INTEGER NOT NULL, began REAL NOT NULL, touched REAL NOT NULL,
  due REAL, changes INTEGER NOT NULL DEFAULT 0, spans INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0,
  latest TEXT NOT NULL DEFAULT '', revision INTEGER NOT NULL DEFAULT 0, outcomes BLOB NOT NULL DEFAULT '{}',
  is_kept INTEGER NOT NULL DEFAULT 0, dropped TEXT NOT NULL DEFAULT '', let_go INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX due ON conversations (due) WHERE due IS NOT NULL;
CREATE INDEX idle ON conversations (touched) WHERE due IS NULL AND bytes > 0;
CREATE TABLE traces (trace TEXT PRIMARY KEY, conversation BLOB NOT NULL, session TEXT, is_judged INTEGER NOT NULL);
CREATE INDEX traces_of ON traces (conversation);
CREATE TABLE spans (trace TEXT, span TEXT, hash BLOB, began REAL, data BLOB, PRIMARY KEY (trace, span, hash));
CREATE TABLE reports (number INTEGER PRIMARY KEY AUTOINCREMENT, data BLOB NOT NULL);
CREATE TABLE stops (began REAL NOT NULL, ended REAL NOT NULL);
CREATE TABLE alive (at REAL NOT NULL);
"""


class StoreLimits(Struct, frozen=True, kw_only=True):
    """What is held at most."""

    conversations: int = 20_000
    """Open conversations: with spans that were not judged yet."""
    spans: int = 2_000
    size: int = 8 << 20
    """Spans and bytes of one conversation."""
    room: int = 512 << 20
    """Bytes of all spans."""
    keep_seconds: float = 24 * 3_600.0
    """How long spans are held after their conversation was judged."""


class ConversationRow(NamedTuple):
    """What is known of a conversation besides its spans."""

    id: bytes
    name: str
    has_session: bool
    began: float
    touched: float
    changes: int
    """How often spans came; what is judged meanwhile is judged again."""
    spans: int
    size: int
    latest: str
    """The trace that spans came of last."""
    revision: int
    """How often it was judged."""
    outcomes: bytes
    """How its rules came out last, as JSON."""
    is_kept: bool
    """Whether the journal has it."""
    dropped: str
    """Why its spans could not be held."""
    let_go: bool
    """Whether spans of it were judged and then removed."""


class HeldConversation(NamedTuple):
    """A conversation with all spans that are held of it."""

    row: ConversationRow
    spooled: SpooledConversation

    @property
    def is_complete(self) -> bool:
        """Whether each trace has a root, each span has its parent, and all of them ended."""
        return all(map(_is_complete, self.spooled.traces))


class Stop(NamedTuple):
    """A time in which Carob did not run."""

    began: float
    ended: float


class NotedJudgement(NamedTuple):
    """What is written down of a conversation that was judged."""

    outcomes: bytes
    is_kept: bool
    reports: Sequence[bytes] = ()


class HeldSizes(NamedTuple):
    """How much is held."""

    open: int
    conversations: int
    spans: int
    size: int
    unsent: int


def _is_complete(trace: SpooledTrace) -> bool:
    ended = {record.span_id for record in trace.records if record.ended}
    parents = {record.parent_id for record in trace.records}
    return "" in parents and parents - {""} <= ended and all(record.span_id in ended for record in trace.records)


def open_tables(folder: Path) -> sqlite3.Connection:
    """Open the file of a folder, or make it for this user alone. Raises ConfigError."""
    path = folder / FILE
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | NO_LINK, 0o600))
        database = sqlite3.connect(path, timeout=0.0, isolation_level=None, check_same_thread=False)
        version = _prepare(database)
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            raise _unusable(path, error) from None
        end_it = "End it, or choose another --folder."
        message = "another `carob watch` uses this folder."
        raise ConfigError(message, where=str(path), fix=end_it, slug="watch-folder") from None
    except (sqlite3.Error, OSError) as error:
        raise _unusable(path, error) from None
    if version != VERSION:
        database.close()
        fix = "Remove the file, or choose another --folder."
        raise ConfigError("another version of Carob wrote it.", where=str(path), fix=fix, slug="watch-folder")
    return database


def _unusable(path: Path, error: Exception) -> ConfigError:
    why = error.strerror if isinstance(error, OSError) else error
    choose = "Choose another --folder, or remove the file."
    return ConfigError(f"spans cannot be kept here: {why}.", where=str(path), fix=choose, slug="watch-folder")


def _prepare(database: sqlite3.Connection) -> int:
    """Make the tables if there are none; the version of those that are there."""
    # The write-ahead log outlives a kill of this process; only a loss of power can cost the last moments.
    for pragma in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = NORMAL"):
        database.execute(f"PRAGMA {pragma}").fetchone()
    database.execute("BEGIN IMMEDIATE")
    version = int(database.execute("PRAGMA user_version").fetchone()[0])
    if not version:
        for statement in _TABLES.split(";")[:-1]:
            database.execute(statement)
        database.execute(f"PRAGMA user_version = {VERSION}")
    database.execute("COMMIT")
    return version or VERSION
