"""What the endpoints share while the app runs."""

import re
import secrets
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx2
from starlette.exceptions import HTTPException
from starlette.requests import Request

from canvas_app.brain.base import Brain
from canvas_app.brain.openai_compatible import OpenAICompatibleBrain
from canvas_app.brain.rule_based import RuleBasedBrain
from canvas_app.settings import Settings, sources_called
from canvas_app.store.database import open_database
from canvas_app.store.workspace import Workspace, exists, open_workspace
from canvas_app.telemetry.json_lines import JsonLines
from canvas_app.telemetry.observer import Observer, Observers
from canvas_app.web.render import Renderer

COOKIE = "canvas_session"
_SESSION = re.compile(r"[A-Za-z0-9_.-]{1,80}")


@dataclass(frozen=True, slots=True)
class Services:
    settings: Settings
    db: sqlite3.Connection
    brain: Brain
    observer: Observer
    renderer: Renderer
    answering: set[str] = field(default_factory=set)
    """Sessions with a turn under way: a conversation has one at a time."""

    def workspace(self, request: Request) -> Workspace:
        """The workspace of a page: by `?session=`, else by cookie, else a new one."""
        session = request.query_params.get("session") or request.cookies.get(COOKIE) or secrets.token_urlsafe(16)
        if not _SESSION.fullmatch(session):
            raise HTTPException(400, "session: letters, digits, '_', '-' and '.', at most 80 of them")
        off = self.settings.off
        if "off" in request.query_params:
            try:
                off = sources_called(request.query_params["off"], "off")
            except ValueError as problem:
                raise HTTPException(400, str(problem)) from None
        return open_workspace(self.db, session, self.settings.clock, off)

    def known_workspace(self, request: Request) -> Workspace:
        """The workspace that a command is about; commands never make one."""
        session = str(request.path_params["session"])
        if not exists(self.db, session):
            raise HTTPException(404, "there is no such session; open the page first")
        return open_workspace(self.db, session, self.settings.clock)


def brain_for(settings: Settings, client: httpx2.AsyncClient) -> Brain:
    return OpenAICompatibleBrain(settings.model, client) if settings.model else RuleBasedBrain()


def observer_for(settings: Settings) -> Observer:
    each: list[Observer] = []
    if settings.telemetry_log is not None:
        each.append(JsonLines(settings.telemetry_log))
    if settings.otlp_endpoint is not None:
        from canvas_app.telemetry.spans import Spans  # the SDK is slow to import and seldom wanted

        each.append(Spans(settings.otlp_endpoint))
    return Observers(each)


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Services]:
    """Open everything, and close it in the end."""
    db = open_database(settings.database)
    observer = observer_for(settings)
    try:
        async with httpx2.AsyncClient() as client:
            brain = brain_for(settings, client)
            yield Services(settings, db, brain, observer, Renderer(brain.name))
    finally:
        observer.close()
        db.close()


def services_of(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


def query_of(request: Request) -> str:
    """What links of the page must carry on: the session, when the address named it."""
    session = request.query_params.get("session")
    return f"?session={session}" if session else ""
