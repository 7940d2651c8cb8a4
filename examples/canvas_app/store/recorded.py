"""The recorded week as one session sees it: offsets of the recording, counted back from the session's start."""

import json
import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta

from canvas_app.catalog import Source
from canvas_app.records import Event, Space


@dataclass(frozen=True, slots=True)
class Recorded:
    db: sqlite3.Connection
    session: str

    def anchored_at(self) -> datetime:
        row = self.db.execute("SELECT anchored_at FROM sessions WHERE id = ?", (self.session,)).fetchone()
        return datetime.fromisoformat(row["anchored_at"])

    def synced_at(self, space: Space, source: Source) -> datetime | None:
        row = self.db.execute(
            "SELECT minutes_ago FROM recorded_syncs WHERE project = ? AND source = ?", (space.project, source.value)
        ).fetchone()
        return None if row is None else self.anchored_at() - timedelta(minutes=row["minutes_ago"])

    def events(self, space: Space, source: Source) -> tuple[Event, ...]:
        """Every event of the source, the newest first."""
        anchor = self.anchored_at()
        rows = self.db.execute(
            "SELECT kind, minutes_ago, data FROM recorded_events WHERE project = ? AND source = ? ORDER BY minutes_ago",
            (space.project, source.value),
        )
        return tuple(
            Event(source, row["kind"], anchor - timedelta(minutes=row["minutes_ago"]), json.loads(row["data"]))
            for row in rows
        )

    def values_of(self, space: Space, source: Source, field: str, kinds: tuple[str, ...] = ()) -> tuple[str, ...]:
        """What a filter can be set to: the values that occur in the recorded events, of `kinds` if any are given."""
        events = [event for event in self.events(space, source) if not kinds or event.kind in kinds]
        if field == "event":
            return tuple(sorted({event.kind for event in events}))
        return tuple(sorted({event.text(field) for event in events if field in event.data}))
