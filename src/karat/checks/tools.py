"""Which tools were called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, NotRequired, TypedDict

import msgspec
from msgspec import Meta, Struct

from karat.checks.base import CALLS, Check, Phrase, Phrases, Reading, each, excerpt, quoted
from karat.checks.sample_traces import UNSEEN_TOOLS, calls
from karat.model.check import Example, Field, Flaw
from karat.model.trace import ToolCall, Trace
from karat.model.verdict import At, CheckResult, Group, Status
from karat.telemetry.events import unread
from karat.telemetry.spellings import speaks_of_calls
from karat.text.tool_names import is_same_tool, named_in


@dataclass(frozen=True, slots=True)
class ToolCallsAny(Check):
    """At least one of the tools was called: it began to run, or it ended in any way."""

    name: ClassVar = "tool_calls_any"
    group: ClassVar = Group.TOOL_HYGIENE
    looks_at: ClassVar = CALLS
    fields: ClassVar = (Field("tool_calls_any", Phrases, "At least one of these tools was called."),)
    examples: ClassVar = (
        Example({"tools": ["refund", "credit"]}, calls("lookup credit:failed"), Status.PASSED),
        Example({"tools": ["refund", "credit"]}, calls("lookup"), Status.FAILED),
        Example({"tools": ["refund"]}, calls("refund:refused"), Status.FAILED),
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
            if call.called and call.name in self.tools:
                return self.passed(str(call), At("tool_calls", index=index))
        why = trace.doubt("tools") or not_understood(trace, self.tools)
        return self.unknown(why) if why else self.failed(called(trace))


@dataclass(frozen=True, slots=True)
class ToolCallsNone(Check):
    """The tool was not even asked for, under whatever spelling of its name."""

    name: ClassVar = "tool_calls_none"
    group: ClassVar = Group.TOOL_HYGIENE
    looks_at: ClassVar = CALLS
    fields: ClassVar = (Field("tool_calls_none", Phrases, "None of these tools was even asked for."),)
    examples: ClassVar = (
        Example({"tool": "delete"}, calls("lookup refund"), Status.PASSED),
        Example({"tool": "delete"}, calls("delete:crashed"), Status.FAILED),
        Example({"tool": "delete"}, calls("delete:refused"), Status.FAILED),
        Example({"tool": "delete"}, calls("functions.Delete"), Status.FAILED),
        Example({"tool": "delete"}, calls("lookup", telemetry=("12:00 running delete()",)), Status.UNKNOWN),
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
            if is_same_tool(self.tool, call.name):
                return self.failed(str(call), At("tool_calls", index=index))
        why = trace.doubt("tools") or not_understood(trace, (self.tool,))
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


class Rivals(Struct, frozen=True, omit_defaults=True):
    """The other entries for the same tool."""

    before: tuple[ExpectedCall, ...] = ()
    behind: tuple[ExpectedCall, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolCalls(Check):
    """The tool was called with these arguments, whatever others stand beside them, and came out like this.

    Of several entries for one tool, each needs a call of its own; `rivals` are the others, before and behind it.
    """

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
        Example({"tool": "find", "success": True}, calls("find:pending"), Status.UNKNOWN),
        Example({"tool": "find"}, calls("find:refused"), Status.FAILED),
        Example({"tool": "find", "rivals": {"before": [{"tool": "find"}]}}, calls("find find"), Status.PASSED),
        Example({"tool": "find", "rivals": {"before": [{"tool": "find"}]}}, calls("find"), Status.FAILED),
        Example({"tool": "find", "rivals": {"behind": [{"tool": "find"}]}}, calls("find"), Status.PASSED),
        Example({"tool": "book"}, UNSEEN_TOOLS, Status.UNKNOWN),
    )
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    success: bool | None = None
    rivals: Rivals = field(default_factory=Rivals)

    @classmethod
    def read(cls, expected: Mapping[str, Any]) -> Iterator[Reading]:
        entries = expected.get("tool_calls", ())
        for index, call in enumerate(entries):
            before = [entry for entry in entries[:index] if entry["tool"] == call["tool"]]
            behind = [entry for entry in entries[index + 1 :] if entry["tool"] == call["tool"]]
            sides = {side: others for side, others in (("before", before), ("behind", behind)) if others}
            yield Reading({**call, "rivals": sides} if sides else call, ("tool_calls", index))

    @property
    def wanted(self) -> str:
        how = {True: " that succeeded", False: " that failed", None: ""}[self.success]
        which = f", number {len(self.rivals.before) + 1} of its kind" if self.rivals.before else ""
        return f"a call of {self.tool!r}{how}" + (f" with {_shown(self.arguments)}" if self.arguments else "") + which

    def flaws(self) -> Iterator[Flaw]:
        return nameless(self.tool)

    def judge(self, trace: Trace) -> CheckResult:
        own: ExpectedCall = {"tool": self.tool, "arguments": self.arguments}
        if self.success is not None:
            own["success"] = self.success
        wanted = (*self.rivals.before, own, *self.rivals.behind)
        index = assigned(wanted, trace.tool_calls)[len(self.rivals.before)]
        if index is not None:
            return self.passed(_call_shown(trace.tool_calls[index]), At("tool_calls", index=index))
        near = [call for call in trace.tool_calls if call.name == self.tool]
        why = trace.doubt("tools") or not_understood(trace, (self.tool,)) or self._untold(trace, near)
        if why:
            return self.unknown(why)
        return self.failed(excerpt(", ".join(map(_call_shown, near[:10]))) if near else called(trace))

    def _untold(self, trace: Trace, near: list[ToolCall]) -> str | None:
        """Why one of these calls may be the one after all."""
        why = trace.cut("tool_results")
        if why and self.arguments and any(call.arguments is None for call in near):
            return why
        untold = self.success is not None and any(call.open for call in near)
        return f"nothing says whether {self.tool} succeeded" if untold else None


def assigned(wanted: Sequence[ExpectedCall], calls: Sequence[ToolCall]) -> list[int | None]:
    """A call of its own for each entry where there is one; who comes first keeps one if anybody does."""
    fits = [[index for index, call in enumerate(calls) if _fits(entry, call)] for entry in wanted]
    owner: dict[int, int] = {}

    def find(entry: int, tried: set[int]) -> bool:
        free = next((index for index in fits[entry] if index not in owner), None)
        if free is not None:
            owner[free] = entry
            return True
        for index in fits[entry]:
            if index not in tried:
                tried.add(index)
                if find(owner[index], tried):
                    owner[index] = entry
                    return True
        return False

    for entry in range(len(wanted)):
        find(entry, set())
    found = {entry: index for index, entry in owner.items()}
    return [found.get(entry) for entry in range(len(wanted))]


def _fits(wanted: ExpectedCall, call: ToolCall) -> bool:
    success, arguments = wanted.get("success"), wanted.get("arguments")
    return (
        call.called
        and call.name == wanted["tool"]
        and (success is None or call.success is success)
        and (not arguments or _holds(arguments, call.arguments))
    )


def not_understood(trace: Trace, tools: Sequence[str] = ()) -> str | None:
    """Why the log does not prove that these tools (or any, if none is named) were not called."""
    if not trace.telemetry:
        return None
    for line in unread(trace.telemetry, trace.dialect):
        if any(named_in(tool, line) for tool in tools) if tools else speaks_of_calls(line):
            return f"a line of the log was not understood: {excerpt(line, 80)}"
    return None


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
