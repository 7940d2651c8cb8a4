"""One session's workspace: everything that a tool, a brain or a page may ask about it."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from canvas_app.catalog import Source, kind_called
from canvas_app.clock import Clock
from canvas_app.store.components import Components
from canvas_app.store.conversation import Conversation
from canvas_app.store.database import transaction
from canvas_app.store.recorded import Recorded
from canvas_app.store.rules import Rules
from canvas_app.store.spaces import Spaces

FIRST_SPACES = (
    ("Home", "atlas", (("github", "pull_requests"), ("posthog", "site_health"), ("vercel", "deployments"))),
    ("Launch Week", "beacon", (("posthog", "signups"), ("vercel", "deployments"))),
    ("Back Office", "cove", (("github", "issues"),)),
)


@dataclass(frozen=True, slots=True)
class Workspace:
    session: str
    clock: Clock
    spaces: Spaces
    components: Components
    rules: Rules
    conversation: Conversation
    recorded: Recorded


def exists(db: sqlite3.Connection, session: str) -> bool:
    return db.execute("SELECT 1 FROM sessions WHERE id = ?", (session,)).fetchone() is not None


def open_workspace(db: sqlite3.Connection, session: str, clock: Clock, off: Iterable[Source] = ()) -> Workspace:
    """The session's workspace, seeded on first sight with the integrations of `off` switched off."""
    workspace = Workspace(
        session,
        clock,
        Spaces(db, session),
        Components(db, session),
        Rules(db, session),
        Conversation(db, session),
        Recorded(db, session),
    )
    if not exists(db, session):
        _seed(db, workspace, tuple(off))
    return workspace


def _seed(db: sqlite3.Connection, workspace: Workspace, off: tuple[Source, ...]) -> None:
    anchored_at = workspace.clock().isoformat()
    with transaction(db):
        db.execute("INSERT INTO sessions (id, anchored_at) VALUES (?, ?)", (workspace.session, anchored_at))
        for name, project, kinds in FIRST_SPACES:
            space = workspace.spaces.create(name, project)
            for source in off:
                workspace.spaces.switch(space, source, on=False)
            for source_name, kind_name in kinds:
                workspace.components.add(space, kind_called(source_name, kind_name), {})
        workspace.spaces.enter(workspace.spaces.all()[0])
        db.execute("UPDATE sessions SET last_component = NULL WHERE id = ?", (workspace.session,))
