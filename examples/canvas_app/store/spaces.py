"""Spaces of a session, the integrations switched off in them, and what was decided about their briefs."""

import json
import re
import sqlite3
from dataclasses import asdict, dataclass
from datetime import datetime

from canvas_app.catalog import Source
from canvas_app.records import BriefState, Space

_COLUMNS = "id, slug, name, project"


def slug_of(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:48] or "space"


@dataclass(frozen=True, slots=True)
class Spaces:
    db: sqlite3.Connection
    session: str

    def all(self) -> tuple[Space, ...]:
        rows = self.db.execute(f"SELECT {_COLUMNS} FROM spaces WHERE session = ? ORDER BY id", (self.session,))
        return tuple(Space(*row) for row in rows)

    def current(self) -> Space:
        row = self.db.execute("SELECT space_id FROM sessions WHERE id = ?", (self.session,)).fetchone()
        return next(space for space in self.all() if space.id == row["space_id"])

    def named(self, text: str) -> Space | None:
        """The space with that name or slug, however it is capitalised."""
        wanted = slug_of(text)
        return next((space for space in self.all() if space.slug == wanted or slug_of(space.name) == wanted), None)

    def create(self, name: str, project: str) -> Space:
        slug, number = slug_of(name), 2
        taken = {space.slug for space in self.all()}
        while slug in taken:
            slug, number = f"{slug_of(name)}-{number}", number + 1
        cursor = self.db.execute(
            "INSERT INTO spaces (session, slug, name, project) VALUES (?, ?, ?, ?)", (self.session, slug, name, project)
        )
        return Space(int(cursor.lastrowid or 0), slug, name, project)

    def enter(self, space: Space) -> None:
        self.db.execute("UPDATE sessions SET space_id = ? WHERE id = ?", (space.id, self.session))

    def is_on(self, space: Space, source: Source) -> bool:
        found = self.db.execute(
            "SELECT 1 FROM switched_off WHERE space_id = ? AND source = ?", (space.id, source.value)
        ).fetchone()
        return found is None

    def switch(self, space: Space, source: Source, on: bool) -> None:
        if on:
            self.db.execute("DELETE FROM switched_off WHERE space_id = ? AND source = ?", (space.id, source.value))
        else:
            self.db.execute("INSERT OR IGNORE INTO switched_off VALUES (?, ?)", (space.id, source.value))

    def brief(self, space: Space) -> BriefState:
        row = self.db.execute("SELECT state FROM briefs WHERE space_id = ?", (space.id,)).fetchone()
        if row is None:
            return BriefState()
        kept = json.loads(row["state"])
        until = kept.pop("snoozed_until")
        lowered = tuple(kept.pop("lowered"))
        return BriefState(**kept, lowered=lowered, snoozed_until=datetime.fromisoformat(until) if until else None)

    def save_brief(self, space: Space, state: BriefState) -> None:
        kept = asdict(state) | {"snoozed_until": state.snoozed_until.isoformat() if state.snoozed_until else None}
        self.db.execute("INSERT OR REPLACE INTO briefs VALUES (?, ?)", (space.id, json.dumps(kept)))
