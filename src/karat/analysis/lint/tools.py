"""Tools that a case names and the target does not have."""

from __future__ import annotations

from collections.abc import Iterator

from karat.analysis.lint.base import LintCase, PlacedCheck, Rule, TargetInfo
from karat.checks.budgets import MaxCalls
from karat.checks.numbers.required import MustGroundNumber
from karat.checks.telemetry import Telemetry, shorthand
from karat.checks.tools.calls import ToolCalls
from karat.checks.tools.names import ToolCallsAny, ToolCallsNone, ToolsUsed
from karat.checks.tools.order import ToolOrder, ToolRequires
from karat.evidence.logs.events import PREFIX
from karat.suites.diagnostics import Path, PathDiagnostic
from karat.text.tool_names import is_named
from karat.text.wording import did_you_mean, quoted


def find_unknown_tools(case: LintCase, around: TargetInfo) -> Iterator[PathDiagnostic]:
    """Tools that no agent of this target can call."""
    if around.tools is None:
        return
    for placed in case.checks:
        for path, tool in _tools_at(placed):
            if not any(is_named(tool, known) for known in around.tools):
                near = did_you_mean(tool, around.tools)
                message = f"the target {quoted(around.target)} has no tool {quoted(tool)}. {near}".rstrip()
                yield PathDiagnostic(path, message, "unknown-tool")


def _tools_at(placed: PlacedCheck) -> Iterator[tuple[Path, str]]:
    args, path = placed.args, placed.path
    if isinstance(placed.check, ToolCallsAny | ToolsUsed | ToolOrder):
        yield from (((*path, index), tool) for index, tool in enumerate(args["tools"]))
    elif isinstance(placed.check, ToolCallsNone | MaxCalls):
        yield path, args["tool"]
    elif isinstance(placed.check, MustGroundNumber) and args.get("from_tool"):
        yield (*path, "from_tool"), args["from_tool"]
    elif isinstance(placed.check, ToolCalls):
        yield (*path, "tool"), args["tool"]
    elif isinstance(placed.check, ToolRequires):
        yield path, args["tool"]
        yield from (((*path, index), tool) for index, tool in enumerate(args["first"]))
    elif isinstance(placed.check, Telemetry):
        pattern = shorthand(args["entry"])
        if pattern is not None and pattern.source is not None:
            yield path, pattern.source.removeprefix(PREFIX)


RULES = (Rule("unknown-tool", find_unknown_tools),)
