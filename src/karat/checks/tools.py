"""Which tools were called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, NotRequired, TypedDict

import msgspec
from msgspec import Meta

from karat.checks.base import CALLS, Check, Phrase, Phrases, Reading, each, excerpt, quoted
from karat.checks.sample_traces import UNSEEN_TOOLS, calls
from karat.model.check import Example, Field, Flaw
from karat.model.trace import ToolCall, Trace
from karat.model.verdict import At, CheckResult, Group, Status


@dataclass(frozen=True, slots=True)
class ToolCallsAny(Check):
    """At least one of the tools was called: any event of a tool is a call."""

    name: ClassVar = "tool_calls_any"
    group: ClassVar = Group.TOOL_HYGIENE
    looks_at: ClassVar = CALLS
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

    def flaws(self) -> Iterator[Flaw]:
        return nameless(*self.tools)

    def judge(self, trace: Trace) -> CheckResult:
        for index, call in enumerate(trace.tool_calls):
            if call.name in self.tools:
                return self.passed(str(call), At("tool_calls", index=index))
        why = trace.doubt("tools")
        return self.unknown(why) if why else self.failed(called(trace))


@dataclass(frozen=True, slots=True)
class ToolCallsNone(Check):
    """The tool was never called."""

    name: ClassVar = "tool_calls_none"
    group: ClassVar = Group.TOOL_HYGIENE
    looks_at: ClassVar = CALLS
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

    def flaws(self) -> Iterator[Flaw]:
        return nameless(self.tool)

    def judge(self, trace: Trace) -> CheckResult:
        for index, call in enumerate(trace.tool_calls):
            if call.name == self.tool:
                return self.failed(str(call), At("tool_calls", index=index))
        why = trace.doubt("tools")
        return self.unknown(why) if why else self.passed(called(trace))


BOOKED = Trace(
    case_id="example",
    final_message="Done.",
    tool_calls=(
        ToolCall("find", success=True),
        ToolCall("book", {"vehicle": 42, "days": {"from": "Mon"}}, success=False),
    ),
)


class ExpectedCall(TypedDict):
    """A call that was made: its tool, arguments that it was given among others, and whether it succeeded."""

    tool: Phrase
    arguments: NotRequired[Annotated[dict[str, Any], Meta(min_length=1)]]
    success: NotRequired[bool]


@dataclass(frozen=True, slots=True)
class ToolCalls(Check):
    """The tool was called with these arguments, whatever others stand beside them, and came out like this."""

    name: ClassVar = "tool_calls"
    group: ClassVar = Group.TOOL_HYGIENE
    looks_at: ClassVar = CALLS
    fields: ClassVar = (
        Field(
            "tool_calls",
            Annotated[list[ExpectedCall], Meta(min_length=1)],
            "Calls that were made: {tool, arguments, success}; of the arguments those that are given must be equal.",
            since="0.3",
        ),
    )
    examples: ClassVar = (
        Example({"tool": "book"}, BOOKED, Status.PASSED),
        Example({"tool": "drop"}, BOOKED, Status.FAILED),
        Example({"tool": "book", "arguments": {"vehicle": 42}}, BOOKED, Status.PASSED),
        Example({"tool": "book", "arguments": {"vehicle": 41}}, BOOKED, Status.FAILED),
        Example({"tool": "book", "arguments": {"days": {"from": "Mon"}}, "success": False}, BOOKED, Status.PASSED),
        Example({"tool": "book", "arguments": {"days": {"to": "Tue"}}}, BOOKED, Status.FAILED),
        Example({"tool": "find", "success": True}, BOOKED, Status.PASSED),
        Example({"tool": "book", "success": True}, BOOKED, Status.FAILED),
        Example({"tool": "find", "success": True}, calls("find:pending"), Status.FAILED),
        Example({"tool": "book"}, UNSEEN_TOOLS, Status.UNKNOWN),
    )
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    success: bool | None = None

    @classmethod
    def read(cls, expected: Mapping[str, Any]) -> Iterator[Reading]:
        for index, call in enumerate(expected.get("tool_calls", ())):
            yield Reading(call, ("tool_calls", index))

    @property
    def wanted(self) -> str:
        how = {True: " that succeeded", False: " that failed", None: ""}[self.success]
        return f"a call of {self.tool!r}{how}" + (f" with {_shown(self.arguments)}" if self.arguments else "")

    def flaws(self) -> Iterator[Flaw]:
        return nameless(self.tool)

    def judge(self, trace: Trace) -> CheckResult:
        for index, call in enumerate(trace.tool_calls):
            if self._fits(call):
                return self.passed(_call_shown(call), At("tool_calls", index=index))
        why = trace.doubt("tools")
        if why:
            return self.unknown(why)
        near = [call for call in trace.tool_calls if call.name == self.tool]
        why = trace.cut("tool_results")
        if why and any(call.arguments is None for call in near) and self.arguments:
            return self.unknown(why)
        return self.failed(excerpt(", ".join(map(_call_shown, near[:10]))) if near else called(trace))

    def _fits(self, call: ToolCall) -> bool:
        return (
            call.name == self.tool
            and (self.success is None or call.success is self.success)
            and (not self.arguments or _holds(self.arguments, call.arguments))
        )


def nameless(*tools: str) -> Iterator[Flaw]:
    """No tool has a blank name, or one with white space around it: such a call can neither be made nor be missed."""
    if not all(tool.strip() for tool in tools):
        yield Flaw("empty-expectation", "a blank name is no tool. Name one.")
    for padded in (tool for tool in tools if tool.strip() not in ("", tool)):
        message = f"no tool has white space around its name. Write {padded.strip()!r}."
        yield Flaw("empty-expectation", message)


def _holds(wanted: Any, given: Any) -> bool:
    """Whether a value is as wanted; an object may have more keys than are asked for."""
    if isinstance(wanted, dict):
        return isinstance(given, dict) and all(k in given and _holds(v, given[k]) for k, v in wanted.items())
    if isinstance(wanted, list):
        return isinstance(given, list) and len(wanted) == len(given) and all(map(_holds, wanted, given))
    return isinstance(wanted, bool) is isinstance(given, bool) and bool(wanted == given)


def _call_shown(call: ToolCall) -> str:
    return f"{call} with {_shown(call.arguments)}" if call.arguments else str(call)


def _shown(arguments: Any) -> str:
    return excerpt(msgspec.json.encode(arguments).decode())


def called(trace: Trace) -> str:
    """The calls that were made, in one line."""
    return excerpt(", ".join(map(str, trace.tool_calls[:50]))) if trace.tool_calls else "no tool call"
