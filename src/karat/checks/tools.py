"""Which tools were called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from karat.checks.base import Check, Phrases, Reading, each, excerpt, quoted
from karat.checks.traces import UNSEEN_TOOLS, calls
from karat.model.check import Example, Field
from karat.model.trace import Trace
from karat.model.verdict import At, CheckResult, Group, Status


@dataclass(frozen=True, slots=True)
class ToolCallsAny(Check):
    """At least one of the tools was called: any event of a tool is a call."""

    name: ClassVar = "tool_calls_any"
    group: ClassVar = Group.TOOL_HYGIENE
    fields: ClassVar = (Field("tool_calls_any", Phrases, "At least one of these tools was called."),)
    examples: ClassVar = (
        Example({"tools": ["refund", "credit"]}, calls("lookup credit:failed"), Status.PASSED),
        Example({"tools": ["refund", "credit"]}, calls("lookup"), Status.FAILED),
        Example({"tools": ["refund"]}, UNSEEN_TOOLS, Status.UNKNOWN),
    )
    tools: tuple[str, ...]

    @classmethod
    def read(cls, expected: Mapping[str, Any]) -> Iterator[Reading]:
        if "tool_calls_any" in expected:
            yield Reading({"tools": expected["tool_calls_any"]}, ("tool_calls_any",))

    @property
    def wanted(self) -> str:
        return f"a call of {quoted(self.tools)}"

    def judge(self, trace: Trace) -> CheckResult:
        for index, call in enumerate(trace.tool_calls):
            if call.name in self.tools:
                return self.passed(str(call), At("tool_calls", index=index))
        why = trace.unseen("tools")
        return self.unknown(why) if why else self.failed(called(trace))


@dataclass(frozen=True, slots=True)
class ToolCallsNone(Check):
    """The tool was never called."""

    name: ClassVar = "tool_calls_none"
    group: ClassVar = Group.TOOL_HYGIENE
    fields: ClassVar = (Field("tool_calls_none", Phrases, "None of these tools was ever called."),)
    examples: ClassVar = (
        Example({"tool": "delete"}, calls("lookup refund"), Status.PASSED),
        Example({"tool": "delete"}, calls("delete:crashed"), Status.FAILED),
        Example({"tool": "delete"}, UNSEEN_TOOLS, Status.UNKNOWN),
    )
    tool: str

    @classmethod
    def read(cls, expected: Mapping[str, Any]) -> Iterator[Reading]:
        return each("tool_calls_none", "tool", expected)

    @property
    def wanted(self) -> str:
        return f"no call of {self.tool!r}"

    def judge(self, trace: Trace) -> CheckResult:
        for index, call in enumerate(trace.tool_calls):
            if call.name == self.tool:
                return self.failed(str(call), At("tool_calls", index=index))
        why = trace.unseen("tools")
        return self.unknown(why) if why else self.passed(called(trace))


def called(trace: Trace) -> str:
    """The calls that were made, in one line."""
    return excerpt(", ".join(map(str, trace.tool_calls[:50]))) if trace.tool_calls else "no tool call"
