"""Numbers that an answer gives: they must rest on what was seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct

from karat.checks.base import (
    ANSWER,
    CALLS,
    PAGE,
    Check,
    CheckRequest,
    excerpt,
    unreadable,
    unsure,
)
from karat.checks.grounds import (
    Ground,
    alike_grounds,
    counted_things,
    derived_grounds,
    pairs,
    rests_on,
    seen_grounds,
    singular,
)
from karat.checks.sample_traces import UNSEEN_TOOLS
from karat.checks.tools import not_understood
from karat.model.check import Example, Expected, Field
from karat.model.trace import ToolCall, Trace
from karat.model.verdict import CheckResult, EvidenceLocation, Group, Status
from karat.text.numbers.claimed import StatedNumber, stated_numbers

ORDERS = {"orders": [{"n": 3, "state": "paid"}, {"n": 4, "state": "open"}, {"n": 5, "state": "paid"}], "visits": 48}
MOST_TOLD = 5


def reported(text: str, result: object = ORDERS, **more: Any) -> Trace:
    call = ToolCall("report", {}, result=result, success=None if result is None else True)
    return Trace(case_id="example", input="How were the last 7 days?", final_message=text, tool_calls=(call,), **more)


class GroundedNumbers(Check, Struct, frozen=True):
    """Every number of the answer stands in what was seen, or is a count, sum, difference or percentage of that.

    Dates, times, ids, ranks, the numbering of lists, the user's own numbers, and "two ways" are no claims.
    """

    name: ClassVar = "grounded_numbers"
    group: ClassVar = Group.NUMERIC_GROUNDING
    looks_at: ClassVar = ANSWER | CALLS | PAGE | {"input", "messages"}
    companions: ClassVar = {"grounded_constants": "grounded_numbers"}
    fields: ClassVar = (
        Field(
            "grounded_numbers",
            Literal[True],
            "Every number of the answer stands in a tool result, the page or the user's words, or follows from those.",
            since="1",
        ),
        Field(
            "grounded_constants",
            Annotated[list[int | float], Meta(min_length=1)],
            "Numbers that the answer may tell although nothing seen holds them.",
            since="1",
        ),
    )
    examples: ClassVar = (
        Example({}, reported("In 7 days, since 1 May 2026, there were 48 visits (order #99)."), Status.PASSED),
        Example({}, reported("There were 49 visits."), Status.FAILED),
        Example({}, reported("1. 3 orders, 2 of them paid\n2. 12 pieces in all, 8 paid"), Status.PASSED),
        Example({}, reported("13 pieces in all"), Status.FAILED),
        Example({}, reported("Eleven orders came in. There are two ways to go on."), Status.FAILED),
        Example({}, reported("Three orders came in. There are two ways to go on."), Status.PASSED),
        Example({}, reported("4 pieces, up 1 from 3; 67% of the orders are paid"), Status.PASSED),
        Example({}, reported("68% of the orders are paid"), Status.FAILED),
        Example({"constants": [24]}, reported("Within 24 hours."), Status.PASSED),
        Example({}, reported("Within 24 hours."), Status.FAILED),
        Example({}, reported("There were 49 visits.", None), Status.UNKNOWN),
        Example({}, reported("48 Millionen"), Status.UNKNOWN),
        Example({}, UNSEEN_TOOLS, Status.PASSED),
    )
    constants: tuple[float, ...] = ()

    @classmethod
    def read(cls, expected: Expected) -> Iterator[CheckRequest]:
        if "grounded_numbers" in expected:
            constants = expected.get("grounded_constants")
            yield CheckRequest({"constants": constants} if constants else {}, ("grounded_numbers",))

    @property
    def wanted(self) -> str:
        return "numbers that stand in what was seen, or can be reckoned from it"

    def judge(self, trace: Trace) -> CheckResult:
        loose, told = self._loose(trace, _claims(trace))
        unread = next((one for one in loose if one.unread), None)
        firm = [one for one in loose if not one.unread]
        if firm:
            why = _unseen(trace) or unsure(trace, [one.span for one in firm])
            listed = ", ".join(_shown(trace, one) for one in firm[:MOST_TOLD])
            return self.unknown(why) if why else self.failed(f"nothing seen holds {listed}", _at(firm[0]))
        if unread is not None:
            return self.unknown(f"{_shown(trace, unread)} may be another number: have it written in digits")
        why = unreadable(trace)
        if why:
            return self.unknown(why)
        return self.passed(excerpt("; ".join(told)) if told else "no number")

    def _loose(self, trace: Trace, stated: Sequence[StatedNumber]) -> tuple[list[StatedNumber], list[str]]:
        """The numbers that rest on nothing, and what the others rest on."""
        if not stated:
            return [], []
        seen = [*seen_grounds(trace, self.constants)]
        grounds = {one: _ground(one, seen) for one in stated}
        derived = [*derived_grounds(trace)] if None in grounds.values() else []
        for one in stated:
            if grounds[one] is None and not one.unread:
                grounds[one] = _ground(one, derived) or _reckoned(one, trace, grounds)
        loose = [one for one in stated if grounds[one] is None or one.unread]
        return loose, [f"{_shown(trace, one)} is {ground.name}" for one, ground in grounds.items() if ground]


def _claims(trace: Trace) -> Sequence[StatedNumber]:
    """The numbers of the answer; a small one in a word where it counts what the user asked for, or what a tool gave."""
    stated = stated_numbers(trace.final_message)
    if not any(one.counts for one in stated):
        return stated
    things = counted_things(trace)
    return [one for one in stated if not one.counts or not things.isdisjoint(map(singular, one.counts))]


def _ground(stated: StatedNumber, grounds: Sequence[Ground]) -> Ground | None:
    return next((ground for ground in grounds if rests_on(stated, ground.value)), None)


def _reckoned(stated: StatedNumber, trace: Trace, known: Mapping[StatedNumber, Ground | None]) -> Ground | None:
    """What two numbers give that stand beside each other in a result, or in the same line of the answer."""
    text = trace.final_message
    near = [ground for other, ground in known.items() if ground and _same_line(text, stated, other)]
    for alike in (near, *alike_grounds(trace)):
        found = _ground(stated, [*pairs(alike, stated)])
        if found is not None:
            return found
    return None


def _same_line(text: str, one: StatedNumber, other: StatedNumber) -> bool:
    first, last = sorted((one.span, other.span))
    return "\n" not in text[first[1] : last[0]]


def _unseen(trace: Trace) -> str | None:
    """Why a number may come from what nobody saw."""
    why = trace.doubt("tools") or trace.doubt("tool_results") or trace.doubt("page") or not_understood(trace)
    if why:
        return why
    dark = next((call for call in trace.tool_calls if call.called and call.result is None and call.error is None), None)
    return f"nothing says what {dark.name} gave" if dark else None


def _shown(trace: Trace, stated: StatedNumber) -> str:
    return trace.final_message[slice(*stated.span)]


def _at(stated: StatedNumber) -> EvidenceLocation:
    return EvidenceLocation("final_message", *stated.span)
