"""The Morning Brief keeps its contract, and its overrides work."""

import re
from datetime import timedelta

import pytest
from canvas_support import DEFAULT, fresh_workspace

from canvas_app.brief.overrides import OVERRIDES, awake, override_controls
from canvas_app.catalog import Source
from canvas_app.store.workspace import Workspace
from canvas_app.tools.base import ToolResult
from canvas_app.tools.registry import run_tool

HEADINGS = ["Today's Mission", "Why It Matters Now", "Top Levers", "Evidence", "Assumptions & Confidence"]


def in_space(workspace: Workspace, name: str) -> Workspace:
    run_tool(workspace, "switch_space", {"name": name})
    return workspace


def brief(workspace: Workspace, **arguments: str) -> ToolResult:
    return run_tool(workspace, "generate_brief", arguments)


def mission(result: ToolResult) -> str:
    lines = result.message.splitlines()
    return lines[lines.index("Today's Mission") + 1]


def levers(result: ToolResult) -> list[str]:
    return re.findall(r"^\d+\. .+", result.message, re.MULTILINE)


@pytest.mark.parametrize("space", ["Home", "Launch Week", "Back Office"])
def test_a_brief_has_its_five_parts_in_order(workspace: Workspace, space: str) -> None:
    result = brief(in_space(workspace, space))
    lines = result.message.splitlines()
    assert [line for line in lines if line in HEADINGS] == HEADINGS
    assert 2 <= len(levers(result)) <= 3
    assert re.search(r"^Because .+, backed by ", result.message, re.MULTILINE)
    evidence = [line for line in lines if line.startswith("- ")]
    assert [line.split(":")[0] for line in evidence] == ["- GitHub", "- Slack", "- PostHog", "- Vercel"]
    assert all(re.search(r"\(\d+ (minutes?|hours?) ago(, stale)?\)$", line) for line in evidence)


@pytest.mark.parametrize(
    ("space", "line"),
    [
        ("Home", "- GitHub: 12 commits today (9 yesterday), 45 this week; 4 pull requests waiting for your review; "),
        ("Home", "- PostHog: 57 signups today (49 yesterday), 19 checkouts (18 yesterday), "),
        (
            "Launch Week",
            "- Vercel: 8 deployments today (4 yesterday), 3 failed, 3 of them in production (6 minutes ago)",
        ),
        ("Launch Week", "- PostHog: 412 signups today (294 yesterday), 61 checkouts (94 yesterday), "),
        ("Back Office", "- Slack: 0 messages this week (18 minutes ago)"),
        ("Back Office", "- PostHog: 8 signups on its last day (6 the day before), "),
    ],
)
def test_evidence_holds_the_numbers_of_the_day(workspace: Workspace, space: str, line: str) -> None:
    assert line in brief(in_space(workspace, space)).message


@pytest.mark.parametrize(
    ("space", "off", "words"),
    [
        ("Home", (), "High confidence: all 4 sources are fresh."),
        ("Home", (Source.SLACK,), "Medium confidence: 3 of 4 sources are fresh; Slack is off."),
        ("Back Office", (), "Low confidence: 2 of 4 sources are fresh; Slack is empty and PostHog is stale."),
    ],
)
def test_confidence_follows_the_fresh_sources(space: str, off: tuple[Source, ...], words: str) -> None:
    result = brief(in_space(fresh_workspace(off=off), space))
    assert words in result.message
    assert ("ASSUMPTION 1:" in result.message) is ("High" not in words)


def test_nothing_that_is_stale_leads_the_day(workspace: Workspace) -> None:
    result = brief(in_space(workspace, "Back Office"))
    assert "PostHog" not in "".join(levers(result))
    assert "PostHog" not in mission(result)


def test_without_a_fresh_source_there_is_no_brief() -> None:
    workspace = fresh_workspace(off=tuple(Source))
    result = brief(workspace)
    assert (result.success, result.code) == (False, "no_fresh_source")
    assert not workspace.spaces.brief(workspace.spaces.current()).shown


