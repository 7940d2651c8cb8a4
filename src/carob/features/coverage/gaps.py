"""The two lists to act on: tools that are called and never asserted, and tools that are offered and never called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from carob.features.coverage.model import Gap, ToolCoverage
from carob.model.suite import Suite
from carob.reports.escaping import encode
from carob.suites.formats.carob1 import Carob1
from carob.text.wording import count, pluralize


def find_unasserted(tools: Iterable[ToolCoverage], suite: Suite) -> Iterator[Gap]:
    """Tools that were called, and of which no case requires a call."""
    for tool in tools:
        if tool.called and not tool.asserted:
            seen = f"called {count(tool.called)} times" if tool.called > 1 else "called once"
            if tool.alternative:
                seen += f", one of several that will do in {pluralize(tool.alternative, 'case')}"
            yield Gap(tool.name, seen, tool.called_in or "a new case", _line_to_add(tool, suite))


def find_uncalled(tools: Iterable[ToolCoverage], suite: Suite) -> Iterator[Gap]:
    """Tools that the agent is offered, and that no recorded conversation called."""
    for tool in tools:
        if tool.offered and not tool.called:
            seen = "requested, never run" if tool.refused else "never called"
            if tool.asserted:
                seen += f", though required by {pluralize(tool.asserted, 'case')}"
            elif tool.forbidden:
                seen += f", forbidden in {pluralize(tool.forbidden, 'case')}"
            yield Gap(tool.name, seen, "a new case", _line_to_add(tool, suite))


def _line_to_add(tool: ToolCoverage, suite: Suite) -> str:
    """The key of `expected` that requires a call, as the format of the suite knows it."""
    name = encode(tool.name).decode()
    if suite.format != Carob1.name:
        return f"tool_calls_any: [{name}]"
    success = ", success: true" if tool.succeeded or not tool.called else ""
    return f"tool_calls: [{{tool: {name}{success}}}]"
