"""The events of guarded conversations in SQLite, for services and hooks with several processes."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from carob.errors import ConfigError
from carob.redaction.named import without_secrets
from carob.rules.events import ConversationEvent, Facts
from carob.system.portable import NO_LINK

BUSY_SECONDS: Final = 3.0
KEPT_SECONDS: Final = 7 * 86_400.0
IDS_KEPT: Final = 10
"""Ids are known so many times longer than events: a conversation that goes on late is not taken for a new one."""
SWEPT: Final = 4
"""So many old conversations are removed whenever one begins, which takes the same time in a store of any size."""
VERSION: Final = 1
SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS conversations (id TEXT PRIMARY KEY, touched REAL NOT NULL, facts BLOB NOT NULL,
    expired INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS events (conversation TEXT NOT NULL, number INTEGER NOT NULL, event BLOB NOT NULL,
    PRIMARY KEY (conversation, number)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS ages ON conversations (expired, touched);
"""
_OLDEST: Final = "SELECT id FROM conversations WHERE expired = ? AND touched < ? ORDER BY touched LIMIT ?"
_decode = msgspec.json.Decoder(ConversationEvent).decode


def _encode(value: ConversationEvent | Facts) -> bytes:
    """As it is kept: a call with a secret is then another one than was kept, so a rule that compares them refuses."""
    return without_secrets(msgspec.json.encode(value))


class KnownConversation(NamedTuple):
    """A conversation that began, and whether its events were removed since."""

    facts: Facts
    is_expired: bool


class GuardStore:
    """Conversations by their ids. What is not written to the end did not happen."""

    def __init__(self, path: str | Path, *, kept: float = KEPT_SECONDS, clock: Callable[[], float] = time.time) -> None:
        """Open it, or make it for this user alone. Raises ConfigError."""
        self._path = str(path)
        self._kept = kept
        self._clock = clock
        self._forked: list[sqlite3.Connection] = []
        self._open()

    def _open(self) -> None:
        """Open the database for this process. Raises ConfigError."""
        self._lock = threading.RLock()
        self._process = os.getpid()
        path = self._path
        try:
            Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | NO_LINK, 0o600))
            if os.stat(path).st_mode & 0o077:
                message = "others may read the store of the guard."
                raise ConfigError(message, where=self._path, fix="Run: chmod 600 on it.", slug="guard-store")
            self._database = sqlite3.connect(
                self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            # A machine that loses its power ends the conversation too: waiting for the disk would protect nothing.
            self._database.execute("PRAGMA synchronous = OFF")
            if (version := self._read_version()) < VERSION:
                self._migrate()
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(error) from None
        if version > VERSION:
            message = "the store was written by a newer version of Carob."
            raise ConfigError(message, where=self._path, fix="Update Carob.", slug="guard-store")

    def _read_version(self) -> int:
        return int(self._run("PRAGMA user_version").fetchone()[0])

    def _migrate(self) -> None:
        """Make the tables, or give those of an earlier version their index, and remove what is too old in them."""
        with self._transaction():
            if self._read_version() >= VERSION:
                return
            for statement in filter(None, map(str.strip, SCHEMA.split(";"))):
                self._run(statement)
            self._sweep(self._clock(), -1)
            self._run(f"PRAGMA user_version = {VERSION}")

    def _sweep(self, now: float, most: int) -> None:
        """Remove the events of conversations that nothing happened in for long, and later their ids."""
        # A clock that went back makes nothing old: what is newer than now is kept.
        for (conversation,) in self._run(_OLDEST, 0, now - self._kept, most).fetchall():
            self._expire(conversation)
        self._run(f"DELETE FROM conversations WHERE id IN ({_OLDEST})", 1, now - IDS_KEPT * self._kept, most)

    def _expire(self, conversation: str) -> None:
        self._run("DELETE FROM events WHERE conversation = ?", conversation)
        self._run("UPDATE conversations SET expired = 1 WHERE id = ?", conversation)

    def _keep_own(self) -> None:
        """Open it anew in a process that was forked: the locks of a connection are those of who opened it."""
        if self._process != os.getpid():
            self._forked.append(self._database)  # closing it here would take the locks of the other process
            self._open()

    def find(self, conversation: str) -> KnownConversation | None:
        """What is known of a conversation; None if it never began, or so long ago that its id was removed."""
        self._keep_own()
        row = self._run("SELECT facts, expired, touched FROM conversations WHERE id = ?", conversation).fetchone()
        if row is None:
            return None
        is_expired = bool(row[1]) or row[2] < self._clock() - self._kept
        return KnownConversation(msgspec.json.decode(row[0], type=Facts), is_expired)

    def begin(self, conversation: str, facts: Facts) -> None:
        """A conversation begins; one that is known already goes on, without its events if it expired."""
        now = self._clock()
        with self._transaction():
            self._sweep(now, SWEPT)
            known = self.find(conversation)
            if known is not None and known.is_expired:
                self._expire(conversation)
            self._run(
                "INSERT INTO conversations VALUES (?, ?, ?, 0) ON CONFLICT (id) "
                "DO UPDATE SET expired = 0, touched = excluded.touched",
                conversation,
                now,
                _encode(facts),
            )

    @contextmanager
    def writing(self, conversation: str, after: int) -> Iterator[list[ConversationEvent]]:
        """What others added after this event, while no other process may add any."""
        with self._transaction():
            rows = self._run(
                "SELECT event FROM events WHERE conversation = ? AND number > ? ORDER BY number", conversation, after
            )
            yield [_decode(row[0]) for row in rows]
            self._run("UPDATE conversations SET touched = ? WHERE id = ?", self._clock(), conversation)

    def append(self, conversation: str, event: ConversationEvent) -> None:
        self._run("INSERT INTO events VALUES (?, ?, ?)", conversation, event.index, _encode(event))

    def close(self) -> None:
        self._database.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._keep_own()
        with self._lock:
            self._run("BEGIN IMMEDIATE")
            try:
                yield
                self._run("COMMIT")
            except BaseException:
                with suppress(ConfigError):
                    self._run("ROLLBACK")
                raise

    def _run(self, statement: str, *values: object) -> sqlite3.Cursor:
        try:
            return self._database.execute(statement, values)
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> ConfigError:
        fix = "Free some space, or choose another file." if "full" in str(error) else ""
        return ConfigError(f"the store cannot be used: {error}.", where=self._path, fix=fix, slug="guard-store")
