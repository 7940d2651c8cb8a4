"""All calls of the turn with their arguments, next to those of a reference: the same, in this order, no others, ..."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, NotRequired, TypedDict

import msgspec
from msgspec import UNSET, Meta, Struct

from karat.checks.base import ToolCheck, excerpt, own_field, read_object
from karat.checks.sample_traces import UNSEEN_TOOLS, calls, performs
from karat.checks.tools.calls import call_shown
from karat.checks.tools.names import nameless, why_unseen
from karat.checks.tools.patterns import CallPattern, WantedCall, assign
from karat.matchers.reading import MatchedMembers
from karat.model.check import CheckProblem, Example
from karat.model.trace import ToolCall, Trace
from karat.model.verdict import CheckResult, Status

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
