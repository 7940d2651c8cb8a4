"""Numbers equal the recorded week, and age as the clock goes on."""

import json
from datetime import timedelta
from typing import Any

import pytest
from canvas_support import DEFAULT, fresh_workspace

from canvas_app.catalog import Source
from canvas_app.clock import clock_from, fixed_clock
from canvas_app.signals.facts import assumption, fact_line
from canvas_app.signals.report import State, measure, read_source
from canvas_app.store.database import RECORDED_WEEK
from canvas_app.store.workspace import FIRST_SPACES, Workspace
from canvas_app.wording import age_text, change_text, clipped, counted, listed

WEEK = json.loads(RECORDED_WEEK.read_text(encoding="utf-8"))["projects"]
DAY = 24 * 60
PROJECTS = [(name, project) for name, project, _ in FIRST_SPACES]


def recorded(project: str, source: str, first_day: int, days: int, **wanted: object) -> list[dict[str, Any]]:
    """Events by their offset alone: days counted back from the last sync, without any of the app's windows."""
    start = WEEK[project]["synced_minutes_ago"][source] + first_day * DAY
    return [
        event
        for event in WEEK[project]["events"]
        if event["source"] == source
        and start <= event["minutes_ago"] < start + days * DAY
        and all({**event["data"], "kind": event["kind"]}.get(key) == value for key, value in wanted.items())
    ]


def numbers_of(workspace: Workspace, space_name: str, source: Source) -> dict[str, int]:
    space = workspace.spaces.named(space_name)
    assert space is not None
    return dict(read_source(workspace, space, source).numbers)


@pytest.mark.parametrize(("space", "project"), PROJECTS, ids=[name for name, _ in PROJECTS])
@pytest.mark.parametrize(
    ("source", "number", "span", "wanted"),
    [
        ("github", "commits_today", (0, 1), {"kind": "commit"}),
        ("github", "commits_yesterday", (1, 1), {"kind": "commit"}),
        ("github", "commits_week", (0, 7), {"kind": "commit"}),
        ("github", "open_bugs", (0, 99), {"kind": "issue", "status": "open", "label": "bug"}),
        (
            "github",
            "waiting_reviews",
            (0, 99),
            {"kind": "pull_request", "status": "open", "review": "waiting", "reviewer": "mira"},
        ),
        ("slack", "mentions_today", (0, 1), {"kind": "message", "mentions_me": True}),
        ("slack", "messages_week", (0, 7), {"kind": "message"}),
        ("slack", "unanswered", (0, 99), {"kind": "message", "mentions_me": True, "answered": False}),
        ("vercel", "deployments_today", (0, 1), {"kind": "deployment"}),
        ("vercel", "failed_yesterday", (1, 1), {"kind": "deployment", "status": "error"}),
        (
            "vercel",
            "production_failed_today",
            (0, 1),
            {"kind": "deployment", "status": "error", "environment": "production"},
        ),
    ],
)
def test_a_count_equals_the_recording(
    workspace: Workspace,
    space: str,
    project: str,
    source: str,
    number: str,
    span: tuple[int, int],
    wanted: dict[str, Any],
) -> None:
    expected = len(recorded(project, source, *span, **wanted))
    assert numbers_of(workspace, space, Source(source))[number] == expected


@pytest.mark.parametrize(("space", "project"), PROJECTS, ids=[name for name, _ in PROJECTS])
@pytest.mark.parametrize("event", ["pageview", "signup", "checkout", "exception"])
def test_a_sum_equals_the_recording(workspace: Workspace, space: str, project: str, event: str) -> None:
    numbers = numbers_of(workspace, space, Source.POSTHOG)
    for label, first_day, days in (("today", 0, 1), ("yesterday", 1, 1), ("week", 0, 7)):
        found = recorded(project, "posthog", first_day, days, kind=event)
        assert numbers[f"{event}s_{label}"] == sum(item["data"]["count"] for item in found)


def test_today_and_yesterday_differ_so_that_a_mix_up_shows(workspace: Workspace) -> None:
    for space in ("Home", "Launch Week"):
        for source, number in (("github", "commits"), ("posthog", "signups"), ("vercel", "deployments")):
            numbers = numbers_of(workspace, space, Source(source))
            assert numbers[f"{number}_today"] != numbers[f"{number}_yesterday"]


