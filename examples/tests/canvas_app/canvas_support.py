"""A running app for tests, and a client that speaks to it as its page does."""

import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from canvas_app.clock import clock_from
from canvas_app.serving import listen, server_for, url_of
from canvas_app.settings import Settings
from canvas_app.store.database import open_database
from canvas_app.store.workspace import Workspace, open_workspace

DEFAULT = clock_from(None)


def fresh_workspace(**options: Any) -> Workspace:
    return open_workspace(open_database(":memory:"), "test", options.pop("clock", DEFAULT), **options)


@dataclass
class Answer:
    """What one turn sent back."""

    events: list[tuple[str, Any]] = field(default_factory=list)

    @property
    def end(self) -> dict[str, Any]:
        return dict(next(data for name, data in self.events if name == "end"))

    @property
    def text(self) -> str:
        return str(self.end["text"])

    @property
    def streamed(self) -> str:
        return "".join(data["text"] for name, data in self.events if name == "delta")

    @property
    def tools(self) -> list[tuple[str, bool]]:
        ended = [data for name, data in self.events if name == "tool" and data["phase"] == "result"]
        return [(data["name"], data["success"]) for data in ended]


@dataclass
class Conversation:
    """One session of the app over HTTP."""

    app: "RunningApp"
    session: str

    @property
    def client(self) -> httpx2.Client:
        return self.app.client

    def page(self, path: str = "/", **query: str) -> str:
        return self.client.get(path, params={"session": self.session, **query}).raise_for_status().text

    def lines(self) -> list[dict[str, Any]]:
        """The telemetry of this conversation alone."""
        return [line for line in self.app.lines() if line["correlation_id"] == self.session]

    def command(self, path: str, body: Any, **options: Any) -> httpx2.Response:
        return self.client.post(f"/api/sessions/{self.session}/{path}", json=body, **options)

    def ask(self, message: str) -> Answer:
        return self.turn("chat", {"message": message})

    def turn(self, path: str, body: Any) -> Answer:
        with self.client.stream("POST", f"/api/sessions/{self.session}/{path}", json=body) as response:
            response.raise_for_status()
            return Answer(list(sse_events(response)))

    def state(self) -> dict[str, Any]:
        return dict(self.client.get(f"/api/sessions/{self.session}/state").raise_for_status().json())

    def names(self) -> list[str]:
        return [component["name"] for component in self.state()["components"]]


def sse_events(response: httpx2.Response) -> Iterator[tuple[str, Any]]:
    name = ""
    for line in response.iter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


@dataclass
class RunningApp:
    url: str
    log: Path
    client: httpx2.Client

    def converse(self, session: str | None = None, **query: str) -> Conversation:
        """Open the page, which makes the session."""
        conversation = Conversation(self, session or uuid.uuid4().hex)
        conversation.page(**query)
        return conversation

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]


@contextmanager
def running_app(folder: Path, **options: Any) -> Iterator[RunningApp]:
    """The app on a socket of its own, in a thread of its own."""
    log = folder / "telemetry.jsonl"
    settings = Settings(**{"clock": DEFAULT, "telemetry_log": log, **options})
    listener = listen("127.0.0.1", 0)
    server = server_for(settings)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        with httpx2.Client(base_url=url_of(listener), timeout=20, trust_env=False) as client:
            yield RunningApp(url_of(listener), log, client)
    finally:
        server.should_exit = True
        thread.join(20)
        listener.close()
        assert not thread.is_alive(), "the app did not stop"
