"""The store of guarded conversations: what is old goes, and its size does not slow it down."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from carob.errors import ConfigError
from carob.features.guard.store import IDS_KEPT, SWEPT, GuardStore
from carob.rules.events import ConversationEvent, Facts

KEPT = 100.0
FACTS = Facts()


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def _say(store: GuardStore, conversation: str) -> None:
    with store.writing(conversation, -1) as events:
        store.append(conversation, ConversationEvent(kind="user", index=len(events), text="hi"))


def _count(path: Path, table: str) -> int:
    database = sqlite3.connect(path)
    try:
        return int(database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    finally:
        database.close()


def test_events_go_first_and_ids_later(tmp_path: Path) -> None:
    path, clock = tmp_path / "s.sqlite", Clock()
    store = GuardStore(path, kept=KEPT, clock=clock)
    for number in range(3 * SWEPT):
        store.begin(f"c{number}", FACTS)
        _say(store, f"c{number}")
    clock.now += KEPT + 1
    for number in range(4):
        store.begin(f"d{number}", FACTS)
    assert _count(path, "events") == 0
    known = store.find("c0")
    assert known is not None
    assert known.is_expired
    clock.now += IDS_KEPT * KEPT + 1
    for number in range(8):
        store.begin(f"e{number}", FACTS)
    assert store.find("c0") is None
    assert _count(path, "conversations") == 8


def test_an_old_conversation_that_goes_on_before_it_is_removed_has_lost_its_events(tmp_path: Path) -> None:
    clock = Clock()
    store = GuardStore(tmp_path / "s.sqlite", kept=KEPT, clock=clock)
    for number in range(2 * SWEPT):
        store.begin(f"c{number}", FACTS)
        _say(store, f"c{number}")
    clock.now += KEPT + 1
    latest = f"c{2 * SWEPT - 1}"
    known = store.find(latest)
    assert known is not None
    assert known.is_expired
    store.begin(latest, FACTS)
    with store.writing(latest, -1) as events:
        assert not events
    known = store.find(latest)
    assert known is not None
    assert not known.is_expired


def test_a_store_of_an_earlier_version_is_cleaned_once(tmp_path: Path) -> None:
    path, clock = tmp_path / "s.sqlite", Clock()
    path.touch(0o600)
    database = sqlite3.connect(path)
    database.executescript(
        "CREATE TABLE conversations (id TEXT PRIMARY KEY, touched REAL NOT NULL, facts BLOB NOT NULL,"
        "    expired INTEGER NOT NULL DEFAULT 0);"
        "CREATE TABLE events (conversation TEXT NOT NULL, number INTEGER NOT NULL, event BLOB NOT NULL,"
        "    PRIMARY KEY (conversation, number)) WITHOUT ROWID;"
    )
    rows = [(f"old{n}", clock.now - 11 * KEPT, b"{}", n % 2) for n in range(1_000)]
    database.executemany("INSERT INTO conversations VALUES (?, ?, ?, ?)", [*rows, ("new", clock.now, b"{}", 0)])
    database.commit()
    database.close()
    store = GuardStore(path, kept=KEPT, clock=clock)
    assert _count(path, "conversations") == 1
    assert store.find("new") is not None


def test_a_store_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    GuardStore(path).close()
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(ConfigError, match="newer version"):
        GuardStore(path)


def test_to_begin_takes_as_many_steps_with_20000_ids_as_with_none(tmp_path: Path) -> None:
    """Counted in steps of SQLite's machine, which do not depend on the speed of this one."""

    def steps(store: GuardStore, name: str) -> int:
        count = 0

        def tick() -> int:
            nonlocal count
            count += 1
            return 0

        store._database.set_progress_handler(tick, 1)
        store.begin(name, FACTS)
        store._database.set_progress_handler(None, 1)
        return count

    store = GuardStore(tmp_path / "s.sqlite", kept=KEPT, clock=Clock())
    few = steps(store, "first")
    rows = [(f"c{n}", Clock.now - n % 900, b"{}", int(n % 900 > KEPT)) for n in range(20_000)]
    with store._transaction():
        store._database.executemany("INSERT INTO conversations VALUES (?, ?, ?, ?)", rows)
    assert steps(store, "next") <= few + 20
