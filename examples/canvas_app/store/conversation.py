"""What was said in a session, and the question that is still open."""

import json
import sqlite3
from dataclasses import asdict, dataclass

from canvas_app.records import Message, Option, Pending


@dataclass(frozen=True, slots=True)
class Conversation:
    db: sqlite3.Connection
    session: str

    def messages(self) -> tuple[Message, ...]:
        rows = self.db.execute("SELECT role, text FROM messages WHERE session = ? ORDER BY id", (self.session,))
        return tuple(Message(*row) for row in rows)

    def say(self, role: str, text: str) -> None:
        self.db.execute("INSERT INTO messages (session, role, text) VALUES (?, ?, ?)", (self.session, role, text))

    def next_turn(self) -> int:
        self.db.execute("UPDATE sessions SET turns = turns + 1 WHERE id = ?", (self.session,))
        row = self.db.execute("SELECT turns FROM sessions WHERE id = ?", (self.session,)).fetchone()
        return int(row["turns"])

    def pending(self) -> Pending | None:
        row = self.db.execute("SELECT pending FROM sessions WHERE id = ?", (self.session,)).fetchone()
        if row["pending"] is None:
            return None
        kept = json.loads(row["pending"])
        options = tuple(Option(**option) for option in kept.pop("options"))
        return Pending(**kept, options=options)

    def set_pending(self, pending: Pending | None) -> None:
        text = None if pending is None else json.dumps(asdict(pending))
        self.db.execute("UPDATE sessions SET pending = ? WHERE id = ?", (text, self.session))
