"""Deeds that an answer tells: they must rest on what was seen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

import msgspec
from msgspec import Struct

from karat.checks.base import ANSWER, CALLS, Check, Reading, excerpt, unreadable
from karat.checks.grounded_numbers import reported
from karat.checks.sample_traces import UNSEEN_TOOLS, calls
from karat.checks.tools import called, not_understood
from karat.model.check import Example, Expected, Field
from karat.model.trace import Trace
from karat.model.verdict import At, CheckResult, Group, Status
from karat.text.phrases import find
from karat.text.prose.claims import claimed_deeds, verbs_of

READING = {
    *("check", "count", "describe", "fetch", "find", "get", "inspect", "list", "load", "look", "lookup", "peek"),
    *("query", "read", "retrieve", "search", "show", "status", "view"),
}
"""What tools do that change nothing, by the first word of their names."""
READING_AT_FIRST = ("get", "list", "find", "search", "look", "fetch")
"""The same in names such as `getOrder`."""
IN_GENERAL = {
    *("done", "completed", "finished", "confirmed", "resolved", "found", "checked", "looked", "executed"),
    *("successfully", "succeeded"),
}
"""Claims that reading something bears out as well."""


class NoFalseSuccess(Check, Struct, frozen=True):
    """The answer does not claim what the tools of the turn denied or never did."""

    name: ClassVar = "no_false_success"
    group: ClassVar = Group.TOOL_HYGIENE
    looks_at: ClassVar = ANSWER | CALLS
    fields: ClassVar = (
        Field(
            "no_false_success",
            Literal[True],
            "The answer claims nothing that the tools of the turn denied or never did.",
            since="1",
        ),
    )
    examples: ClassVar = (
        Example({}, calls("book_slot:ok", text="I booked it for you."), Status.PASSED),
        Example({}, calls("book_slot:failed", text="I booked it for you."), Status.FAILED),
        Example({}, calls("book_slot:failed", text="It could not be booked."), Status.PASSED),
        Example({}, calls("find_slot:ok", text="I have found one and booked it."), Status.FAILED),
        Example({}, calls("find_slot:ok", text="Done. There are two."), Status.PASSED),
        Example({}, calls("", text="Your refund has been issued."), Status.FAILED),
        Example({}, calls("book_slot:ok", text="I booked it and I have cancelled the other."), Status.UNKNOWN),
        Example({}, calls("book_slot:pending", text="I booked it for you."), Status.UNKNOWN),
        Example({}, calls("book_slot:failed book_slot:ok", text="Booked at the second try."), Status.PASSED),
        Example({}, reported("One was cancelled.", [{"state": "cancelled"}]), Status.PASSED),
        Example({}, UNSEEN_TOOLS, Status.UNKNOWN),
    )

    @classmethod
    def read(cls, expected: Expected) -> Iterator[Reading]:
        if "no_false_success" in expected:
            yield Reading({}, ("no_false_success",))

    @property
    def wanted(self) -> str:
        return "no claim that the tools do not bear out"

    def judge(self, trace: Trace) -> CheckResult:
        why = unreadable(trace) or trace.doubt("tools")
        claimed = claimed_deeds(trace.final_message, (call.name for call in trace.tool_calls if not call.success))
        if not claimed and not why:
            return self.passed("no claim")
        if why:
            return self.unknown(why)
        doubts = []
        for deed, span in claimed:
            holds = _borne_out(deed, trace)
            found = f"it claims {excerpt(trace.final_message[slice(*span)])!r}: {called(trace)}"
            if holds is False:
                why = not_understood(trace)
                return self.unknown(why) if why else self.failed(found, At("final_message", *span))
            doubts += [] if holds else [f"nobody can tell whether a tool did what {found.removeprefix('it ')}"]
        return self.unknown(doubts[0]) if doubts else self.passed(called(trace))


def _borne_out(deed: str, trace: Trace) -> bool | None:
    """Whether a tool did it; None where one may have."""
    worked = {call.name for call in trace.tool_calls if call.success is True}
    if any(_speaks_of(deed, name) for name in worked) or _is_told(deed, trace):
        return True
    general = bool(IN_GENERAL & {*deed.split()}) or " " in deed
    if worked and general:
        return True
    if any(call.open for call in trace.tool_calls):
        return None
    denied = any(_speaks_of(deed, call.name) for call in trace.tool_calls if call.name not in worked)
    return None if any(not _reads(name) for name in worked) and not denied else False


def _is_told(deed: str, trace: Trace) -> bool:
    """Whether the result of a tool that succeeded says so itself: a status, the words of a record."""
    given = (call.result for call in trace.tool_calls if call.success is True and call.result is not None)
    return any(find(msgspec.json.encode(result).decode(), deed) is not None for result in given)


def _speaks_of(deed: str, tool: str) -> bool:
    """Whether the name of a tool is that of the deed: `book_slot` and `create_booking` of "booked"."""
    stem = deed.removesuffix("d").removesuffix("e")
    single = stem[:-1] if stem[-1:] == stem[-2:-1] else stem
    return deed in verbs_of([tool]) or (len(single) > 2 and single in tool.casefold())


def _reads(tool: str) -> bool:
    first = tool.replace("-", "_").rpartition(".")[2].casefold().split("_")[0]
    return first in READING or any(
        first.startswith(word) for word in ("get", "list", "find", "search", "look", "fetch")
    )
