"""The cards on a space's canvas."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace

from canvas_app.catalog import ComponentKind, kind_called
from canvas_app.records import Component, Space


@dataclass(frozen=True, slots=True)
class Components:
    db: sqlite3.Connection
    session: str

    def on(self, space: Space) -> tuple[Component, ...]:
        rows = self.db.execute(
            "SELECT id, space_id, source, kind, filters, title FROM components"
            " WHERE space_id = ? ORDER BY position, id",
            (space.id,),
        )
        return tuple(
            Component(
                row["id"],
                row["space_id"],
                kind_called(row["source"], row["kind"]),
                json.loads(row["filters"]),
                row["title"],
            )
            for row in rows
        )

    def add(self, space: Space, kind: ComponentKind, filters: Mapping[str, str], title: str | None = None) -> Component:
        cursor = self.db.execute(
            "INSERT INTO components (space_id, source, kind, filters, title, position)"
            " SELECT ?, ?, ?, ?, ?, COALESCE(MAX(position), 0) + 1 FROM components WHERE space_id = ?",
            (space.id, kind.source.value, kind.kind, json.dumps(dict(filters)), title, space.id),
        )
        added = Component(int(cursor.lastrowid or 0), space.id, kind, dict(filters), title)
        self.touch(added)
        return added

    def remove(self, component: Component) -> None:
        self.db.execute("DELETE FROM components WHERE id = ?", (component.id,))

    def change(self, component: Component, title: str | None, filters: Mapping[str, str]) -> Component:
        changed = replace(component, title=title or component.title, filters={**component.filters, **filters})
        self.db.execute(
            "UPDATE components SET title = ?, filters = ? WHERE id = ?",
            (changed.title, json.dumps(dict(changed.filters)), component.id),
        )
        self.touch(component)
        return changed

    def move(self, component: Component, to_front: bool) -> None:
        edge = "MIN(position) - 1" if to_front else "MAX(position) + 1"
        self.db.execute(
            f"UPDATE components SET position = (SELECT {edge} FROM components WHERE space_id = ?) WHERE id = ?",
            (component.space_id, component.id),
        )
        self.touch(component)

    def touch(self, component: Component) -> None:
        """Remember the card as the one that "it" means in the next message."""
        self.db.execute("UPDATE sessions SET last_component = ? WHERE id = ?", (component.id, self.session))

    def last_touched(self, space: Space) -> Component | None:
        row = self.db.execute("SELECT last_component FROM sessions WHERE id = ?", (self.session,)).fetchone()
        return next((component for component in self.on(space) if component.id == row["last_component"]), None)
