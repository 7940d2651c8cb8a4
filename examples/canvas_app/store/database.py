"""Opening the database: schema and the recorded week.

SQLite is used directly and on the event loop's thread: every statement touches a few rows of a local file, which takes
less time than handing it to another thread would.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

RECORDED_WEEK = Path(__file__).parent.parent / "data" / "week.json"

SCHEMA = """
CREATE TABLE IF NOT EXISTS recorded_syncs (
    project TEXT NOT NULL, source TEXT NOT NULL, minutes_ago INTEGER NOT NULL, PRIMARY KEY (project, source)
);
CREATE TABLE IF NOT EXISTS recorded_events (
    project TEXT NOT NULL, source TEXT NOT NULL, kind TEXT NOT NULL, minutes_ago INTEGER NOT NULL, data TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS recorded_events_by_source ON recorded_events (project, source, minutes_ago);
CREATE TABLE IF NOT EXISTS sessions (
    id TEXT PRIMARY KEY, anchored_at TEXT NOT NULL, space_id INTEGER, last_component INTEGER, pending TEXT,
    turns INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS spaces (
    id INTEGER PRIMARY KEY, session TEXT NOT NULL REFERENCES sessions(id), slug TEXT NOT NULL, name TEXT NOT NULL,
    project TEXT NOT NULL, UNIQUE (session, slug)
);
CREATE TABLE IF NOT EXISTS switched_off (
    space_id INTEGER NOT NULL REFERENCES spaces(id), source TEXT NOT NULL, PRIMARY KEY (space_id, source)
);
CREATE TABLE IF NOT EXISTS components (
    id INTEGER PRIMARY KEY, space_id INTEGER NOT NULL REFERENCES spaces(id), source TEXT NOT NULL, kind TEXT NOT NULL,
    filters TEXT NOT NULL, title TEXT, position INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS rules (
    id INTEGER PRIMARY KEY, session TEXT NOT NULL REFERENCES sessions(id), kind TEXT NOT NULL, value TEXT NOT NULL,
    text TEXT NOT NULL, UNIQUE (session, kind, value)
);
CREATE TABLE IF NOT EXISTS briefs (space_id INTEGER PRIMARY KEY REFERENCES spaces(id), state TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS messages (
    id INTEGER PRIMARY KEY, session TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL, text TEXT NOT NULL
);
"""


def open_database(path: str) -> sqlite3.Connection:
    """Open `path` (`:memory:` keeps nothing), create what is missing and load the recorded week once."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA busy_timeout = 2000")
    connection.executescript(SCHEMA)
    if connection.execute("SELECT 1 FROM recorded_syncs LIMIT 1").fetchone() is None:
        load_recorded_week(connection, RECORDED_WEEK)
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def load_recorded_week(connection: sqlite3.Connection, path: Path) -> None:
    week = json.loads(path.read_text(encoding="utf-8"))
    with transaction(connection):
        for project, recorded in week["projects"].items():
            connection.executemany(
                "INSERT INTO recorded_syncs VALUES (?, ?, ?)",
                [(project, source, minutes) for source, minutes in recorded["synced_minutes_ago"].items()],
            )
            connection.executemany(
                "INSERT INTO recorded_events VALUES (?, ?, ?, ?, ?)",
                [
                    (project, event["source"], event["kind"], event["minutes_ago"], json.dumps(event["data"]))
                    for event in recorded["events"]
                ],
            )
