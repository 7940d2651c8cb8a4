"""What the page is made of: cards, lines, parts."""

import re

import pytest
from canvas_support import fresh_workspace

from canvas_app.catalog import KINDS, ComponentKind, Source
from canvas_app.records import Message
from canvas_app.signals.report import read_source
from canvas_app.store.workspace import Workspace
from canvas_app.tools.registry import run_tool
from canvas_app.web.cards import BODIES, Card, cards_on
from canvas_app.web.lines import Line, lines_of
from canvas_app.web.render import Renderer


def card_of(workspace: Workspace, kind: ComponentKind, **filters: str) -> Card:
    space = workspace.spaces.current()
    added = workspace.components.add(space, kind, filters)
    return next(card for card in cards_on(workspace, space) if card.id == added.id)


@pytest.mark.parametrize("space", ["Home", "Launch Week", "Back Office"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_can_be_drawn_in_every_space(workspace: Workspace, kind: ComponentKind, space: str) -> None:
    run_tool(workspace, "switch_space", {"name": space})
    card = card_of(workspace, kind)
    assert card.name == kind.name
    assert card.note or card.body.stats
    html = Renderer("rule-based").canvas(workspace, workspace.spaces.current())
    assert f'<h2 id="card-{card.id}">{kind.name}</h2>' in html


def test_every_kind_has_a_body() -> None:
    assert set(BODIES) == {kind.kind for kind in KINDS}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.filters], ids=lambda kind: kind.name)
def test_every_filter_of_every_kind_narrows_it(workspace: Workspace, kind: ComponentKind) -> None:
    space = workspace.spaces.current()
    for field in kind.filters:
        values = workspace.recorded.values_of(space, kind.source, field, kind.reads)
        assert len(values) > 1
        bodies = {repr(card_of(workspace, kind, **{field: value}).body) for value in values}
        assert len(bodies) == len(values)


@pytest.mark.parametrize(
    ("kind", "stat", "number"),
    [
        ("commits", "Commits today", "commits_today"),
        ("pull_requests", "Wait for you", "waiting_reviews"),
        ("issues", "Bugs", "open_bugs"),
        ("mentions", "Unanswered", "unanswered"),
        ("signups", "Signups today", "signups_today"),
        ("site_health", "Exceptions today", "exceptions_today"),
        ("deployments", "Failed", "failed_today"),
    ],
)
def test_a_card_and_the_assistant_give_the_same_number(workspace: Workspace, kind: str, stat: str, number: str) -> None:
    found = next(known for known in KINDS if known.kind == kind)
    shown = {item.label: item.value for item in card_of(workspace, found).body.stats}
    report = read_source(workspace, workspace.spaces.current(), found.source)
    assert shown[stat] == f"{report.numbers[number]:,}"


def test_a_card_says_when_its_source_is_off_or_stale() -> None:
    off = fresh_workspace(off=(Source.VERCEL,))
    html = Renderer("rule-based").canvas(off, off.spaces.current())
    assert "Vercel is switched off in Home." in html
    run_tool(off, "switch_space", {"name": "Back Office"})
    run_tool(off, "add_component", {"component": "signups"})
    html = Renderer("rule-based").canvas(off, off.spaces.current())
    assert "PostHog synced 26 hours ago, stale" in html
    assert "Signups on its last day" in html
    assert "Signups today" not in html


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("plain words.", ["text"]),
        ("Signals\nGitHub: 12 commits", ["heading", "text"]),
        ("Signals", ["text"]),
        ("A sentence that ends.\nmore", ["text", "text"]),
        ("RISK_SCORE: 42\n\nSignals\n- one\n1. two", ["score", "gap", "heading", "item", "item"]),
        ("ASSUMPTION 1: nothing is known", ["label"]),
        ("Note: this\n-dash", ["text", "text"]),
    ],
)
def test_lines_have_a_role_and_keep_their_words(text: str, kinds: list[str]) -> None:
    lines = lines_of(text)
    assert [line.kind for line in lines] == kinds
    assert "\n".join(line.text for line in lines) == text
    assert all(isinstance(line, Line) for line in lines)


def test_a_message_is_the_words_alone() -> None:
    text = "Signals\nGitHub: <b>12</b> commits\n\n1. one & two"
    html = Renderer("rule-based").message(Message("assistant", text))
    words = re.sub(r"<[^>]+>", "\n", html)
    assert words.split() == ["Signals", "GitHub:", "&lt;b&gt;12&lt;/b&gt;", "commits", "1.", "one", "&amp;", "two"]