@pytest.mark.parametrize(("count", "shown"), [("1", 1), ("2", 2), ("6", 6)])
def test_the_number_of_levers_can_be_asked_for(workspace: Workspace, count: str, shown: int) -> None:
    assert len(levers(brief(workspace, levers=count))) == shown


def test_rules_shape_the_brief(workspace: Workspace) -> None:
    run_tool(workspace, "set_preference_rule", {"kind": "max_levers", "value": "2"})
    run_tool(workspace, "set_preference_rule", {"kind": "objective", "value": "growth"})
    result = brief(workspace)
    assert len(levers(result)) == 2
    assert mission(result) == "Turn today's new signups into customers."


def test_reframing_puts_the_same_mission_another_way(workspace: Workspace) -> None:
    told = [brief(workspace), *(brief(workspace, override="reframe_mission") for _ in range(3))]
    assert len({mission(result) for result in told[:3]}) == 3
    assert mission(told[3]) == mission(told[0])
    assert len({tuple(levers(result)) for result in told}) == 1


def test_lowering_moves_the_next_mission_up(workspace: Workspace) -> None:
    in_space(workspace, "Launch Week")
    first = brief(workspace)
    second = brief(workspace, override="lower_priority")
    assert mission(first) == "Get production deploying again."
    assert mission(second) == "Bring the exceptions back to yesterday's level."
    assert levers(second)[0].removeprefix("1. ") == levers(first)[1].removeprefix("2. ")


def test_another_objective_is_asked_for_and_then_served(workspace: Workspace) -> None:
    brief(workspace)
    asked = brief(workspace, override="different_objective")
    assert asked.as_json()["missingFields"] == ["objective"]
    assert asked.pending is not None
    assert len(asked.pending.options) == 4
    served = brief(workspace, override="different_objective", objective="collaboration")
    assert mission(served) == "Answer everyone who waits for you."


def test_an_objective_that_nothing_serves_is_not_claimed_to_be_served(workspace: Workspace) -> None:
    in_space(workspace, "Back Office")
    brief(workspace)
    result = brief(workspace, override="different_objective", objective="growth")
    assert result.success
    assert result.message.startswith("Nothing today serves the objective to win and keep customers, so another mission")
    assert mission(result) == "Clear the review queue so that finished work ships."


def test_snoozing_hides_the_brief_until_tomorrow_and_waking_brings_it_back() -> None:
    now = [DEFAULT()]
    workspace = fresh_workspace(clock=lambda: now[0])
    brief(workspace)
    result = brief(workspace, override="snooze")
    assert result.message == "The brief is snoozed until Friday 13 March, 09:00."
    snoozed = workspace.spaces.brief(workspace.spaces.current())
    assert [control.label for control in override_controls(snoozed)] == ["Wake the brief"]
    assert awake(snoozed, now[0] + timedelta(hours=23)).snoozed_until is not None
    assert awake(snoozed, now[0] + timedelta(hours=24)).snoozed_until is None
    brief(workspace, override="wake")
    awoken = workspace.spaces.brief(workspace.spaces.current())
    assert override_controls(awoken) == OVERRIDES


def test_asking_for_the_brief_wakes_it(workspace: Workspace) -> None:
    brief(workspace)
    brief(workspace, override="snooze")
    brief(workspace)
    assert workspace.spaces.brief(workspace.spaces.current()).snoozed_until is None


def test_decisions_belong_to_one_space(workspace: Workspace) -> None:
    brief(workspace)
    brief(workspace, override="lower_priority")
    in_space(workspace, "Launch Week")
    assert not workspace.spaces.brief(workspace.spaces.current()).shown


def test_the_controls_are_the_four_that_were_promised() -> None:
    labels = [override.label for override in OVERRIDES]
    assert labels == ["Reframe mission", "Lower priority", "Use different objective", "Snooze"]
