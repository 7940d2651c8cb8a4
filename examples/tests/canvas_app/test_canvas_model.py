"""The brain behind an OpenAI-compatible endpoint, tried on a fake that says it is one."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from canvas_support import Conversation, RunningApp, running_app

from canvas_app.settings import ModelSettings, settings_from

Script = Callable[[int, dict[str, Any]], list[str] | int]
"""From the number of the request and its body to the lines of the stream, or to an HTTP status."""


class FakeModel(ThreadingHTTPServer):
    """Not a model: a script that answers as an OpenAI-compatible endpoint would."""

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), FakeModelHandler)
        self.script = script
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []


class FakeModelHandler(BaseHTTPRequestHandler):
    server: FakeModel

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(body)
        self.server.headers.append(dict(self.headers))
        answer = self.server.script(len(self.server.requests), body)
        self.send_response(answer if isinstance(answer, int) else 200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for line in [] if isinstance(answer, int) else answer:
            self.wfile.write(f"data: {line}\n\n".encode())

    def log_message(self, *_: object) -> None:
        """Quiet."""


def chunk(**delta: Any) -> str:
    return json.dumps({"choices": [{"index": 0, "delta": delta}]})


def calling(name: str, arguments: str, identity: str = "call-1") -> list[str]:
    """A tool call, its arguments in two pieces as real endpoints send them."""
    middle = len(arguments) // 2
    first = {"index": 0, "id": identity, "function": {"name": name, "arguments": arguments[:middle]}}
    second = {"index": 0, "function": {"arguments": arguments[middle:]}}
    return [chunk(tool_calls=[first]), chunk(tool_calls=[second]), "[DONE]"]


def saying(*pieces: str) -> list[str]:
    usage = json.dumps({"choices": [], "usage": {"prompt_tokens": 120, "completion_tokens": 7}})
    return [*(chunk(content=piece) for piece in pieces), usage, "[DONE]"]


@contextmanager
def conversing(tmp_path: Path, script: Script) -> Iterator[tuple[Conversation, FakeModel]]:
    with FakeModel(script) as fake:
        thread = threading.Thread(target=fake.serve_forever)
        thread.start()
        settings = ModelSettings("fake-model", f"http://127.0.0.1:{fake.server_port}/v1", "a-key")
        try:
            with running_app(tmp_path, model=settings) as app:
                yield app.converse(), fake
        finally:
            fake.shutdown()
            thread.join()


def test_a_model_calls_a_tool_and_then_answers(tmp_path: Path) -> None:
    def script(number: int, body: dict[str, Any]) -> list[str]:
        if number == 1:
            return calling("add_component", '{"integration": "slack", "component": "mentions"}')
        told = json.loads(body["messages"][-1]["content"])
        return saying("I am a fake model. ", told["message"])

    with conversing(tmp_path, script) as (conversation, fake):
        answer = conversation.ask("Add Slack mentions")
        assert answer.tools == [("add_component", True)]
        assert answer.text.startswith("I am a fake model. Added Slack Mentions to Home.")
        assert "Slack Mentions" in conversation.names()
        lines = [(line["source"], line["event"]) for line in conversation.lines()]
        health = conversation.client.get("/health").json()
        used = [line["data"] for line in conversation.lines() if line["source"] == "model" and line["event"] == "end"]
    assert lines == [
        ("turn", "start"),
        ("model", "start"),
        ("model", "end"),
        ("tool.add_component", "start"),
        ("tool.add_component", "result"),
        ("model", "start"),
        ("model", "end"),
        ("turn", "end"),
    ]
    assert used[1]["usage"] == {"input": 120, "output": 7}
    assert health["brain"] == "fake-model"
    first = fake.requests[0]
    assert (first["model"], first["stream"]) == ("fake-model", True)
    assert len(first["tools"]) == 9
    assert "GitHub: 12 commits today" in first["messages"][0]["content"]
    assert first["messages"][-1] == {"role": "user", "content": "Add Slack mentions"}
    assert fake.headers[0]["Authorization"] == "Bearer a-key"
    asked, result = fake.requests[1]["messages"][-2:]
    assert (asked["role"], result["role"]) == ("assistant", "tool")
    assert asked["tool_calls"][0]["id"] == result["tool_call_id"] == "call-1"
    assert json.loads(asked["tool_calls"][0]["function"]["arguments"])["component"] == "mentions"


def test_a_model_that_lacks_a_field_leaves_a_picker(tmp_path: Path) -> None:
    def script(number: int, body: dict[str, Any]) -> list[str]:
        if number == 1:
            return calling("add_filtered_component", '{"component": "commits"}')
        return saying("Which repository?")

    with conversing(tmp_path, script) as (conversation, _):
        conversation.ask("Add commits for a repository")
        assert conversation.state()["pending"] == {"tool": "add_filtered_component", "field": "repo"}
        assert conversation.turn("actions", {"choice": 0}).tools == [("add_filtered_component", True)]


def test_earlier_turns_are_sent_along(tmp_path: Path) -> None:
    with conversing(tmp_path, lambda number, body: saying(f"fake answer {number}")) as (conversation, fake):
        conversation.ask("one")
        conversation.ask("two")
    assert [(m["role"], m["content"]) for m in fake.requests[1]["messages"][1:]] == [
        ("user", "one"),
        ("assistant", "fake answer 1"),
        ("user", "two"),
    ]


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        pytest.param(lambda n, b: 500, "answered 500", id="http-500"),
        pytest.param(lambda n, b: ["{not json"], "no JSON", id="garbage"),
        pytest.param(lambda n, b: ["[1, 2]"], "no JSON object", id="no-object"),
        pytest.param(lambda n, b: ['{"choices": "x"}'], "unknown shape", id="odd-shape"),
        pytest.param(lambda n, b: ['{"error": {"message": "overloaded"}}'], "error in mid-answer", id="error-chunk"),
        pytest.param(lambda n, b: saying(), "empty answer", id="says-nothing"),
        pytest.param(lambda n, b: saying(*["x" * 1000] * 12), "too long", id="says-too-much"),
        pytest.param(lambda n, b: calling("switch_space", "{}"), "8 rounds without an answer", id="never-ends"),
        pytest.param(
            lambda n, b: [chunk(tool_calls=[{"index": 99, "function": {"name": "x"}}])], "more than 16", id="many-calls"
        ),
        pytest.param(lambda n, b: calling("create_space", "x" * 30_000), "too long", id="long-call"),
    ],
)
def test_a_model_that_fails_ends_the_turn_with_a_reason(tmp_path: Path, script: Script, problem: str) -> None:
    with conversing(tmp_path, script) as (conversation, _):
        answer = conversation.ask("hello")
        assert answer.end["status"] == "error"
        assert problem in answer.end["problem"]
        assert conversation.lines()[-1]["data"]["status"] == "error"
        assert conversation.client.get("/health").status_code == 200


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("launch_rocket", "{}", "unknown_tool"),
        ("create_space", '{"colour": "red"}', "unknown_argument"),
        ("create_space", "{broken", "no JSON object"),
        ("create_space", '["x"]', "no JSON object"),
    ],
)
def test_a_wrong_call_is_told_to_the_model(tmp_path: Path, name: str, arguments: str, told: str) -> None:
    def script(number: int, body: dict[str, Any]) -> list[str]:
        return calling(name, arguments) if number == 1 else saying("fake: sorry")

    with conversing(tmp_path, script) as (conversation, fake):
        before = conversation.names()
        assert conversation.ask("go").end["status"] == "ok"
        assert conversation.names() == before
    assert told in fake.requests[1]["messages"][-1]["content"]


def test_a_model_that_cannot_be_reached_is_said_so(tmp_path: Path) -> None:
    settings = ModelSettings("fake-model", "http://127.0.0.1:9/v1", None)
    with running_app(tmp_path, model=settings) as app:
        answer = app.converse().ask("hello")
    assert answer.end["problem"] == "The model cannot be reached (ConnectError)."


def test_a_name_from_a_model_is_made_harmless(tmp_path: Path) -> None:
    def script(number: int, body: dict[str, Any]) -> list[str]:
        return calling("<b>\nrm -rf" + "x" * 100, "{}") if number == 1 else saying("fake: ok")

    with conversing(tmp_path, script) as (conversation, _):
        answer = conversation.ask("go")
        assert answer.tools == [("_b__rm_-rf" + "x" * 54, False)]


@pytest.mark.parametrize(
    ("environment", "model"),
    [
        ({}, None),
        ({"OPENAI_API_KEY": "k"}, None),
        ({"CANVAS_MODEL": "m"}, ModelSettings("m", "https://api.openai.com/v1", None)),
        (
            {"OPENAI_MODEL": "m", "OPENAI_BASE_URL": "http://here/v1/", "OPENAI_API_KEY": "k"},
            ModelSettings("m", "http://here/v1", "k"),
        ),
    ],
)
def test_a_model_is_chosen_by_configuration(environment: dict[str, str], model: ModelSettings | None) -> None:
    assert settings_from(environment).model == model


def test_the_default_brain_is_called_rule_based_on_the_page(app: RunningApp) -> None:
    assert "Brain: rule-based" in app.converse().page()
