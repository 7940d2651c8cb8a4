"""The tools that the checks of a case name. `@effects` means all tools of `effects`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from karat.model.check import Expected
from karat.model.suite import Case
from karat.text.tool_names import ANY_EFFECT, OR, effect_tools

LISTED = ("tool_calls_any", "tool_calls_none", "tool_order", "only_effects")
"""Fields that are lists of tools."""
BY_TOOL = ("max_calls", "tool_requires")
"""Fields whose keys are tools."""
CALLS = "tool_calls"
_NAMING = frozenset((*LISTED, *BY_TOOL, CALLS))


def with_effects_named(expected: Expected) -> Expected:
    """What is expected, with the tools that `@effects` means in its place."""
    naming = _NAMING.intersection(expected) if expected.get("effects") else ()
    if not any(ANY_EFFECT in repr(expected[field]) for field in naming):
        return expected
    every = OR.join(effect_tools(expected["effects"]))
    return {**expected, **_name_all(expected, every)} if every else expected


def _name_all(expected: Expected, every: str) -> Mapping[str, Any]:
    renamed: dict[str, Any] = {}
    for field in LISTED:
        if ANY_EFFECT in expected.get(field, ()):
            renamed[field] = [_name(tool, every) for tool in expected[field]]
    for field in BY_TOOL:
        if field in expected:
            renamed[field] = {_name(tool, every): _values(value, every) for tool, value in expected[field].items()}
    calls = expected.get(CALLS, ())
    if any(call["tool"] == ANY_EFFECT for call in calls):
        renamed[CALLS] = [{**call, "tool": _name(call["tool"], every)} for call in calls]
    return renamed


def _values(value: Any, every: str) -> Any:
    return [_name(tool, every) for tool in value] if isinstance(value, list) else value


def _name(tool: str, every: str) -> str:
    return every if tool == ANY_EFFECT else tool


ARGUMENTS = ("tool", "tools", "first", "from_tool")
"""The arguments of checks that name tools."""
_CHECKS = frozenset((*LISTED, *BY_TOOL, CALLS, "tools_used", "must_ground_numbers")) - {"only_effects"}


def tools_named(case: Case) -> Iterator[str]:
    """The tools that the checks of a case name, patterns among them."""
    for _, spec in case.all_checks:
        if spec.name in _CHECKS:
            arguments = msgspec.json.decode(spec.args)
            for tools in map(arguments.get, ARGUMENTS):
                yield from [tools] if isinstance(tools, str) and tools else tools or ()
