"""Every tool: what it does, what it asks for, what it refuses."""

from typing import Any

import pytest
from canvas_support import fresh_workspace

from canvas_app.catalog import Source
from canvas_app.store.workspace import Workspace
from canvas_app.tools.base import ToolResult
from canvas_app.tools.registry import TOOLS, run_tool, schemas

NAMES = {
    "add_component",
    "add_filtered_component",
    "remove_component",
    "update_component",
    "create_space",
    "switch_space",
    "apply_template",
    "set_preference_rule",
    "generate_brief",
}


def cards(workspace: Workspace) -> list[str]:
    return [card.name for card in workspace.components.on(workspace.spaces.current())]


def snapshot(workspace: Workspace) -> tuple[object, ...]:
    spaces = workspace.spaces.all()
    return (
        spaces,
        workspace.spaces.current(),
        [workspace.components.on(space) for space in spaces],
        workspace.rules.all(),
        [workspace.spaces.brief(space) for space in spaces],
    )


def use(workspace: Workspace, tool: str, **arguments: Any) -> ToolResult:
    return run_tool(workspace, tool, arguments)


def test_there_are_nine_tools_and_their_schemas_are_closed() -> None:
    assert {tool.name for tool in TOOLS} == NAMES
    for schema in schemas():
        function: Any = schema["function"]
        assert function["parameters"]["additionalProperties"] is False
        assert function["description"]


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        (
            "add_component",
            {"integration": "github", "component": "my_activity"},
            ["GitHub Pull Requests", "PostHog Site Health", "Vercel Deployments", "GitHub My Activity"],
        ),
        (
            "add_component",
            {"component": "signups", "title": "New people"},
            ["GitHub Pull Requests", "PostHog Site Health", "Vercel Deployments", "New people"],
        ),
        (
            "add_filtered_component",
            {"component": "pull_requests", "repo": "ATLAS-web"},
            ["GitHub Pull Requests", "PostHog Site Health", "Vercel Deployments", "GitHub Pull Requests: atlas-web"],
        ),
        (
            "add_filtered_component",
            {"component": "mentions", "channel": "atlas-dev"},
            ["GitHub Pull Requests", "PostHog Site Health", "Vercel Deployments", "Slack Mentions: #atlas-dev"],
        ),
        ("remove_component", {"component": "vercel deployments"}, ["GitHub Pull Requests", "PostHog Site Health"]),
        ("remove_component", {"component": "site health"}, ["GitHub Pull Requests", "Vercel Deployments"]),
        (
            "update_component",
            {"component": "GitHub Pull Requests", "title": "Review Queue"},
            ["Review Queue", "PostHog Site Health", "Vercel Deployments"],
        ),
        (
            "update_component",
            {"component": "deployments", "environment": "production"},
            ["GitHub Pull Requests", "PostHog Site Health", "Vercel Deployments: production"],
        ),
        (
            "update_component",
            {"component": "Vercel Deployments", "position": "first"},
            ["Vercel Deployments", "GitHub Pull Requests", "PostHog Site Health"],
        ),
        ("create_space", {"name": "Research"}, []),
        ("switch_space", {"name": "launch week"}, ["PostHog Signups", "Vercel Deployments"]),
        (
            "apply_template",
            {"template": "Support Triage"},
            [
                "GitHub Pull Requests",
                "PostHog Site Health",
                "Vercel Deployments",
                "Slack Mentions",
                "Slack Unanswered Threads",
                "GitHub Issues",
            ],
        ),
    ],
)
def test_a_tool_that_succeeds_changes_the_canvas(
    workspace: Workspace, tool: str, arguments: dict[str, str], expected: list[str]
) -> None:
    result = use(workspace, tool, **arguments)
    assert result.as_json()["success"] is True
    assert cards(workspace) == expected


