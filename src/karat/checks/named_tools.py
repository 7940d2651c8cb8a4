"""The tools that the checks of a case name."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from karat.checks.budgets import MaxCalls
from karat.checks.golden import ToolsUsed
from karat.checks.numbers import MustGroundNumber
from karat.checks.tool_calls import ToolCalls
from karat.checks.tool_order import ToolOrder, ToolRequires
from karat.checks.tools import ToolCallsAny, ToolCallsNone
from karat.model.suite import Case

NAMING = (ToolCallsAny, ToolCallsNone, ToolCalls, ToolOrder, ToolRequires, ToolsUsed, MaxCalls, MustGroundNumber)
ARGUMENTS = ("tool", "tools", "first", "from_tool")
"""Which arguments of these checks name tools."""
_NAMES = frozenset(cls.name for cls in NAMING)


def tools_named(case: Case) -> Iterator[str]:
    """The tools that the checks of a case name, patterns among them."""
    for _, spec in case.all_checks:
        if spec.name in _NAMES:
            given = msgspec.json.decode(spec.args)
            for value in map(given.get, ARGUMENTS):
                yield from [value] if isinstance(value, str) and value else value or ()
