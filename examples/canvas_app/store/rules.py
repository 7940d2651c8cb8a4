"""Preference rules of a session."""

import sqlite3
from dataclasses import dataclass

from canvas_app.records import Rule

SINGLE_VALUED = frozenset({"objective", "max_levers", "max_age_minutes"})
"""Kinds of rule where a new value takes the place of the old one."""


@dataclass(frozen=True, slots=True)
class Rules:
    db: sqlite3.Connection
    session: str

    def all(self) -> tuple[Rule, ...]:
        rows = self.db.execute("SELECT id, kind, value, text FROM rules WHERE session = ? ORDER BY id", (self.session,))
        return tuple(Rule(*row) for row in rows)

    def values(self, kind: str) -> tuple[str, ...]:
        return tuple(rule.value for rule in self.all() if rule.kind == kind)

    def value(self, kind: str) -> str | None:
        return next(iter(self.values(kind)), None)

    def set(self, kind: str, value: str, text: str) -> Rule:
        if kind in SINGLE_VALUED:
            self.db.execute("DELETE FROM rules WHERE session = ? AND kind = ?", (self.session, kind))
        cursor = self.db.execute(
            "INSERT OR REPLACE INTO rules (session, kind, value, text) VALUES (?, ?, ?, ?)",
            (self.session, kind, value, text),
        )
        return Rule(int(cursor.lastrowid or 0), kind, value, text)

    def drop(self, rule_id: int) -> bool:
        cursor = self.db.execute("DELETE FROM rules WHERE id = ? AND session = ?", (rule_id, self.session))
        return cursor.rowcount > 0