@pytest.mark.parametrize(
    ("tool", "arguments", "field", "options"),
    [
        ("add_component", {}, "component", 12),
        ("add_component", {"integration": "slack"}, "component", 3),
        ("add_filtered_component", {"component": "pull_requests"}, "repo", 3),
        ("add_filtered_component", {"component": "pull_requests", "filter_by": "status"}, "status", 2),
        ("add_filtered_component", {"component": "commits", "filter_by": "channel"}, "repo", 3),
        ("remove_component", {}, "component", 3),
        ("update_component", {}, "component", 3),
        ("update_component", {"component": "Vercel Deployments"}, "title", 0),
        ("create_space", {}, "name", 0),
        ("switch_space", {}, "name", 2),
        ("apply_template", {}, "template", 3),
        ("set_preference_rule", {}, "kind", 5),
        ("set_preference_rule", {"kind": "objective"}, "value", 4),
        ("set_preference_rule", {"kind": "exclude_source"}, "value", 4),
        ("set_preference_rule", {"kind": "max_levers"}, "value", 3),
        ("set_preference_rule", {"kind": "ignore_author"}, "value", 6),
    ],
)
def test_a_missing_field_is_named_and_nothing_changes(
    workspace: Workspace, tool: str, arguments: dict[str, str], field: str, options: int
) -> None:
    before = snapshot(workspace)
    result = use(workspace, tool, **arguments)
    told: Any = result.as_json()
    assert (told["success"], told["missingFields"], len(told["options"])) == (False, [field], options)
    assert snapshot(workspace) == before


def test_every_option_of_a_picker_completes_its_call() -> None:
    asked = [
        ("add_component", {"integration": "posthog"}),
        ("add_filtered_component", {"component": "channel_activity"}),
        ("remove_component", {}),
        ("switch_space", {}),
        ("apply_template", {}),
        ("set_preference_rule", {}),
        ("set_preference_rule", {"kind": "max_age_minutes"}),
    ]
    for tool, arguments in asked:
        pending = use(fresh_workspace(), tool, **arguments).pending
        assert pending is not None
        assert pending.options
        for option in pending.options:
            result = use(fresh_workspace(), pending.tool, **{**pending.arguments, **option.arguments})
            assert result.success or result.code == "already_there", (tool, option)


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "words"),
    [
        ("add_component", {"integration": "jira"}, "unknown_integration", "GitHub, Slack, PostHog and Vercel"),
        ("add_component", {"integration": "slack", "component": "commits"}, "unknown_component", "Mentions"),
        ("add_component", {"component": "deployments"}, "already_there", "Vercel Deployments is already on Home"),
        ("add_filtered_component", {"component": "commits", "repo": "moon"}, "unknown_value", "atlas-api"),
        ("add_filtered_component", {"component": "commits", "channel": "x"}, "unknown_filter", "repository or author"),
        ("add_filtered_component", {"component": "site_health"}, "unknown_filter", "cannot be filtered"),
        ("remove_component", {"component": "Slack Mentions"}, "not_on_canvas", "On it: GitHub Pull Requests"),
        ("update_component", {"component": "nothing"}, "not_on_canvas", "not on Home"),
        ("update_component", {"component": "deployments", "position": "left"}, "unknown_position", "first or last"),
        ("update_component", {"component": "deployments", "repo": "atlas-web"}, "unknown_filter", "environment"),
        ("create_space", {"name": "home"}, "already_there", "a space of that name"),
        ("switch_space", {"name": "Mars"}, "unknown_space", "Home, Launch Week and Back Office"),
        ("apply_template", {"template": "Sales"}, "unknown_template", "Engineering Standup"),
        ("set_preference_rule", {"text": "like me"}, "unsupported_rule", "A rule can lead briefs"),
        ("set_preference_rule", {"kind": "objective", "value": "fame"}, "unknown_value", "delivery"),
        ("set_preference_rule", {"kind": "max_levers", "value": "99"}, "unknown_value", "from 1 to 6"),
        ("set_preference_rule", {"kind": "max_age_minutes", "value": "-1"}, "unknown_value", "from 5 to"),
        ("set_preference_rule", {"kind": "exclude_source", "value": "jira"}, "unknown_value", "GitHub"),
        ("set_preference_rule", {"kind": "ignore_author", "value": "nobody"}, "unknown_value", "jonas"),
        ("generate_brief", {"objective": "fame"}, "unknown_objective", "delivery"),
        ("generate_brief", {"levers": "0"}, "unknown_value", "1 to 6"),
        ("generate_brief", {"override": "snooze"}, "no_brief", "Ask for the morning brief"),
        ("generate_brief", {"override": "explode"}, "unknown_override", "snooze"),
        ("make_coffee", {}, "unknown_tool", "add_component"),
        ("create_space", {"name": "x", "colour": "red"}, "unknown_argument", "takes name"),
    ],
)
def test_what_cannot_be_done_is_refused_and_nothing_changes(
    workspace: Workspace, tool: str, arguments: dict[str, str], code: str, words: str
) -> None:
    before = snapshot(workspace)
    result = use(workspace, tool, **arguments)
    assert (result.success, result.code) == (False, code)
    assert words in result.message
    assert "missingFields" not in result.as_json()
    assert snapshot(workspace) == before


