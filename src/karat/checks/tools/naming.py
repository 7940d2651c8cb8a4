"""The tools that the checks of a case name. `@effects` means all tools of `effects`, `@name` those of a group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from karat.model.check import Expected
from karat.model.suite import Case
from karat.text.tool_names import ANY_EFFECT, GROUP_MARK, OR, effect_tools

LISTED = ("tool_calls_any", "tool_calls_none", "tool_order", "only_effects")
"""Fields that are lists of tools."""
BY_TOOL = ("max_calls", "tool_requires")
"""Fields whose keys are tools."""
CALLS = "tool_calls"
GROUPS = "tool_groups"
"""Where `expected` holds the groups of tools of a suite."""
_NAMING = frozenset((*LISTED, *BY_TOOL, CALLS))


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
    calls = expected.get(CALLS, ())
    if any(call["tool"] in groups for call in calls):
        renamed[CALLS] = [{**call, "tool": groups.get(call["tool"], call["tool"])} for call in calls]
    return renamed


def _values(value: Any, groups: Mapping[str, str]) -> Any:
    return [groups.get(tool, tool) for tool in value] if isinstance(value, list) else value


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
