"""Calls that were made: with these arguments, with this result, so many times, or never."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, NotRequired, TypedDict

import msgspec
from msgspec import UNSET, Meta, Struct

from carob.checks.base import CheckRequest, Phrase, ToolCheck, excerpt, out_of_reach, own_field
from carob.checks.sample_traces import UNSEEN_TOOLS, calls, performs
from carob.checks.tools.names import describe_calls, nameless, not_ruled_out, why_unseen
from carob.checks.tools.patterns import CallPattern, Times, WantedCall, assign
from carob.matchers.reading import MatchedMembers, MatchedValue
from carob.model.check import CheckProblem, Example, Expected
from carob.model.trace import TextLoss, ToolCall, Trace
from carob.model.verdict import CheckResult, EvidenceLocation, Status
from carob.text.tool_names import OR, is_named

LONGEST_DIFFERENCE = 600
MOST_TIMES = 1000

BOOKED = performs(
    ToolCall("find", {}, success=True, result='{"free": [41, 42]}'),
    ToolCall("book", {"vehicle": 42, "days": {"from": "Mon"}}, success=False, result={"error": "D-1 is taken"}),
)
PAID = performs(
    ToolCall("pay", {"amount": 40}, success=True),
    ToolCall("pay", {"amount": 80, "note": "late"}, success=True),
    ToolCall("pay", {"amount": 40}, started=False, unfinished=True),
)
PAID_BUT_NOT_SEEN = performs(
    ToolCall("pay", {"card": "[removed]"}, success=True), cuts={"tool_results": TextLoss("secrets were removed")}
)
UNCARRIED = performs(
    ToolCall("pay", success=True, unobserved={"arguments": "the span of the call does not contain them"})
)

Often = Annotated[int, Meta(ge=1, le=MOST_TIMES)]


class CallTimes(TypedDict, total=False):
    """How often such a call is made. Without `min` it is made at least once."""

    min: Annotated[int, Meta(ge=0, le=MOST_TIMES, description="The minimum number of calls; 1 if not given.")]
    max: Annotated[int, Meta(ge=1, le=MOST_TIMES, description="The maximum number of calls.")]


class AlternativeCall(TypedDict):
    """One of several calls, of which any will do."""

    tool: Annotated[str, Meta(min_length=1, description="The name of the tool.")]
    arguments: NotRequired[Annotated[MatchedMembers, Meta(description="Arguments of the call; matchers are allowed.")]]
    success: NotRequired[Annotated[bool, Meta(description="Whether it succeeded.")]]
    result: NotRequired[Annotated[MatchedValue, Meta(description="Its result; matchers are allowed.")]]
    error: NotRequired[Annotated[MatchedValue, Meta(description="The text of its error; matchers are allowed.")]]
    ignore: NotRequired[
        Annotated[
            list[Phrase],
            Meta(
                min_length=1,
                description="No other arguments than `arguments`, but for these names; `*` and `?` are allowed.",
            ),
        ]
    ]
    optional: NotRequired[
        Annotated[
            MatchedMembers, Meta(description="No other arguments than `arguments`, but for these with these values.")
        ]
    ]


class ExpectedCall(TypedDict):
    """A call that was made: its tool, and what else must be true of it."""

    tool: NotRequired[Annotated[str, Meta(min_length=1, description="The name of the tool.")]]
    any_of: NotRequired[
        Annotated[
            list[AlternativeCall],
            Meta(min_length=2, description="In place of `tool`: calls of which any will do, of whatever tools."),
        ]
    ]
    arguments: NotRequired[
        Annotated[
            MatchedMembers, Meta(description="Arguments of the call, which may have others; matchers are allowed.")
        ]
    ]
    success: NotRequired[Annotated[bool, Meta(description="Whether it succeeded.")]]
    result: NotRequired[Annotated[MatchedValue, Meta(description="Its result; matchers are allowed.")]]
    error: NotRequired[Annotated[MatchedValue, Meta(description="The text of its error; matchers are allowed.")]]
    ignore: NotRequired[
        Annotated[
            list[Phrase],
            Meta(
                min_length=1,
                description="No other arguments than `arguments`, but for these names; `*` and `?` are allowed.",
            ),
        ]
    ]
    optional: NotRequired[
        Annotated[
            MatchedMembers, Meta(description="No other arguments than `arguments`, but for these with these values.")
        ]
    ]
    times: NotRequired[
        Annotated[Often | CallTimes, Meta(description="How often the call is made: a number, or {min, max}.")]
    ]
    never: NotRequired[Annotated[Literal[True], Meta(description="No such call was made or requested.")]]
    last: NotRequired[
        Annotated[
            Literal[True] | MatchedMembers,
            Meta(description="It is the last call of the tool; with arguments, the last that has these."),
        ]
    ]


class Rivals(Struct, frozen=True, omit_defaults=True):
    """The other entries for the same tool that need calls."""

    before: tuple[WantedCall, ...] = ()
    after: tuple[WantedCall, ...] = msgspec.field(name="behind", default=())


class CallTally(Struct, frozen=True):
    """The calls that an entry has: those of its own, and all such calls that are not those of another."""

    matched: list[int]
    counted: list[int]


class ToolCalls(ToolCheck, Struct, frozen=True, dict=True):
    """The tool was called with these arguments, whatever others are next to them, and came out like this.

    Of several entries for one tool, each needs calls of its own; `rivals` are the others, before and after it.
    """

    name: ClassVar = "tool_calls"
    failure: ClassVar = ("a ", "no ")
    field: ClassVar = own_field(
        Annotated[list[ExpectedCall], Meta(min_length=1)],
        "Calls that were made: {tool, arguments, success, result, error, times}, with {never: true} not made, with "
        "{last: true} the last of the tool. `any_of` in place of `tool` lists calls of which any will do.",
        since="0.3",
        in_defaults="add_never",
    )
    examples: ClassVar = (
        Example({"tool": "book"}, BOOKED, Status.PASSED),
        Example({"tool": "drop"}, BOOKED, Status.FAILED),
        Example({"tool": "book", "arguments": {"vehicle": 42}}, BOOKED, Status.PASSED),
        Example({"tool": "book", "arguments": {"vehicle": 41}}, BOOKED, Status.FAILED),
        Example({"tool": "book", "arguments": {"vehicle": {"$lt": 42}}}, BOOKED, Status.FAILED),
        Example({"tool": "book", "arguments": {"days": {"from": "Mon"}}, "success": False}, BOOKED, Status.PASSED),
        Example({"tool": "book", "arguments": {"days": {"to": "Tue"}}}, BOOKED, Status.FAILED),
        Example({"tool": "book", "arguments": {"$eq": {"vehicle": 42}}}, BOOKED, Status.FAILED),
        Example({"tool": "find", "success": True}, BOOKED, Status.PASSED),
        Example({"tool": "book", "success": True}, BOOKED, Status.FAILED),
        Example({"tool": "find", "result": {"free": {"$contains": 41}}}, BOOKED, Status.PASSED),
        Example({"tool": "find", "result": {"free": {"$contains": 40}}}, BOOKED, Status.FAILED),
        Example({"tool": "book", "error": {"$contains": "taken"}}, BOOKED, Status.PASSED),
        Example({"tool": "find", "error": {"$contains": "taken"}}, BOOKED, Status.FAILED),
        Example({"tool": "find", "success": True}, calls("find:pending"), Status.UNKNOWN),
        Example({"tool": "find", "result": {"free": 1}}, calls("find:pending"), Status.UNKNOWN),
        Example({"tool": "find", "arguments": {"day": "Mon"}}, calls("find"), Status.UNKNOWN),
        Example({"tool": "pay", "arguments": {"card": "4111"}}, PAID_BUT_NOT_SEEN, Status.UNKNOWN),
        Example({"tool": "pay", "arguments": {"note": {"$absent": True}}}, UNCARRIED, Status.UNKNOWN),
        Example({"tool": "find"}, calls("find:refused"), Status.FAILED),
        Example({"tool": "pay", "times": 2}, PAID, Status.PASSED),
        Example({"tool": "pay", "times": 1}, PAID, Status.FAILED),
        Example({"tool": "pay", "times": 3}, PAID, Status.FAILED),
        Example({"tool": "pay", "arguments": {"amount": 40}, "times": 1}, PAID, Status.PASSED),
        Example({"tool": "pay", "times": {"min": 0, "max": 1}}, calls("find"), Status.PASSED),
        Example({"tool": "pay", "times": {"max": 1}}, PAID, Status.FAILED),
        Example({"tool": "pay", "arguments": {"note": "late"}, "never": True}, PAID, Status.FAILED),
        Example({"tool": "pay", "arguments": {"amount": {"$gt": 80}}, "never": True}, PAID, Status.PASSED),
        Example({"tool": "pay", "never": True}, calls("functions.Pay:refused"), Status.FAILED),
        Example({"tool": "pay", "never": True}, UNSEEN_TOOLS, Status.UNKNOWN),
        Example({"tool": "find", "rivals": {"before": [{"tool": "find"}]}}, calls("find find"), Status.PASSED),
        Example({"tool": "find", "rivals": {"before": [{"tool": "find"}]}}, calls("find"), Status.FAILED),
        Example({"tool": "find", "rivals": {"behind": [{"tool": "find"}]}}, calls("find"), Status.PASSED),
        Example({"tool": "pay", "arguments": {"amount": 80}, "last": True, "success": True}, PAID, Status.PASSED),
        Example({"tool": "pay", "arguments": {"note": "late"}, "last": {"amount": 40}}, PAID, Status.FAILED),
        Example({"tool": "pay", "arguments": {"note": "late"}, "last": True}, calls("find"), Status.FAILED),
        Example({"tool": "pay", "arguments": {"amount": 40}, "last": True}, UNSEEN_TOOLS, Status.UNKNOWN),
        Example({"any_of": [{"tool": "drop"}, {"tool": "pay", "arguments": {"note": "late"}}]}, PAID, Status.PASSED),
        Example({"any_of": [{"tool": "drop"}, {"tool": "pay", "arguments": {"note": "soon"}}]}, PAID, Status.FAILED),
        Example({"tool": "pay", "arguments": {"amount": 80}, "ignore": ["n*"]}, PAID, Status.PASSED),
        Example({"tool": "pay", "arguments": {"amount": 80}, "ignore": ["days"]}, PAID, Status.FAILED),
        Example({"tool": "pay", "arguments": {"amount": 80}, "optional": {"note": "late"}}, PAID, Status.PASSED),
        Example({"tool": "pay", "arguments": {"amount": 80}, "optional": {"note": "soon"}}, PAID, Status.FAILED),
        Example({"tool": "pay", "ignore": ["note"]}, UNCARRIED, Status.UNKNOWN),
        Example({"tool": "book"}, UNSEEN_TOOLS, Status.UNKNOWN),
    )
    tool: str = ""
    arguments: Any = UNSET
    success: bool | None = None
    result: Any = UNSET
    error: Any = UNSET
    times: int | Times | None = None
    never: bool = False
    any_of: tuple[WantedCall, ...] = ()
    last: Any = UNSET
    rivals: Rivals = Rivals()
    ignore: tuple[str, ...] = ()
    optional: Any = UNSET

    @cached_property
    def call(self) -> WantedCall:
        """What it expects, without its rivals."""
        return msgspec.convert(self, WantedCall, from_attributes=True)

    @cached_property
    def patterns(self) -> tuple[CallPattern, ...]:
        """Its own and those of its rivals."""
        return tuple(map(CallPattern.of, (*self.rivals.before, self.call, *self.rivals.after)))

    @property
    def pattern(self) -> CallPattern:
        return self.patterns[len(self.rivals.before)]

    @property
    def why_always_passes(self) -> str:
        most = self.pattern.most
        return out_of_reach(most, 1000, "a thousand calls") if not self.pattern.least and most is not None else ""

    @property
    def asks_for_a_call(self) -> bool:
        return not self.never and self.pattern.least > 0

    @classmethod
    def read(cls, expected: Expected) -> Iterator[CheckRequest]:
        entries = expected.get("tool_calls", ())
        for index, call in enumerate(entries):
            rivals = _rivals(entries, index)
            sides = {
                "before": [entries[i] for i in rivals if i < index],
                "behind": [entries[i] for i in rivals if i > index],
            }
            own = {"tool": OR.join(tools_of(call)), **call} if "any_of" in call else call
            asked = {**own, "rivals": {side: others for side, others in sides.items() if others}} if rivals else own
            yield CheckRequest(asked, ("tool_calls", index))

    @property
    def prohibits(self) -> bool:
        return self.never

    @property
    def description(self) -> str:
        with_what = f" with {self._wanted_arguments}" if self._speaks_of_arguments else ""
        gave = f" that gave {_format_value(self.result)}" if self.result is not UNSET else ""
        erred = f" with the error {_format_value(self.error)}" if self.error is not UNSET else ""
        position = f", number {len(self.rivals.before) + 1} of its kind" if self.rivals.before else ""
        which = "no" if self.never else "a" if self.last is UNSET else self._which_last
        return f"{which}{self.pattern.words[1:]}{with_what}{gave}{erred}{self._often}{position}"

    @property
    def _speaks_of_arguments(self) -> bool:
        return self.arguments is not UNSET or self.call.are_arguments_exact

    @property
    def _wanted_arguments(self) -> str:
        arguments = {} if self.arguments is UNSET else self.arguments
        optional = f", optional {_format_value(self.optional)}" if self.optional is not UNSET else ""
        ignored = f", ignoring {', '.join(self.ignore)}" if self.ignore else ""
        return f"{'only ' if optional or ignored else ''}{_format_value(arguments)}{optional}{ignored}"

    @property
    def _which_last(self) -> str:
        return "as the last, a" if self.last is True else f"as the last with {_format_value(self.last)}, a"

    @property
    def _often(self) -> str:
        if self.times is None:
            return ""
        least, most = self.pattern.least, self.pattern.most
        if least == most:
            return f", {least} times" if least != 1 else ", once"
        return f", at least {least} times" if most is None else f", {least} to {most} times"

    def validate(self) -> Iterator[CheckProblem]:
        yield from self._misplaced_keys()
        named = [call.tool for call in self.any_of or (self,) if call.tool]
        yield from nameless(*named)
        if self.never and self.times is not None:
            yield CheckProblem("no-effect", "'times' has no effect next to 'never'.", ("times",))
        if self.pattern.most is not None and self.pattern.least > self.pattern.most:
            yield CheckProblem(
                "out-of-range", f"min {self.pattern.least} is greater than max {self.pattern.most}.", ("times",)
            )
        if isinstance(self.times, Times) and self.pattern.least == 0 and self.pattern.most is None:
            yield CheckProblem(
                "empty-expectation", "any number of calls passes. Give 'max', or a higher 'min'.", ("times",)
            )

    def _misplaced_keys(self) -> Iterator[CheckProblem]:
        parts = [name for name in ("arguments", "result", "error", "optional") if getattr(self, name) is not UNSET]
        parts += ["success"] if self.success is not None else []
        parts += ["ignore"] if self.ignore else []
        for call in self.any_of or (self.call,):
            if (
                call.are_arguments_exact
                and isinstance(call.arguments, dict)
                and any(k.startswith("$") for k in call.arguments)
            ):
                message = (
                    "a matcher of all arguments. Write each argument with its value next to 'ignore' or 'optional'."
                )
                yield CheckProblem("wrong-shape", message, ("arguments",))
        if bool(self.tool) is bool(self.any_of and self.tool != self.pattern.tool):
            yield CheckProblem("wrong-shape", "give either 'tool' or 'any_of'.")
        if self.any_of and parts:
            message = f"'{parts[0]}' is of one call: write it in each entry of 'any_of'."
            yield CheckProblem("wrong-shape", message, (parts[0],))
        if self.last is not UNSET and (self.never or self.times is not None):
            yield CheckProblem("no-effect", "'last' speaks of one call: leave out 'times' and 'never'.", ("last",))
        if self.last is not UNSET and not self.any_of and not parts:
            message = "it holds of every last call. Say what 'arguments', 'success', 'result' or 'error' it has."
            yield CheckProblem("empty-expectation", message, ("last",))

    def judge(self, trace: Trace) -> CheckResult:
        if self.never:
            return self._judge_never(trace)
        if self.last is not UNSET:
            return self._judge_last(trace)
        doubt = trace.cut("tool_results")
        matches = [[pattern.fits(call, doubt) for call in trace.tool_calls] for pattern in self.patterns]
        sure, most = self._tally(matches, certain=True), self.pattern.most
        if most is not None and len(sure.counted) > most:
            return self.failed(
                f"{len(sure.counted)} such calls", EvidenceLocation("tool_calls", index=sure.counted[most])
            )
        if len(sure.matched) < self.pattern.least:
            possible = len(self._tally(matches, certain=False).matched) >= self.pattern.least
            return self.failed_unless(
                why_unseen(trace, (self.tool,)) or (self._why_undecided(trace) if possible else None),
                self._describe_nearest(trace, sure),
            )
        if most is not None:
            possible = len(self._tally(matches, certain=False).counted) > most
            if why := why_unseen(trace, (self.tool,)) or (self._why_undecided(trace) if possible else None):
                return self.unknown(why)
        if not sure.matched:
            return self.passed(describe_calls(trace))
        first = trace.tool_calls[sure.matched[0]]
        detail = call_shown(first) if len(sure.matched) == 1 else f"{len(sure.counted)} such calls"
        return self.passed(detail, EvidenceLocation("tool_calls", index=sure.matched[0]))

    def _judge_never(self, trace: Trace) -> CheckResult:
        doubt = trace.cut("tool_results")
        matches = [self.pattern.forbids(call, doubt) for call in trace.tool_calls]
        if True in matches:
            index = matches.index(True)
            return self.failed(call_shown(trace.tool_calls[index]), EvidenceLocation("tool_calls", index=index))
        why = why_unseen(trace, (self.tool,)) or not_ruled_out(trace, self.tool)
        return self.passed_unless(
            why or (self._why_undecided(trace) if None in matches else None), describe_calls(trace)
        )

    def _judge_last(self, trace: Trace) -> CheckResult:
        """The last call of the tool is as wanted; each call after it may be that one where this was not seen."""
        doubt = trace.cut("tool_results")
        arguments = UNSET if self.last is True else self.last
        such = CallPattern.of(WantedCall(self.tool, arguments, self.success))
        possible: dict[int, bool | None] = {}
        is_sure = False
        for index in reversed(range(len(trace.tool_calls))):
            call = trace.tool_calls[index]
            if (is_such := such.fits(call, doubt)) is not False:
                possible[index] = self.pattern.fits(call, doubt)
            if is_such:
                is_sure = True
                break
        if not possible:
            return self.failed_unless(why_unseen(trace, (self.tool,)), describe_calls(trace))
        last = max(possible)
        if not any(fit is not False for fit in possible.values()):
            return self.failed_unless(why_unseen(trace, (self.tool,)), self._describe_call(trace, last))
        if not is_sure or not all(possible.values()):
            return self.unknown(self._why_undecided(trace))
        shown = call_shown(trace.tool_calls[last])
        return self.passed_unless(why_unseen(trace, (self.tool,)), shown, EvidenceLocation("tool_calls", index=last))

    def _tally(self, matches: Sequence[Sequence[bool | None]], *, certain: bool) -> CallTally:
        """The calls that are this entry's: for sure, or if what was not seen were as wanted."""
        fits = [[i for i, fit in enumerate(row) if fit or (fit is None and not certain)] for row in matches]
        at = len(self.rivals.before)
        if len(self.patterns) == 1:
            return CallTally(fits[0], fits[0])
        slots = [row for row, pattern in enumerate(self.patterns) for _ in range(pattern.least)]
        assigned = assign([fits[row] for row in slots])
        matched = [call for row, call in zip(slots, assigned, strict=True) if row == at and call is not None]
        rival_calls = {call for row, call in zip(slots, assigned, strict=True) if row != at and call is not None}
        return CallTally(matched, [index for index in fits[at] if index not in rival_calls])

    def _why_undecided(self, trace: Trace) -> str:
        """Why one of these calls may be the one after all."""
        unseen_parts = [part for part, _ in self.pattern.parts if any(_lacks(call, part) for call in trace.tool_calls)]
        reasons = [
            call.unobserved.get(part)
            for call in trace.tool_calls
            for part in unseen_parts
            if is_named(self.tool, call.full_name)
        ]
        if why := next(filter(None, reasons), None):
            return why
        if unseen_parts == ["arguments"]:
            return trace.cut("tool_results") or f"the arguments of {self.tool} are unknown"
        verb = "gave" if unseen_parts else "succeeded"
        how = f"it is unknown what {self.tool} {verb}" if unseen_parts else f"it is unknown whether {self.tool} {verb}"
        return trace.why_incomplete("tool_results") or how

    def _describe_nearest(self, trace: Trace, sure: CallTally) -> str:
        """The call that comes nearest, argument by argument."""
        if sure.counted and self.pattern.least > 1:
            return f"{len(sure.counted)} such calls: {_list_calls(trace, sure.counted)}"
        index = self._find_nearest(trace)
        if index is None:
            return describe_calls(trace)
        return self._describe_call(trace, index)

    def _describe_call(self, trace: Trace, index: int) -> str:
        differs = "; ".join(map(str, self.pattern.differences(trace.tool_calls[index])))
        differs = differs or "it already counts for another entry"
        which = "nearest" if self.last is UNSET else "the last"
        return excerpt(
            f"{which} is call {index + 1}, {call_shown(trace.tool_calls[index])}: {differs}", LONGEST_DIFFERENCE
        )

    def _find_nearest(self, trace: Trace) -> int | None:
        calls = trace.tool_calls
        alike = [i for i, call in enumerate(calls) if is_named(self.tool, call.full_name)]
        differing = {index: len([*self.pattern.differences(calls[index])]) for index in alike}
        return min(alike, key=lambda i: (not calls[i].called, differing[i] or LONGEST_DIFFERENCE), default=None)

    def compared_values(self, trace: Trace) -> tuple[object, object] | None:
        index = self._find_nearest(trace)
        if index is None or self.never or self.arguments is UNSET or self.pattern.fits(trace.tool_calls[index], None):
            return None
        return trace.tool_calls[index].arguments, self.arguments