@pytest.mark.parametrize("tool", ["add_component", "add_filtered_component"])
def test_an_integration_that_is_off_cannot_be_added(tool: str) -> None:
    workspace = fresh_workspace(off=(Source.SLACK,))
    result = use(workspace, tool, integration="slack", component="mentions")
    assert (result.success, result.code) == (False, "integration_off")
    assert "Slack is switched off in Home" in result.message
    assert "Slack Mentions" not in cards(workspace)


def test_a_template_skips_what_is_off() -> None:
    workspace = fresh_workspace(off=(Source.SLACK,))
    told: Any = use(workspace, "apply_template", template="launch").as_json()
    assert told["added"] == ["PostHog Signups"]
    assert told["kept"] == ["PostHog Site Health", "Vercel Deployments"]
    assert told["skipped"] == ["Slack Unanswered Threads"]


def test_a_new_space_inherits_what_is_off_and_its_project() -> None:
    workspace = fresh_workspace(off=(Source.VERCEL,))
    use(workspace, "switch_space", name="Launch Week")
    use(workspace, "create_space", name="Room")
    room = workspace.spaces.current()
    assert (room.name, room.project) == ("Room", "beacon")
    assert not workspace.spaces.is_on(room, Source.VERCEL)
    assert workspace.spaces.is_on(room, Source.SLACK)


def test_a_name_for_two_cards_asks_which(workspace: Workspace) -> None:
    use(workspace, "add_filtered_component", component="commits", repo="atlas-web")
    use(workspace, "add_filtered_component", component="commits", repo="atlas-api")
    told: Any = use(workspace, "remove_component", component="GitHub Commits").as_json()
    assert told["missingFields"] == ["component"]
    assert told["options"] == ["GitHub Commits: atlas-web", "GitHub Commits: atlas-api"]


def test_a_rule_of_one_value_takes_the_place_of_the_old_one(workspace: Workspace) -> None:
    use(workspace, "set_preference_rule", kind="max_levers", value="2")
    use(workspace, "set_preference_rule", kind="max_levers", value=3)
    use(workspace, "set_preference_rule", kind="exclude_source", value="Slack")
    use(workspace, "set_preference_rule", kind="exclude_source", value="posthog")
    kept = [(rule.kind, rule.value) for rule in workspace.rules.all()]
    assert kept == [("max_levers", "3"), ("exclude_source", "slack"), ("exclude_source", "posthog")]


def test_hostile_arguments_are_cut_to_size(workspace: Workspace) -> None:
    result = use(workspace, "create_space", name="x\n" * 5000)
    assert result.success
    assert len(workspace.spaces.current().name) <= 40


def test_a_tool_that_breaks_half_way_leaves_nothing_behind(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(workspace)
    added = []
    real = type(workspace.components).add

    def breaks_on_the_second(*arguments: Any, **named: Any) -> Any:
        added.append(1)
        if len(added) == 2:
            raise RuntimeError("the disk is full")
        return real(*arguments, **named)

    monkeypatch.setattr(type(workspace.components), "add", breaks_on_the_second)
    with pytest.raises(RuntimeError):
        use(workspace, "apply_template", template="Support Triage")
    assert snapshot(workspace) == before
