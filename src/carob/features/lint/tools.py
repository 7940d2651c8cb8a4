"""The tools that cases name: unknown to the target, expected by no case, misspelled, or worth declaring."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import regex

from carob.checks.answer.json import AnswerAt
from carob.checks.budgets import MaxCalls
from carob.checks.effects.claims import NoFalseSuccess
from carob.checks.numbers.grounded import GroundedNumbers
from carob.checks.numbers.required import MustGroundNumber
from carob.checks.page.ui import Ui
from carob.checks.telemetry import Telemetry, shorthand
from carob.checks.tools.calls import ToolCalls
from carob.checks.tools.names import ToolCallsAny, ToolCallsNone, ToolsUsed
from carob.checks.tools.order import ToolOrder, ToolRequires
from carob.evidence.logs.events import PREFIX
from carob.features.lint.base import LintCase, PlacedCheck, Rule, Smell, TargetInfo
from carob.suites.diagnostics import Path, PathDiagnostic
from carob.text.tool_names import is_named
from carob.text.wording import did_you_mean, pluralize, quoted
from carob.text.words import PUBLISHED

EFFECTS = "propose-effects"
CLAIMS = "propose-no-false-success"
OVERRIDES = "overridden-default"
MOST_NAMED = 8
NEEDS_A_CALL = frozenset(("tool_success", "tool_started", "graceful_error"))
"""Outcomes that only a tool call brings about."""
JUDGES_NUMBERS = (MustGroundNumber, AnswerAt, Ui)

NEAR_SHORTHAND = regex.compile(
    r"\s*tools?\s*[.:]\s*[\w.-]+\s+\S|\s*\w+\s+(?:start(?:ed|s)?|result)\s*$"
    r"|\bsuccess(?:ful)?\s*[:= ]\s*(?:true|false)\b|\bmissing[_ ]?fields?\b",
    regex.I,
)
TOOL = regex.compile(r"tools?\s*[.:]\s*([\w.-]+)", regex.I)
FIELD = regex.compile(r"missing[_ ]?fields?\W+(?:(?:containing|contains|with|has|includes?)\W+)?([\w.-]+)", regex.I)
FALSE = regex.compile(r"false|fail|error", regex.I)
TRUE = regex.compile(r"true|success|ok\b", regex.I)
START = regex.compile(r"\bstart", regex.I)
FIRST_WORD = regex.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def expected_calls(case: LintCase) -> Iterator[tuple[Path, str, bool]]:
    """Tools of which a call is expected, each at its place; whether others may replace it."""
    for placed in case.of(ToolCallsAny):
        several = len(placed.args["tools"]) > 1
        yield from ((path, tool, several) for path, tool in tools_at(placed))
    for placed in case.of(ToolsUsed):
        if placed.args.get("match", "exact") != "subset":
            yield from ((path, tool, False) for path, tool in tools_at(placed))
    for placed in case.of(ToolCalls):
        if isinstance(placed.check, ToolCalls) and placed.check.asks_for_a_call:
            yield from ((path, tool, False) for path, tool in tools_at(placed))
    for placed in case.of(ToolOrder, Telemetry):
        yield from ((path, tool, False) for path, tool in tools_at(placed))


def find_unknown_tools(case: LintCase, target: TargetInfo) -> Iterator[Smell]:
    """Tools that no agent of this target can call."""
    if target.tools is None:
        return
    for placed in case.checks:
        for path, tool in tools_at(placed):
            if not any(is_named(tool, name) for name in target.tools):
                hint = did_you_mean(tool, target.tools)
                yield path, f"the target {quoted(target.target)} has no tool {quoted(tool)}. {hint}".rstrip()


def tools_at(placed: PlacedCheck) -> Iterator[tuple[Path, str]]:
    """The tools that a check names, each at its place."""
    args, path = placed.args, placed.path
    match placed.check:
        case ToolCallsAny() | ToolsUsed() | ToolOrder():
            yield from (((*path, index), tool) for index, tool in enumerate(args["tools"]))
        case ToolCallsNone() | MaxCalls():
            yield path, args["tool"]
        case MustGroundNumber() if args.get("from_tool"):
            yield (*path, "from_tool"), args["from_tool"]
        case ToolCalls():
            yield (*path, "tool"), args["tool"]
        case ToolRequires():
            yield path, args["tool"]
            yield from (((*path, index), tool) for index, tool in enumerate(args["first"]))
        case Telemetry():
            pattern = shorthand(args["entry"])
            if pattern is not None and pattern.source is not None:
                yield path, pattern.source.removeprefix(PREFIX)


def find_near_shorthands(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """Telemetry entries that are searched for as plain text though a shorthand was meant."""
    for placed in case.of(Telemetry):
        entry = placed.args["entry"]
        if shorthand(entry) is None and '"' not in entry and NEAR_SHORTHAND.match(entry):
            suggestion = quoted(_suggest_entry(entry))
            yield placed.path, f"not a shorthand, so Carob looks for it as plain text. Did you mean {suggestion}?"


def _suggest_entry(entry: str) -> str:
    if missing := FIELD.search(entry):
        return f"success:false with missingFields containing {missing[1]}"
    tool = TOOL.search(entry)
    name = tool[1] if tool else entry.split()[0]
    if START.search(entry):
        return f"tool.{name} start"
    result = entry[tool.end() :] if tool else entry
    return f"tool.{name} result success:{'false' if FALSE.search(result) and not TRUE.search(result) else 'true'}"


def find_unused(cases: Sequence[LintCase]) -> Iterator[Smell]:
    """Preconditions of tools that no case expects to be called, and numbers that no case asks for."""
    parts = [part for case in cases for part in (case, *case.turns)]
    tools = {tool for part in parts for _, tool, _ in expected_calls(part)}
    is_observed = bool(tools) or any(
        part.case.outcome in NEEDS_A_CALL or any(part.of(*JUDGES_NUMBERS)) for part in parts
    )
    for part in parts:
        for placed in part.of(ToolRequires):
            if placed.args["tool"] not in tools:
                message = f"no case expects a call to {quoted(placed.args['tool'])}"
                yield placed.path, f"{message}: agents that never call it satisfy this. Expect one."
        for placed in part.of(GroundedNumbers) if not is_observed else ():
            message = "no case expects a tool, a page or a number: answers without numbers satisfy this."
            yield placed.path, f"{message} Expect one."


def suggestions(cases: Sequence[LintCase], target: TargetInfo) -> Iterator[PathDiagnostic]:
    """Effects for tools that look like writes; `no_false_success` where effects are declared.

    And the prohibitions of `defaults` that cases do without. Suggestions for people: no run and no exit code depends on
    them.
    """
    if not cases:
        return  # a contract
    for case in cases:
        for index, name in enumerate(case.overrides):
            message = f"the case replaces what `defaults` forbid under {name!r}. Make sure that it is meant."
            yield PathDiagnostic((*case.path, "override", index), message, OVERRIDES)
    parts = [part for case in cases for part in (case, *case.turns)]
    if not any(part.expected.get("effects") for part in parts):
        tools = {tool for part in parts for _, tool, _ in expected_calls(part)} | (target.tools or frozenset())
        if writes := sorted(tool for tool in tools if looks_like_write(tool)):
            listed = ", ".join(f"{tool}: [...]" for tool in writes[:MOST_NAMED])
            message = f"these tools look as if they change something. If they do, declare it: effects: {{{listed}}}."
            yield PathDiagnostic(cases[0].path[:-1], message, EFFECTS)
        return
    without = [case for case in cases if not any(any(part.of(NoFalseSuccess)) for part in (case, *case.turns))]
    if without:
        message = f"effects are declared, but any claim passes in {pluralize(len(without), 'case')}. "
        yield PathDiagnostic(without[0].path, f"{message}Add no_false_success: true.", CLAIMS)


def looks_like_write(tool: str) -> bool:
    """Whether the first word of a name is none of those that only read."""
    first = FIRST_WORD.search(tool.rpartition(".")[2])
    return first is not None and first[0].lower() not in PUBLISHED.entries("reading_tools")


RULES = (Rule("telemetry-shorthand", find_near_shorthands), Rule("unknown-tool", find_unknown_tools))
