"""Which calls come before which, and all calls next to a reference. Calls that ran side by side have no order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, NotRequired, TypedDict

import msgspec
from msgspec import UNSET, Meta, Struct

from carob.checks.base import CheckRequest, Phrase, ToolCheck, excerpt, own_field, read_object, read_with
from carob.checks.sample_traces import UNSEEN_TOOLS, calls, performs
from carob.checks.tools.calls import call_shown
from carob.checks.tools.names import describe_calls, nameless, not_ruled_out, why_unseen
from carob.checks.tools.patterns import CallPattern, WantedCall, assign
from carob.matchers.reading import MatchedMembers, MatchedValue
from carob.model.check import CheckProblem, Example, Expected
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import CheckResult, EvidenceLocation, Status
from carob.text.tool_names import is_named, is_same_tool

SIDE_BY_SIDE = performs(
    ToolCall("find", success=True, started_at=1.0, ended_at=3.0),
    ToolCall("book", success=True, started_at=2.0, ended_at=4.0),
)


VERIFIED = {"tool": "verify", "result": {"verified": True}}


def verified_trace(is_verified: bool) -> Trace:
    return performs(ToolCall("verify", {}, result={"verified": is_verified}, success=True), ToolCall("pay", {}))


def is_ended_before(first: ToolCall, second: ToolCall) -> bool:
    """Whether the second, which comes later in the trace, did not begin while the first was running."""
    return first.ended_at is None or second.started_at is None or second.started_at >= first.ended_at


class ToolOrder(ToolCheck, Struct, frozen=True):
    """These tools were called in this order, each after the one before it had ended; others may stand between."""

    name: ClassVar = "tool_order"
    failure: ClassVar = ("", "did not call in this order: ")
    field: ClassVar = own_field(
        Annotated[list[Phrase], Meta(min_length=2)], "These calls were made in this order; others may come between."
    )
    examples: ClassVar = (
        Example({"tools": ["find", "book"]}, calls("find log book"), Status.PASSED),
        Example({"tools": ["find", "book"]}, calls("book find"), Status.FAILED),
        Example({"tools": ["find", "book", "find"]}, calls("find book"), Status.FAILED),
        Example({"tools": ["find", "book"]}, calls("find:refused book"), Status.FAILED),
        Example({"tools": ["find", "book"]}, SIDE_BY_SIDE, Status.FAILED),
        Example({"tools": ["find", "book"]}, UNSEEN_TOOLS, Status.UNKNOWN),
    )
    tools: tuple[str, ...]

    read = read_with("tools")

    @property
    def description(self) -> str:
        return f"{', then '.join(self.tools)}"

    def validate(self) -> Iterator[CheckProblem]:
        return nameless(*self.tools)

    def judge(self, trace: Trace) -> CheckResult:
        reached = self._find_reached(trace.tool_calls)
        if len(reached) == len(self.tools):
            return self.passed(describe_calls(trace), EvidenceLocation("tool_calls", index=reached[-1]))
        if why := why_unseen(trace, self.tools):
            return self.unknown(why)
        missing = f"no {self.tools[len(reached)]}{f' after {self.tools[len(reached) - 1]}' if reached else ''}"
        return self.failed(
            f"{missing}: {describe_calls(trace)}",
            EvidenceLocation("tool_calls", index=reached[-1]) if reached else None,
        )

    def _find_reached(self, tool_calls: tuple[ToolCall, ...]) -> list[int]:
        """The first call that can be each of the tools, as far as the order goes."""
        reached: list[int] = []
        earlier: list[int] | None = None
        for tool in self.tools:
            now = [
                i
                for i, call in enumerate(tool_calls)
                if call.called and is_named(tool, call.full_name) and _follows(i, earlier, tool_calls)
            ]
            if not now:
                break
            reached.append(now[0])
            earlier = now
        return reached


def _follows(index: int, earlier: list[int] | None, tool_calls: tuple[ToolCall, ...]) -> bool:
    return earlier is None or any(
        before < index and is_ended_before(tool_calls[before], tool_calls[index]) for before in earlier
    )


class RequiredCall(TypedDict):
    """A call that must have succeeded before, and what else must be true of it."""

    tool: Annotated[str, Meta(min_length=1, description="The name of the tool.")]
    arguments: NotRequired[Annotated[MatchedMembers, Meta(description="Arguments of the call; matchers are allowed.")]]
    result: NotRequired[Annotated[MatchedValue, Meta(description="Its result; matchers are allowed.")]]


class ToolRequires(ToolCheck, Struct, frozen=True, dict=True):
    """Each call of the tool, even one that was only asked for, comes after a success of each of the others."""

    name: ClassVar = "tool_requires"
    failure: ClassVar = ("a ", "no ")
    prohibits: ClassVar = True
    field: ClassVar = own_field(
        Annotated[dict[Phrase, Annotated[list[Phrase | RequiredCall], Meta(min_length=1)]], Meta(min_length=1)],
        "Preconditions: each call to a tool comes after a successful call to every tool that is listed for it; "
        "{tool, arguments, result} also says what that call was like.",
        in_defaults="add",
    )
    examples: ClassVar = (
        Example({"tool": "pay", "first": ["verify"]}, calls("verify:ok log pay"), Status.PASSED),
        Example({"tool": "pay", "first": ["verify"]}, calls("log"), Status.PASSED),
        Example({"tool": "pay", "first": ["verify"]}, calls("pay verify:ok"), Status.FAILED),
        Example({"tool": "pay", "first": ["verify"]}, calls("verify:failed pay"), Status.FAILED),
        Example({"tool": "pay", "first": ["verify", "find"]}, calls("verify:ok pay"), Status.FAILED),
        Example({"tool": "pay", "first": ["verify"]}, calls("functions.Pay:refused"), Status.FAILED),
        Example({"tool": "book", "first": ["find"]}, SIDE_BY_SIDE, Status.FAILED),
        Example({"tool": "pay", "first": ["verify"]}, calls("verify:pending pay"), Status.UNKNOWN),
        Example({"tool": "pay", "first": ["verify"]}, UNSEEN_TOOLS, Status.UNKNOWN),
        Example({"tool": "pay", "first": ["verify"], "like": [VERIFIED]}, verified_trace(True), Status.PASSED),
        Example({"tool": "pay", "first": ["verify"], "like": [VERIFIED]}, verified_trace(False), Status.FAILED),
    )
    tool: str
    first: tuple[str, ...]
    like: tuple[WantedCall, ...] = ()
    """What some of these calls were like."""

    @classmethod
    def read(cls, expected: Expected) -> Iterator[CheckRequest]:
        for tool, entries in expected.get("tool_requires", {}).items():
            like = [entry for entry in entries if isinstance(entry, Mapping)]
            first = [entry["tool"] if isinstance(entry, Mapping) else entry for entry in entries]
            args = {"tool": tool, "first": first} | ({"like": like} if like else {})
            yield CheckRequest(args, ("tool_requires", tool))

    @cached_property
    def _needed(self) -> tuple[tuple[str, CallPattern | None], ...]:
        """The tools, with what the call to each must have been like."""
        like = [(call.tool, CallPattern.of(call)) for call in self.like]
        named = {tool for tool, _ in like}
        return (*((tool, None) for tool in self.first if tool not in named), *like)

    @property
    def description(self) -> str:
        return f"a successful {' and '.join(self.first)} before each {self.tool}"

    def validate(self) -> Iterator[CheckProblem]:
        yield from nameless(self.tool, *self.first)
        if self.tool in self.first:
            message = f"the first call to {self.tool!r} cannot come after another call to it. Remove it."
            yield CheckProblem("never-passes", message)

    def judge(self, trace: Trace) -> CheckResult:
        tool_calls = trace.tool_calls
        before = [call for turn in trace.earlier for call in turn.tool_calls]
        unsure: str | None = None
        for index, call in enumerate(tool_calls):
            if not is_same_tool(self.tool, call.full_name):
                continue
            for needed, pattern in self._needed:
                preceding = (*before, *tool_calls[:index])
                earlier = [
                    c for c in preceding if c.called and is_named(needed, c.full_name) and is_ended_before(c, call)
                ]
                fitting = [_fits(earlier_call, pattern, trace) for earlier_call in earlier]
                if True in fitting:
                    continue
                if None not in fitting:
                    turns = (trace, *trace.earlier)
                    doubts = (why_unseen(turn, (needed,)) for turn in turns)
                    why = next((doubt for doubt in doubts if doubt), None)
                    detail = f"call {index + 1}, {call}, without {needed} before it: {describe_calls(trace)}"
                    return (
                        self.unknown(why) if why else self.failed(detail, EvidenceLocation("tool_calls", index=index))
                    )
                unsure = f"it is unknown whether {needed} succeeded{' like this' if pattern else ''}"
        return self.passed_unless(unsure or not_ruled_out(trace, self.tool), describe_calls(trace))


def _fits(call: ToolCall, pattern: CallPattern | None, trace: Trace) -> bool | None:
    """Whether a call succeeded and is as it must be; None where it is unknown."""
    if call.success is not True:
        return None if call.has_unknown_outcome else False
    return pattern is None or pattern.is_like(call, trace.cut("tool_results"))


MatchMode = Literal["ordered", "in_order", "any_order", "subset", "superset"]
Fits = Sequence[Sequence[bool]]
"""For each wanted call, whether each call that was made fits it."""

WORDS: Mapping[MatchMode, str] = {
    "ordered": "only these calls, in this order",
    "in_order": "these calls in this order, others allowed between",
    "any_order": "only these calls, in any order",
    "subset": "no calls except these",
    "superset": "at least these calls",
}
TWICE = performs(ToolCall("pay", {"amount": 40}, success=True), ToolCall("pay", {"amount": 80}, success=True))
FORTY = {"tool": "pay", "arguments": {"amount": 40}}
EIGHTY = {"tool": "pay", "arguments": {"amount": 80}}


class TrajectoryCall(TypedDict):
    """A call of the reference."""

    tool: Annotated[str, Meta(min_length=1, description="The name of the tool.")]
    arguments: NotRequired[
        Annotated[MatchedMembers, Meta(description="Arguments of the call, others allowed; matchers are allowed.")]
    ]


class TrajectoryRule(TypedDict):
    """The calls of a reference, and how those that were made are compared with them."""

    calls: Annotated[
        list[TrajectoryCall | list[TrajectoryCall]],
        Meta(description="The calls in order; calls in a nested list were requested together, in any order."),
    ]
    without_failed: NotRequired[Annotated[Literal[True], Meta(description="Calls that failed are ignored.")]]
    match: NotRequired[
        Annotated[
            MatchMode,
            Meta(
                description="`ordered` (the default: these and no others), `in_order` (others between), `any_order`, "
                "`subset` (no others), `superset` (others too)."
            ),
        ]
    ]


class ReferenceCall(Struct, frozen=True):
    """A call of the reference as the arguments of a check hold it."""

    tool: str
    arguments: Any = UNSET

    @property
    def pattern(self) -> CallPattern:
        return CallPattern.of(WantedCall(self.tool, self.arguments))


class Trajectory(ToolCheck, Struct, frozen=True, dict=True):
    """The calls of the turn with their arguments are those of the reference, by one way of comparing them."""

    name: ClassVar = "trajectory"
    field: ClassVar = own_field(
        TrajectoryRule, "All calls with their arguments, compared with a reference: {calls, match}."
    )
    examples: ClassVar = (
        Example({"calls": [FORTY, EIGHTY]}, TWICE, Status.PASSED),
        Example({"calls": [EIGHTY, FORTY]}, TWICE, Status.FAILED),
        Example({"calls": [FORTY]}, TWICE, Status.FAILED),
        Example({"calls": [[EIGHTY, FORTY]]}, TWICE, Status.PASSED),
        Example({"calls": [EIGHTY, FORTY], "match": "any_order"}, TWICE, Status.PASSED),
        Example({"calls": [FORTY, FORTY], "match": "any_order"}, TWICE, Status.FAILED),
        Example({"calls": [EIGHTY], "match": "superset"}, TWICE, Status.PASSED),
        Example({"calls": [FORTY, FORTY], "match": "superset"}, TWICE, Status.FAILED),
        Example({"calls": [EIGHTY, FORTY, FORTY], "match": "subset"}, TWICE, Status.PASSED),
        Example({"calls": [EIGHTY], "match": "subset"}, TWICE, Status.FAILED),
        Example({"calls": [], "match": "subset"}, calls(""), Status.PASSED),
        Example(
            {"calls": [{"tool": "find"}, {"tool": "book"}], "match": "in_order"}, calls("find log book"), Status.PASSED
        ),
        Example(
            {"calls": [{"tool": "book"}, {"tool": "find"}], "match": "in_order"}, calls("find book"), Status.FAILED
        ),
        Example({"calls": [{"tool": "book"}], "without_failed": True}, calls("book:failed book"), Status.PASSED),
        Example({"calls": [{"tool": "book"}]}, calls("book:failed book"), Status.FAILED),
        Example({"calls": [FORTY]}, calls("pay"), Status.UNKNOWN),
        Example({"calls": [{"tool": "find"}]}, UNSEEN_TOOLS, Status.UNKNOWN),
    )
    calls: tuple[ReferenceCall | tuple[ReferenceCall, ...], ...]
    match: MatchMode = "ordered"
    without_failed: bool = False

    read = read_object()

    @cached_property
    def steps(self) -> list[list[ReferenceCall]]:
        return [[step] if isinstance(step, ReferenceCall) else [*step] for step in self.calls]

    @cached_property
    def reference(self) -> list[ReferenceCall]:
        return [call for step in self.steps for call in step]

    @property
    def description(self) -> str:
        reference_calls = [f"{call.tool}{_arguments(call.arguments)}" for call in self.reference]
        return excerpt(f"{WORDS[self.match]}: {', '.join(reference_calls) or 'none'}", 600)

    def validate(self) -> Iterator[CheckProblem]:
        yield from nameless(*(call.tool for call in self.reference))
        if not self.reference and self.match in ("superset", "in_order"):
            yield CheckProblem(
                "empty-expectation", f"'{self.match}' without calls always passes. Name a call.", ("calls",)
            )

    def judge(self, trace: Trace) -> CheckResult:
        tool_calls = [
            call for call in trace.tool_calls if call.called and not (self.without_failed and call.success is False)
        ]
        doubt = trace.cut("tool_results")
        fits = [[reference.pattern.fits(call, doubt) for call in tool_calls] for reference in self.reference]
        sure = [[fit is True for fit in row] for row in fits]
        possible = [[fit is not False for fit in row] for row in fits]
        return self._conclude(
            trace, tool_calls, self._holds(sure, len(tool_calls)), self._holds(possible, len(tool_calls))
        )

    def _holds(self, fits: Fits, count: int) -> bool:
        match self.match:
            case "ordered":
                return self._is_ordered(fits, count)
            case "in_order":
                return _is_in_order(fits, count)
            case "any_order":
                return len(fits) == count and _all_served(fits)
            case "subset":
                return _all_served(_transpose(fits, count))
            case "superset":
                return _all_served(fits)

    def _conclude(self, trace: Trace, tool_calls: Sequence[ToolCall], holds: bool, possible: bool) -> CheckResult:
        detail = excerpt(", ".join(map(call_shown, tool_calls)) or "no tool was called", 600)
        adds_calls = self.match in ("in_order", "superset")  # of which more calls would change nothing
        if why := None if holds and adds_calls else why_unseen(trace):
            return self.unknown(why)
        if holds:
            return self.passed(detail)
        return self.unknown("the arguments of a call are unknown") if possible else self.failed(detail)

    def _is_ordered(self, fits: Fits, count: int) -> bool:
        if len(fits) != count:
            return False
        at = 0
        for step in self.steps:
            rows = [row[at : at + len(step)] for row in fits[at : at + len(step)]]
            if not _all_served(rows):
                return False
            at += len(step)
        return True


def _is_in_order(fits: Fits, count: int) -> bool:
    at = 0
    for row in fits:
        at = next((index + 1 for index in range(at, count) if row[index]), 0)
        if not at:
            return False
    return True


def _all_served(fits: Fits) -> bool:
    """Whether each row can have a column of its own."""
    return None not in assign([[index for index, fit in enumerate(row) if fit] for row in fits])


def _transpose(fits: Fits, count: int) -> Fits:
    return [[row[index] for row in fits] for index in range(count)]


def _arguments(arguments: Any) -> str:
    return "" if arguments is UNSET else f" with {excerpt(msgspec.json.encode(arguments).decode())}"