def states(workspace: Workspace) -> dict[str, str]:
    return {
        report.source.value: report.state.value for report in measure(workspace, workspace.spaces.current()).reports
    }


def test_the_back_office_has_a_stale_and_an_empty_source(workspace: Workspace) -> None:
    office = workspace.spaces.named("Back Office")
    assert office is not None
    workspace.spaces.enter(office)
    assert states(workspace) == {"github": "fresh", "slack": "empty", "posthog": "stale", "vercel": "fresh"}


@pytest.mark.parametrize(
    ("later", "fresh"),
    [(0, ["github", "slack", "posthog", "vercel"]), (150, ["github", "slack", "vercel"]), (400, [])],
)
def test_sources_grow_stale_as_the_clock_goes_on(later: int, fresh: list[str]) -> None:
    now = [DEFAULT()]
    workspace = fresh_workspace(clock=lambda: now[0])
    now[0] += timedelta(minutes=later)
    assert [name for name, state in states(workspace).items() if state == "fresh"] == fresh


def test_a_stale_source_keeps_the_numbers_of_its_last_day() -> None:
    now = [DEFAULT()]
    workspace = fresh_workspace(clock=lambda: now[0])
    before = numbers_of(workspace, "Home", Source.GITHUB)
    now[0] += timedelta(days=2)
    assert numbers_of(workspace, "Home", Source.GITHUB) == before


@pytest.mark.parametrize(
    ("rule", "source", "state"),
    [
        (("exclude_source", "slack"), Source.SLACK, State.EXCLUDED),
        (("max_age_minutes", "30"), Source.POSTHOG, State.STALE),
        (("max_age_minutes", "35"), Source.POSTHOG, State.FRESH),
    ],
)
def test_rules_decide_what_counts(workspace: Workspace, rule: tuple[str, str], source: Source, state: State) -> None:
    workspace.rules.set(*rule, "as a test")
    assert read_source(workspace, workspace.spaces.current(), source).state is state


def test_ignored_authors_are_not_counted(workspace: Workspace) -> None:
    before = numbers_of(workspace, "Home", Source.GITHUB)["commits_week"]
    by_bots = len(recorded("atlas", "github", 0, 7, kind="commit", author="renovate-bot"))
    workspace.rules.set("ignore_author", "bots", "as a test")
    assert by_bots > 0
    assert numbers_of(workspace, "Home", Source.GITHUB)["commits_week"] == before - by_bots


def test_a_source_that_is_off_has_no_numbers() -> None:
    workspace = fresh_workspace(off=(Source.SLACK,))
    report = read_source(workspace, workspace.spaces.current(), Source.SLACK)
    assert (report.state, dict(report.numbers)) == (State.OFF, {})
    assert fact_line(report) == "Slack: switched off in this space, no data"
    assert "switched off" in assumption(report)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (age_text(0), "0 minutes ago"),
        (age_text(1), "1 minute ago"),
        (age_text(179), "179 minutes ago"),
        (age_text(180), "3 hours ago"),
        (age_text(26 * 60), "26 hours ago"),
        (age_text(3 * DAY), "3 days ago"),
        (change_text(3, 2), "up 50%"),
        (change_text(1, 2), "down 50%"),
        (change_text(2, 2), "level"),
        (change_text(2, 0), "up from none"),
        (change_text(0, 0), "unchanged"),
        (counted(1, "commit"), "1 commit"),
        (counted(4180, "pageview"), "4,180 pageviews"),
        (listed([]), ""),
        (listed(["a"]), "a"),
        (listed(["a", "b", "c"], "or"), "a, b or c"),
        (clipped("a  b\nc", 9), "a b c"),
        (clipped("abcdef", 4), "abc…"),
    ],
)
def test_wording(text: str, told: str) -> None:
    assert text == told


def test_the_clock_reads_an_instant_or_says_what_is_wrong() -> None:
    assert clock_from("2026-03-12T10:30:00+00:00")() == DEFAULT() + timedelta(minutes=90)
    assert clock_from("2026-03-12T09:00")() == DEFAULT()
    assert clock_from("system")() > DEFAULT() - timedelta(days=100_000)
    assert fixed_clock(DEFAULT())() == DEFAULT()
    with pytest.raises(ValueError, match="CANVAS_NOW: 'noon' is no ISO instant"):
        clock_from("noon")
