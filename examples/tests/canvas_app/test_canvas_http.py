"""The app over real sockets: pages, streams, sessions, refusals."""

import asyncio
import re
import threading
from pathlib import Path
from typing import Any

import httpx2
import pytest
from canvas_support import Conversation, RunningApp, running_app, sse_events

from canvas_app.brain.rule_based import RuleBasedBrain
from canvas_app.catalog import Source


def test_health_names_the_brain(app: RunningApp) -> None:
    assert app.client.get("/health").json() == {"status": "ok", "brain": "rule-based"}


def test_every_response_has_the_security_headers(app: RunningApp) -> None:
    state = f"/api/sessions/{app.converse().session}/state"
    for path in ("/", "/health", "/static/app.js", "/nowhere", state, "/spaces/moon"):
        headers = app.client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe-inline" not in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_the_page_loads_nothing_from_elsewhere_and_has_no_inline_script(app: RunningApp) -> None:
    html = app.client.get("/").text
    assert not re.search(r"(?:src|href)=[\"'](?:https?:)?//", html)
    assert not re.search(r"<script(?![^>]*\bsrc=)", html)
    assert not re.search(r"\sstyle=|\son\w+=", html)
    assert "http://" not in app.client.get("/static/app.css").text


def test_a_first_visit_gets_a_cookie_and_keeps_its_session(app: RunningApp) -> None:
    with httpx2.Client(base_url=app.url, trust_env=False) as newcomer:
        first, again = newcomer.get("/"), newcomer.get("/")
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    session = re.compile(r'data-session="([^"]+)"')
    assert session.findall(first.text) == session.findall(again.text)


def test_an_answer_streams_and_adds_up(conversation: Conversation) -> None:
    answer = conversation.ask("Add my GitHub activity")
    names = [name for name, _ in answer.events]
    assert names[:3] == ["tool", "tool", "page"]
    assert names[-2:] == ["page", "end"]
    assert names.count("delta") > 1
    assert answer.streamed == answer.text
    assert answer.text.startswith("Added GitHub My Activity to Home.")
    assert answer.tools == [("add_component", True)]
    assert conversation.names()[-1] == "GitHub My Activity"


def test_the_page_shows_what_was_said_before(conversation: Conversation) -> None:
    conversation.ask("How many commits this week?")
    html = conversation.page()
    assert '<article class="message user" aria-label="You"><div class="line">How many commits this week?</div>' in html
    assert '<article class="message assistant" aria-label="Assistant">' in html
    assert "GitHub: 45 commits this week" in html


def test_sessions_share_nothing(app: RunningApp) -> None:
    one, two = app.converse(), app.converse()
    one.ask("Add Slack mentions")
    one.ask("Always lead with growth")
    one.ask("Switch to Launch Week")
    assert two.state()["space"]["name"] == "Home"
    assert two.state()["rules"] == []
    assert "Slack Mentions" not in two.names()


def test_a_space_has_an_address(conversation: Conversation) -> None:
    html = conversation.page("/spaces/launch-week")
    assert "<h1>Launch Week</h1>" in html
    assert f'href="/spaces/home?session={conversation.session}"' in html
    assert conversation.state()["space"]["slug"] == "launch-week"
    missing = conversation.client.get("/spaces/moon", params={"session": conversation.session})
    assert (missing.status_code, "There is no such space" in missing.text) == (404, True)


def test_integrations_can_be_off_from_the_start(app: RunningApp, tmp_path: Path) -> None:
    by_query = app.converse(off="slack,posthog")
    assert by_query.state()["signals"]["slack"]["state"] == "off"
    assert by_query.ask("Add Slack mentions").tools == [("add_component", False)]
    assert app.client.get("/", params={"session": "new", "off": "jira"}).status_code == 400
    with running_app(tmp_path / "other", off=(Source.VERCEL,)) as other:
        assert other.converse().state()["signals"]["vercel"]["state"] == "off"


def test_an_integration_is_switched_by_its_switch(conversation: Conversation) -> None:
    parts = conversation.command("integrations", {"source": "slack", "on": False}).json()
    assert 'id="switch-slack" data-source="slack" aria-label="Slack" aria-checked="false"' in parts["sidebar"]
    assert conversation.state()["signals"]["slack"]["state"] == "off"
    conversation.command("integrations", {"source": "slack", "on": True})
    assert conversation.state()["signals"]["slack"]["state"] == "fresh"


def test_a_picker_is_shown_and_completes_the_call(conversation: Conversation) -> None:
    answer = conversation.ask("Add GitHub pull requests filtered by repo")
    assert answer.tools == [("add_filtered_component", False)]
    picker = next(data for name, data in reversed(answer.events) if name == "page")["picker"]
    assert 'role="radiogroup"' in picker
    assert re.findall(r"<span>(atlas-\w+)</span>", picker) == ["atlas-api", "atlas-docs", "atlas-web"]
    chosen = conversation.turn("actions", {"choice": 2})
    assert chosen.tools == [("add_filtered_component", True)]
    assert conversation.names()[-1] == "GitHub Pull Requests: atlas-web"
    assert conversation.state()["pending"] is None


def test_a_question_can_be_typed_or_dropped(conversation: Conversation) -> None:
    conversation.ask("Create a space")
    conversation.turn("actions", {"value": "Deep Work"})
    assert conversation.state()["space"]["name"] == "Deep Work"
    conversation.ask("Create a space")
    assert conversation.command("question/drop", {}).json()["picker"].strip() == ""
    assert conversation.command("actions", {"value": "x"}).status_code == 409


