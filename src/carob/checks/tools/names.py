"""Which tools were called; and what `@effects` and the groups of a suite mean in names of tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, TypedDict

import msgspec
from msgspec import Meta, Struct

from carob.checks import base
from carob.checks.sample_traces import UNSEEN_TOOLS, calls
from carob.evidence.logs.events import unread
from carob.evidence.logs.spellings import asks_in_words, speaks_of_calls
from carob.model.check import CheckProblem, Example, Expected, Field
from carob.model.suite import Case
from carob.model.trace import PossibleCall, ToolCall, Trace
from carob.model.verdict import CheckResult, EvidenceLocation, Group, Status
from carob.text.tool_names import (
    ANY_EFFECT,
    GROUP_MARK,
    OR,
    effect_tools,
    find_spellings,
    invisible_in,
    is_any_named,
    is_every_tool,
    is_named_in,
    is_same_tool,
    may_be_same_tool,
    names_unseen_tool,
    why_may_be,
)

NUL = "\0"
APPEND = "Have the app open its log in append mode, or make sure that nothing else truncates it."
UNOWNED = PossibleCall("delete", "a call to 'delete' cannot be attributed. Pass `traceparent` on.")


class ToolCallsAny(base.ToolCheck, Struct, frozen=True):
    """At least one of the tools was called: it began to run, or it ended in any way."""

    name: ClassVar = "tool_calls_any"
    failure: ClassVar = ("a call to ", "did not call ")
    field: ClassVar = base.own_field(base.Phrases, "At least one of these tools was called.", since="0.1")
    examples: ClassVar = (
        Example({"tools": ["refund", "credit"]}, calls("lookup credit:failed"), Status.PASSED),
        Example({"tools": ["refund", "credit"]}, calls("lookup"), Status.FAILED),
        Example({"tools": ["refund"]}, calls("refund:refused"), Status.FAILED),
        Example({"tools": ["refund_*"]}, calls("refund_order"), Status.PASSED),
        Example({"tools": ["refund_*"]}, calls("lookup"), Status.FAILED),
        Example({"tools": ["refund"]}, UNSEEN_TOOLS, Status.UNKNOWN),
    )
    tools: tuple[str, ...]

    read = base.read_with("tools")

    @property
    def description(self) -> str:
        return f"a call to {base.quoted(self.tools)}"

    def validate(self) -> Iterator[CheckProblem]:
        return nameless(*self.tools)

    def judge(self, trace: Trace) -> CheckResult:
        for index, call in enumerate(trace.tool_calls):
            if call.called and is_any_named(self.tools, call.full_name):
                return self.passed(str(call), EvidenceLocation("tool_calls", index=index))
        return self.failed_unless(why_unseen(trace, self.tools), describe_calls(trace))


class ToolCallsNone(base.ToolCheck, Struct, frozen=True):
    """The tool was not even asked for, under whatever spelling of its name."""

    name: ClassVar = "tool_calls_none"
    description_format: ClassVar = "no call to {self.tool!r}"
    failure: ClassVar = ("no call to ", "called ")
    prohibits: ClassVar = True
    field: ClassVar = base.own_field(
        base.Phrases, "None of these tools was called, or even requested.", since="0.1", in_defaults="add"
    )
    examples: ClassVar = (
        Example({"tool": "delete"}, calls("lookup refund"), Status.PASSED),
        Example({"tool": "delete"}, calls("delete:crashed"), Status.FAILED),
        Example({"tool": "delete"}, calls("delete:refused"), Status.FAILED),
        Example({"tool": "delete"}, calls("functions.Delete"), Status.FAILED),
        Example({"tool": "delete_*"}, calls("delete_all"), Status.FAILED),
        Example({"tool": "delete_*"}, calls("functions.Delete-All:refused"), Status.FAILED),
        Example({"tool": "delete_*"}, calls("lookup"), Status.PASSED),
        Example({"tool": "*"}, calls("lookup"), Status.FAILED),
        Example({"tool": "delete"}, calls("crm.delete"), Status.UNKNOWN),
        Example({"tool": "delete"}, calls("lookup", possible_calls=(UNOWNED,)), Status.UNKNOWN),
        Example({"tool": "delete"}, calls("lookup", telemetry=("12:00 running delete()",)), Status.UNKNOWN),
        Example({"tool": "delete"}, UNSEEN_TOOLS, Status.UNKNOWN),
    )
    tool: str

    read = base.read_each("tool")

    def validate(self) -> Iterator[CheckProblem]:
        return nameless(self.tool)

    def judge(self, trace: Trace) -> CheckResult:
        for index, call in enumerate(trace.tool_calls):
            if is_same_tool(self.tool, call.full_name):
                return self.failed(str(call), EvidenceLocation("tool_calls", index=index))
        return self.passed_unless(not_ruled_out(trace, self.tool), describe_calls(trace))


def not_ruled_out(trace: Trace, tool: str) -> str | None:
    """Why what was seen does not prove that a tool that is forbidden was not called."""
    if why := trace.why_incomplete("tools"):
        return why
    return not_understood(trace, (tool,))


def why_unseen(trace: Trace, tools: Sequence[str] = ()) -> str | None:
    """Why these tools (or any, if none is named) may have been called without being seen."""
    return trace.why_incomplete("tools") or not_understood(trace, tools)


def not_understood(trace: Trace, tools: Sequence[str] = ()) -> str | None:
    """Why what was seen does not prove that these tools (or any, if none is named) were not called."""
    listed = () if any(map(is_every_tool, tools)) else tools
    if why := why_named(trace, listed):
        return why
    for line in unread(trace.telemetry, trace.dialect) if trace.telemetry else ():
        if NUL in line:
            return f"a line of the log was lost: it contains {line.count(NUL):,} NUL characters. {APPEND}"
        if any(is_named_in(tool, line) for tool in listed) if listed else speaks_of_calls(line):
            return f"a line of the log was not understood: {base.excerpt(line, 80)}"
    return next((possible.why for possible in trace.possible_calls if _may_be(possible, trace, tools)), None)


def why_named(trace: Trace, tools: Sequence[str]) -> str | None:
    """Why a call that was seen may go to one of these tools, which its name does not tell."""
    calls = trace.tool_calls if tools else ()
    return next((why for call in calls for tool in tools if (why := why_may_be((tool,), call.full_name))), None)


def _listed_names(tools: Sequence[str], calls: Iterable[ToolCall]) -> list[str]:
    """The names of calls, each as the tools list it where they do."""
    spellings = (find_spellings(call.full_name) for call in calls)
    return [next((name for name in names if name in tools), names[0]) for names in spellings]


def _may_be(possible: PossibleCall, trace: Trace, tools: Sequence[str]) -> bool:
    """Whether it may be a call of one of these tools, or of any, that is not among those that were seen."""
    if possible.of == "call":
        return not tools or any(is_same_tool(t, possible.text) or may_be_same_tool(t, possible.text) for t in tools)
    if possible.of == "any":
        return True
    known_names = {call.name for call in trace.tool_calls}
    if not tools or any(map(is_every_tool, tools)):
        return asks_in_words(possible.text, known_names)
    return any(names_unseen_tool(tool, possible.text, known_names) for tool in tools)


def nameless(*tools: str) -> Iterator[CheckProblem]:
    """No tool has a blank name, or one with invisible characters: such a call can be neither made nor missed."""
    if ANY_EFFECT in tools:
        message = f"{ANY_EFFECT!r} is used and no effects are declared. Declare them in the suite or in carob.toml."
        yield CheckProblem("no-effects", message)
    for group in (tool for tool in tools if tool.startswith(GROUP_MARK) and tool != ANY_EFFECT):
        message = f"no group of tools is called {group!r}. Write it under 'tools': tools: {{{group[1:]}: [...]}}."
        yield CheckProblem("unknown-group", message)
    if not all(tool.strip() for tool in tools):
        yield CheckProblem("empty-expectation", "a blank name is not a tool. Name one.")
    for padded in (tool for tool in tools if tool.strip() not in ("", tool)):
        message = f"no tool has white space around its name. Write {padded.strip()!r}."
        yield CheckProblem("empty-expectation", message)
    for tool in tools:
        if char := invisible_in(tool.strip()):
            message = f"the name {tool!a} has an invisible character (U+{ord(char):04X}). Write it without."
            yield CheckProblem("empty-expectation", message)


def describe_calls(trace: Trace) -> str:
    """The calls that were made, in one line."""
    return base.excerpt(trace.listed_calls) if trace.tool_calls else "no tool call"


class F1Rule(TypedDict):
    """Tools, and how well the set of those that were called fits them."""

    tools: Annotated[base.Phrases, Meta(description="The tools that are expected.")]
    threshold: Annotated[float, Meta(ge=0, le=1, description="The lowest F1 score.")]


class ToolCallF1(base.ToolCheck, Struct, frozen=True):
    """The set of tools that were called fits the expected one: its F1 score reaches a threshold."""

    name: ClassVar = "tool_call_f1"
    field: ClassVar = base.own_field(
        F1Rule, "How well the set of tools that were called fits: the harmonic mean of precision and recall."
    )
    examples: ClassVar = (
        Example({"tools": ["find", "book"], "threshold": 1.0}, calls("book find find"), Status.PASSED),
        Example({"tools": ["find", "book"], "threshold": 0.6}, calls("find"), Status.PASSED),
        Example({"tools": ["find", "book"], "threshold": 0.7}, calls("find"), Status.FAILED),
        Example({"tools": ["find"], "threshold": 1.0}, calls(""), Status.FAILED),
        Example({"tools": ["find"], "threshold": 1.0}, UNSEEN_TOOLS, Status.UNKNOWN),
    )
    tools: tuple[str, ...]
    threshold: float

    read = base.read_object()

    @property
    def description(self) -> str:
        return f"an F1 score of {self.threshold:g} for the tools {', '.join(self.tools)}"

    def judge(self, trace: Trace) -> CheckResult:
        if why := why_unseen(trace):
            return self.unknown(why)
        expected, called = set(self.tools), {*_listed_names(self.tools, (c for c in trace.tool_calls if c.called))}
        both = len(expected & called)
        score = 2 * both / (len(expected) + len(called)) if expected or called else 0.0
        detail = f"{score:.3f}: {', '.join(sorted(called)) or 'no tool was called'}"
        if score >= self.threshold:
            return self.passed(detail)
        return self.failed_unless(why_named(trace, self.tools), detail)


Match = Literal["exact", "ordered", "set", "subset", "superset"]


class ToolsUsed(base.Check, Struct, frozen=True):
    """The names of the tools called are those listed: exactly, or as `match` says."""

    name: ClassVar = "tools_used"
    group: ClassVar = Group.DECISION
    channels: ClassVar = base.CALLS
    field: ClassVar = base.own_field(
        list[base.Phrase], "The tools called, each as often as listed; `[]` means none.", since="0.1"
    )
    more_fields: ClassVar = (
        Field(
            "tools_match",
            Match,
            "How `tools_used` is compared: `exact` (any order), `ordered`, `set`, `subset` (nothing but these), "
            "`superset` (at least these).",
        ),
    )
    examples: ClassVar = (
        Example({"tools": ["find", "book"]}, calls("book find"), Status.PASSED),
        Example({"tools": ["book"]}, calls("book book"), Status.FAILED),
        Example({"tools": []}, calls(""), Status.PASSED),
        Example({"tools": []}, calls("book"), Status.FAILED),
        Example({"tools": []}, calls("book:refused"), Status.FAILED),
        Example({"tools": ["book"]}, calls("book:refused"), Status.FAILED),
        Example({"tools": []}, calls("", telemetry=("12:00 calling tool book",)), Status.UNKNOWN),
        Example({"tools": []}, UNSEEN_TOOLS, Status.UNKNOWN),
        Example({"tools": ["find", "book"], "match": "ordered"}, calls("find book"), Status.PASSED),
        Example({"tools": ["find", "book"], "match": "ordered"}, calls("book find"), Status.FAILED),
        Example({"tools": ["find", "book"], "match": "set"}, calls("book find book"), Status.PASSED),
        Example({"tools": ["find", "book"], "match": "set"}, calls("book"), Status.FAILED),
        Example({"tools": ["find", "book"], "match": "subset"}, calls("book"), Status.PASSED),
        Example({"tools": ["find", "book"], "match": "subset"}, calls("drop"), Status.FAILED),
        Example({"tools": ["book"], "match": "superset"}, calls("find book"), Status.PASSED),
        Example({"tools": ["book"], "match": "superset"}, calls("find"), Status.FAILED),
    )
    tools: tuple[str, ...]
    match: Match = "exact"

    read = base.read_with("tools", match=("tools_match", "exact"))

    @property
    def description(self) -> str:
        how = {"exact": "", "ordered": " in this order", "set": " any number of times"}.get(self.match)
        prefix = {"subset": "nothing but ", "superset": "at least "}.get(self.match, "")
        return f"{prefix}{', '.join(self.tools) or 'no tool call'}{how or ''}"

    def validate(self) -> Iterator[CheckProblem]:
        if self.match == "superset" and not self.tools:
            yield CheckProblem("empty-expectation", "this passes for every run: name a tool, or remove tools_match.")
        yield from nameless(*self.tools)
        for tool in self.tools:
            if "*" in tool:
                message = (
                    f"tools_used needs exact tool names, and {tool!r} names several. Use tool_calls_any or max_calls."
                )
                yield CheckProblem("wildcard", message)

    def judge(self, trace: Trace) -> CheckResult:
        if why := why_unseen(trace):
            return self.unknown(why)
        names = _listed_names(self.tools, (call for call in trace.tool_calls if call.called))
        listed_alone = {*_listed_names(self.tools, trace.tool_calls)} <= set(self.tools)
        holds = {
            "exact": lambda: listed_alone and Counter(names) == Counter(self.tools),
            "ordered": lambda: listed_alone and names == list(self.tools),
            "set": lambda: listed_alone and set(names) == set(self.tools),
            "subset": lambda: listed_alone,
            "superset": lambda: Counter(self.tools) <= Counter(names),
        }[self.match]()
        if holds:
            return self.passed(describe_calls(trace))
        return self.failed_unless(why_named(trace, self.tools), describe_calls(trace))

    def compared_values(self, trace: Trace) -> tuple[object, object] | None:
        names, tools = _listed_names(self.tools, trace.tool_calls), list(self.tools)
        if self.match == "exact":
            return sorted(names), sorted(tools)
        return (names, tools) if self.match == "ordered" else None


LISTED = ("tool_calls_any", "tool_calls_none", "tool_order", "only_effects")
"""Fields that are lists of tools."""
BY_TOOL = ("max_calls", "tool_requires")
"""Fields whose keys are tools."""
CALL_ENTRIES = "tool_calls"
GROUPS = "tool_groups"
"""Where `expected` holds the groups of tools of a suite."""
_NAMING = frozenset((*LISTED, *BY_TOOL, CALL_ENTRIES))


def with_groups_named(expected: Expected) -> Expected:
    """What is expected, with the tools that `@effects` and the groups of the suite mean in their place."""
    naming = _NAMING.intersection(expected)
    if not naming or not any(GROUP_MARK in repr(expected[field]) for field in naming):
        return expected
    groups = {f"{GROUP_MARK}{name}": OR.join(tools) for name, tools in expected.get(GROUPS, {}).items()}
    if every := OR.join(effect_tools(expected.get("effects", ()))):
        groups[ANY_EFFECT] = every
    return {**expected, **_name_all(expected, groups)} if groups else expected


def _name_all(expected: Expected, groups: Mapping[str, str]) -> Mapping[str, Any]:
    renamed: dict[str, Any] = {}
    for field in LISTED:
        if not groups.keys().isdisjoint(expected.get(field, ())):
            renamed[field] = _values(expected[field], groups)
    for field in BY_TOOL:
        if field in expected:
            renamed[field] = {groups.get(tool, tool): _values(value, groups) for tool, value in expected[field].items()}
    calls = expected.get(CALL_ENTRIES, ())
    if any(GROUP_MARK in repr(call) for call in calls):
        renamed[CALL_ENTRIES] = [_name_call(call, groups) for call in calls]
    return renamed


def _name_call(call: Mapping[str, Any], groups: Mapping[str, str]) -> Mapping[str, Any]:
    """An entry of `tool_calls` with the tools of groups in their place."""
    if "any_of" in call:
        return {**call, "any_of": [_name_call(one, groups) for one in call["any_of"]]}
    return {**call, "tool": groups.get(call["tool"], call["tool"])} if "tool" in call else call


def _values(value: Any, groups: Mapping[str, str]) -> Any:
    return [_name_entry(entry, groups) for entry in value] if isinstance(value, list) else value


def _name_entry(entry: Any, groups: Mapping[str, str]) -> Any:
    if isinstance(entry, Mapping):
        return {**entry, "tool": groups.get(entry["tool"], entry["tool"])}
    return groups.get(entry, entry)


ARGUMENTS = ("tool", "tools", "first", "from_tool")
"""The arguments of checks that name tools."""
_CHECKS = frozenset((*LISTED, *BY_TOOL, base.CALLS, "tools_used", "must_ground_numbers")) - {"only_effects"}


def tools_named(case: Case) -> Iterator[str]:
    """The tools that the checks of a case name, patterns among them."""
    for _, spec in case.all_checks:
        if spec.name in _CHECKS:
            arguments = msgspec.json.decode(spec.args)
            for tools in map(arguments.get, ARGUMENTS):
                yield from [tools] if isinstance(tools, str) and tools else tools or ()