def tools_of(entry: Mapping[str, Any]) -> list[str]:
    """The tools of an entry, each once."""
    named = (call.get("tool", "") for call in entry.get("any_of") or (entry,))
    return list(dict.fromkeys(tool for name in named for tool in name.split(OR)))


def _rivals(entries: Sequence[Mapping[str, Any]], own: int) -> list[int]:
    """The other entries that may need the calls that this one needs: by its tools, or by those of its rivals."""
    if not is_wanted(entries[own]):
        return []
    rivals, tools = {own}, tools_of(entries[own])
    for _ in entries:
        found = {
            i for i, e in enumerate(entries) if i not in rivals and is_wanted(e) and _may_share(tools_of(e), tools)
        }
        if not found:
            break
        rivals |= found
        tools = [*tools, *(tool for i in found for tool in tools_of(entries[i]))]
    return sorted(rivals - {own})


def is_wanted(entry: Mapping[str, Any]) -> bool:
    """Whether an entry of `tool_calls` asks for calls of its own."""
    return not entry.get("never") and "last" not in entry


def _may_share(tools: Iterable[str], others: Collection[str]) -> bool:
    """Whether a call may be one of tools of both lists: by a common name, or by a pattern that names the other's."""
    return any(
        tool == other or is_named(tool, other) or is_named(other, tool) or ("*" in tool and "*" in other)
        for tool in tools
        for other in others
    )


def _lacks(call: ToolCall, part: str) -> bool:
    return call.arguments is None if part == "arguments" else call.result is None


def _list_calls(trace: Trace, indices: Sequence[int]) -> str:
    return excerpt(", ".join(call_shown(trace.tool_calls[i]) for i in indices[:10]))


def call_shown(call: ToolCall) -> str:
    return f"{call} with {_format_value(call.arguments)}" if call.arguments else str(call)


def _format_value(value: object) -> str:
    return excerpt(msgspec.json.encode(value).decode())