def test_the_controls_of_a_brief_work(conversation: Conversation) -> None:
    first = conversation.turn("actions", {"tool": "generate_brief", "arguments": {}})
    second = conversation.turn("actions", {"tool": "generate_brief", "arguments": {"override": "reframe_mission"}})
    canvas = next(data for name, data in reversed(second.events) if name == "page")["canvas"]
    labels = re.findall(r'id="override-\w+"[^>]*>([^<]+)</button>', canvas)
    assert labels == ["Reframe mission", "Lower priority", "Use different objective", "Snooze"]
    assert "Clear the review queue so that finished work ships." in first.text
    assert "Keep finished work from going stale in review." in second.text
    assert '<p class="mission">Keep finished work from going stale in review.</p>' in canvas
    snoozed = conversation.turn("actions", {"tool": "generate_brief", "arguments": {"override": "snooze"}})
    canvas = next(data for name, data in reversed(snoozed.events) if name == "page")["canvas"]
    assert "Snoozed until Friday 13 March, 09:00." in canvas
    assert "Wake the brief" in canvas


def test_a_rule_can_be_dropped(conversation: Conversation) -> None:
    conversation.ask("Always lead with growth")
    (rule,) = re.findall(r'data-rule="(\d+)"', conversation.page())
    assert conversation.command(f"rules/{rule}/drop", {}).status_code == 200
    assert conversation.state()["rules"] == []
    assert conversation.command(f"rules/{rule}/drop", {}).status_code == 404


HOSTILE = "<img src=x onerror=alert(1)>\"'&{{7*7}}"


def test_whatever_people_write_is_only_text(conversation: Conversation) -> None:
    conversation.ask(f"Rename GitHub Pull Requests to {HOSTILE}")
    conversation.ask(HOSTILE)
    conversation.ask("Create a space")
    answer = conversation.turn("actions", {"value": HOSTILE})
    html = conversation.page("/spaces/home")
    assert conversation.names()[0].startswith("<img src=x")
    for text in (
        html,
        answer.end["html"],
        *(data["canvas"] + data["sidebar"] for name, data in answer.events if name == "page"),
    ):
        assert "<img" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;" in html
    assert "{{7*7}}" in html


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("chat", {}, 422, "message: write some text"),
        ("chat", {"message": "  "}, 422, "message: write some text"),
        ("chat", {"message": 7}, 422, "message: write some text"),
        ("chat", {"message": "x" * 4001}, 422, "at most 4000 characters"),
        ("chat", {"message": "x" * 40_000}, 413, "at most 32000 bytes"),
        ("chat", ["message"], 400, "no JSON object"),
        ("actions", {"tool": "rm"}, 422, "no such tool"),
        ("actions", {"tool": "create_space", "arguments": "x"}, 422, "send an object"),
        ("actions", {"choice": 0}, 409, "no open question"),
        ("integrations", {"source": "jira", "on": True}, 422, "no such integration"),
        ("integrations", {"source": "slack", "on": "yes"}, 422, "true or false"),
    ],
)
def test_a_bad_command_is_refused_in_one_line(
    conversation: Conversation, path: str, body: Any, status: int, words: str
) -> None:
    response = conversation.command(path, body)
    assert response.status_code == status
    assert words in response.json()["error"]


@pytest.mark.parametrize("choice", [-1, 3, True, "0", None])
def test_a_choice_outside_the_picker_is_refused(conversation: Conversation, choice: object) -> None:
    conversation.ask("Add GitHub pull requests filtered by repo")
    assert conversation.command("actions", {"choice": choice}).status_code == 422


def test_strangers_cannot_send_commands(conversation: Conversation) -> None:
    chat = f"/api/sessions/{conversation.session}/chat"
    other = conversation.command("chat", {"message": "hi"}, headers={"Origin": "https://evil.example"})
    form = conversation.client.post(chat, data={"message": "hi"})
    broken = conversation.client.post(chat, content=b"{", headers={"Content-Type": "application/json"})
    unknown = conversation.client.post("/api/sessions/nobody/chat", json={"message": "hi"})
    assert [other.status_code, form.status_code, broken.status_code, unknown.status_code] == [403, 415, 400, 404]
    assert conversation.client.get("/", params={"session": "../../etc"}).status_code == 400
    assert conversation.client.get(chat).status_code == 405


class StuckBrain(RuleBasedBrain):
    """A brain that waits until it is told to go on."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.released = threading.Event()

    async def answer(self, turn: Any) -> None:
        self.reached.set()
        await asyncio.to_thread(self.released.wait, 20)
        await super().answer(turn)


def test_a_conversation_has_one_turn_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    brain = StuckBrain()
    monkeypatch.setattr("canvas_app.web.services.brain_for", lambda *_: brain)
    with running_app(tmp_path) as app:
        conversation = app.converse()
        chat = f"/api/sessions/{conversation.session}/chat"
        with app.client.stream("POST", chat, json={"message": "hello"}) as first:
            assert brain.reached.wait(20)
            with httpx2.Client(base_url=app.url, trust_env=False) as second:
                refused = second.post(chat, json={"message": "hello"})
                elsewhere = second.get("/health")
            brain.released.set()
            assert list(sse_events(first))[-1][1]["status"] == "ok"
        assert (refused.status_code, elsewhere.status_code) == (409, 200)
        assert conversation.ask("thanks").end["status"] == "ok"


def test_state_survives_a_restart_when_it_has_a_file(tmp_path: Path) -> None:
    database = str(tmp_path / "canvas.sqlite3")
    with running_app(tmp_path, database=database) as app:
        app.converse("kept").ask("Add Slack mentions")
    with running_app(tmp_path, database=database) as app:
        assert "Slack Mentions" in app.converse("kept").names()
