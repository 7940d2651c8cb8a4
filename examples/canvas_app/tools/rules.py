"""The tool for preference rules. A rule that would change nothing is refused, not stored."""

from collections.abc import Callable, Mapping

from canvas_app.catalog import OBJECTIVES, SOURCE_NAMES, Source
from canvas_app.records import Option
from canvas_app.store.workspace import Workspace
from canvas_app.tools.base import Arguments, Tool, ToolResult, done, lacking, refused, text_parameter
from canvas_app.tools.components import source_called
from canvas_app.wording import counted, listed

RULE_KINDS: Mapping[str, str] = {
    "objective": "lead briefs and recommendations with one objective",
    "max_levers": "limit how many levers a brief has",
    "max_age_minutes": "take data as stale after a time",
    "exclude_source": "leave a source out of briefs and answers",
    "ignore_author": "ignore what an author did",
}

READY_MADE = (
    Option("Lead with reliability", {"kind": "objective", "value": "reliability"}),
    Option("At most 2 levers", {"kind": "max_levers", "value": "2"}),
    Option("Take data as stale after 60 minutes", {"kind": "max_age_minutes", "value": "60"}),
    Option("Leave Slack out", {"kind": "exclude_source", "value": "slack"}),
    Option("Ignore bots", {"kind": "ignore_author", "value": "bots"}),
)

LIMITS: Mapping[str, tuple[int, int]] = {"max_levers": (1, 6), "max_age_minutes": (5, 7 * 24 * 60)}


def _objective(workspace: Workspace, value: str) -> str | ToolResult:
    if value not in OBJECTIVES:
        return refused("unknown_value", f"I know no such objective. It can be {listed(OBJECTIVES, 'or')}.")
    return f"Lead with {value}"


def _number(kind: str, value: str) -> int | ToolResult:
    low, high = LIMITS[kind]
    if not value.isdecimal() or not low <= int(value) <= high:
        return refused("unknown_value", f"That has to be a whole number from {low} to {high}.")
    return int(value)


def _max_levers(workspace: Workspace, value: str) -> str | ToolResult:
    number = _number("max_levers", value)
    return number if isinstance(number, ToolResult) else f"At most {counted(number, 'lever')} in a brief"


def _max_age(workspace: Workspace, value: str) -> str | ToolResult:
    number = _number("max_age_minutes", value)
    return number if isinstance(number, ToolResult) else f"Data is stale after {counted(number, 'minute')}"


def _exclude_source(workspace: Workspace, value: str) -> str | ToolResult:
    source = source_called(value)
    if source is None:
        return refused("unknown_value", f"I know no such source. It can be {listed(SOURCE_NAMES.values(), 'or')}.")
    return f"Leave {SOURCE_NAMES[source]} out of briefs and answers"


def _ignore_author(workspace: Workspace, value: str) -> str | ToolResult:
    known = {"bots"}
    for source in Source:
        known.update(workspace.recorded.values_of(workspace.spaces.current(), source, "author"))
    if value not in known:
        return refused("unknown_value", f"I know no such author here. It can be {listed(sorted(known), 'or')}.")
    return f"Ignore what {value} did" if value != "bots" else "Ignore what bots did"


_CHECKS: Mapping[str, Callable[[Workspace, str], str | ToolResult]] = {
    "objective": _objective,
    "max_levers": _max_levers,
    "max_age_minutes": _max_age,
    "exclude_source": _exclude_source,
    "ignore_author": _ignore_author,
}


def _value_options(workspace: Workspace, kind: str) -> tuple[Option, ...]:
    if kind == "objective":
        return tuple(Option(label, {"value": value}) for value, label in OBJECTIVES.items())
    if kind == "exclude_source":
        return tuple(Option(name, {"value": source.value}) for source, name in SOURCE_NAMES.items())
    if kind == "ignore_author":
        authors = workspace.recorded.values_of(workspace.spaces.current(), Source.GITHUB, "author")
        return tuple(Option(author, {"value": author}) for author in ("bots", *authors))
    choices = ("1", "2", "3") if kind == "max_levers" else ("30", "60", "120")
    noun = "lever" if kind == "max_levers" else "minute"
    return tuple(Option(counted(int(choice), noun), {"value": choice}) for choice in choices)


def set_preference_rule(workspace: Workspace, arguments: Arguments) -> ToolResult:
    kind, value = arguments.get("kind", ""), arguments.get("value", "").casefold()
    if not kind and not arguments.get("text"):
        return lacking("set_preference_rule", arguments, "kind", "Which rule shall I set?", READY_MADE)
    if kind not in RULE_KINDS:
        return refused(
            "unsupported_rule", f"I cannot keep that as a rule. A rule can {listed(RULE_KINDS.values(), 'or')}."
        )
    if not value:
        question = f"To {RULE_KINDS[kind]}: which one?"
        return lacking("set_preference_rule", arguments, "value", question, _value_options(workspace, kind))
    worded = _CHECKS[kind](workspace, value)
    if isinstance(worded, ToolResult):
        return worded
    workspace.rules.set(kind, value, worded)
    return done(
        f"Rule set: {worded}. It holds from now on, in every space.",
        rule={"kind": kind, "value": value, "text": worded},
    )


RULE_TOOLS = (
    Tool(
        "set_preference_rule",
        "Set a standing rule for briefs and answers.",
        {
            "kind": text_parameter("What the rule does", tuple(RULE_KINDS)),
            "value": text_parameter("Its value: an objective, a number, a source or an author"),
            "text": text_parameter("The rule in the person's words, when none of the kinds fits"),
        },
        set_preference_rule,
    ),
)
