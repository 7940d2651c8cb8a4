"""What a call must be like, what is different if it is not, and which call counts for which expectation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from carob.matchers.matcher import Difference, Matcher, Members, Only
from carob.matchers.reading import matcher
from carob.model.trace import REMOVED, ToolCall
from carob.text.tool_names import OR, is_named, is_same_tool
from carob.text.tool_results import parse_result

HOW = {True: "a success", False: "a failure", None: "an unknown outcome"}


class Times(Struct, frozen=True, forbid_unknown_fields=True):
    """How often."""

    min: int = 1
    max: int | None = None


class WantedCall(Struct, frozen=True, omit_defaults=True):
    """One entry of `tool_calls` as the arguments of a check hold it."""

    tool: str = ""
    arguments: Any = msgspec.UNSET
    success: bool | None = None
    result: Any = msgspec.UNSET
    error: Any = msgspec.UNSET
    times: int | Times | None = None
    never: bool = False
    any_of: tuple[WantedCall, ...] = ()
    ignore: tuple[str, ...] = ()
    optional: Any = msgspec.UNSET

    @property
    def are_arguments_exact(self) -> bool:
        """Whether the call may have no other arguments than those that are named."""
        return bool(self.ignore) or self.optional is not msgspec.UNSET

    @property
    def matched_arguments(self) -> Matcher | None:
        """What its arguments must be; None if they may be any."""
        if not self.are_arguments_exact:
            return None if self.arguments is msgspec.UNSET else matcher(self.arguments)
        members = {} if self.arguments is msgspec.UNSET else self.arguments
        optional = {} if self.optional is msgspec.UNSET else self.optional
        wanted = Members({name: matcher(value) for name, value in members.items()})
        return Only(wanted, {name: matcher(value) for name, value in optional.items()}, self.ignore)

    @property
    def names(self) -> frozenset[str]:
        """The tools that it names, as the suite writes them."""
        return frozenset(call.tool for call in self.any_of) or frozenset({self.tool})

    @property
    def least(self) -> int:
        if isinstance(self.times, Times):
            return self.times.min
        return 1 if self.times is None else self.times

    @property
    def most(self) -> int | None:
        return self.times.max if isinstance(self.times, Times) else self.times


class CallPattern(Struct, frozen=True):
    """A wanted call with its matchers made."""

    tool: str
    success: bool | None
    parts: tuple[tuple[str, Matcher], ...]
    least: int
    most: int | None
    any_of: tuple[CallPattern, ...] = ()

    @classmethod
    def of(cls, expected: WantedCall) -> CallPattern:
        if expected.any_of:
            tool = OR.join(dict.fromkeys(call.tool for call in expected.any_of))
            return cls(tool, None, (), expected.least, expected.most, tuple(map(cls.of, expected.any_of)))
        arguments = expected.matched_arguments
        others = (("result", expected.result), ("error", expected.error))
        parts = (
            *((("arguments", arguments),) if arguments else ()),
            *((part, matcher(value)) for part, value in others if value is not msgspec.UNSET),
        )
        return cls(expected.tool, expected.success, parts, expected.least, expected.most)

    @property
    def words(self) -> str:
        how = {True: " that succeeded", False: " that failed", None: ""}[self.success]
        names = " or ".join(repr(pattern.tool) for pattern in self.any_of) or repr(self.tool)
        return f"a call to {names}{how}"

    def matches_name(self, call: ToolCall) -> bool:
        return is_named(self.tool, call.full_name) and call.called

    def fits(self, call: ToolCall, doubt: str | None = None) -> bool | None:
        """Whether it is such a call; None where what decides it was not seen. `doubt`: why results may not be whole."""
        if self.any_of:
            return _any_holds(pattern.fits(call, doubt) for pattern in self.any_of)
        return self.matches_name(call) and self.is_like(call, doubt)

    def forbids(self, call: ToolCall, doubt: str | None = None) -> bool | None:
        """Whether it is such a call under any spelling of the name, even if it was only asked for."""
        if self.any_of:
            return _any_holds(pattern.forbids(call, doubt) for pattern in self.any_of)
        return is_same_tool(self.tool, call.full_name) and self.is_like(call, doubt)

    def is_like(self, call: ToolCall, doubt: str | None) -> bool | None:
        fitting: bool | None = True
        if self.success is not None and call.success is not self.success:
            if not call.has_unknown_outcome:
                return False
            fitting = None
        for part, matcher_of_part in self.parts:
            holds = _part_holds(matcher_of_part, call, part, doubt)
            if holds is False:
                return False
            fitting = fitting and holds
        return fitting

    def differences(self, call: ToolCall) -> Iterator[Difference]:
        """Part by part, argument by argument; of several patterns for the one that names the tool."""
        if self.any_of:
            named = [pattern for pattern in self.any_of if is_named(pattern.tool, call.full_name)]
            yield from min(([*pattern.differences(call)] for pattern in named), key=len, default=[])
            return
        if not call.called:
            yield Difference("", "a call that ran", "one that was requested but never ran")
        if self.success is not None and call.success is not self.success:
            yield Difference("", HOW[self.success], HOW[call.success])
        for part, matcher_of_part in self.parts:
            value = part_of(call, part)
            for difference in (
                matcher_of_part.differences(value)
                if value is not None
                else [Difference("", matcher_of_part.words, "nothing")]
            ):
                yield (
                    difference if part == "arguments" else difference._replace(where=_join_path(part, difference.where))
                )


def _any_holds(fits: Iterable[bool | None]) -> bool | None:
    """Whether one fits; None if one may."""
    answers = set(fits)
    return True if True in answers else None if None in answers else False


def _join_path(part: str, where: str) -> str:
    return f"{part}{where}" if where.startswith("[") or not where else f"{part}.{where}"


def part_of(call: ToolCall, part: str) -> object:
    """Arguments, result or error of a call as data; None where there is none or it was not seen."""
    if part == "arguments":
        return parse_result(call.arguments)
    if part == "result":
        return parse_result(call.result)
    result = parse_result(call.result)
    return call.error if call.error is not None or not isinstance(result, dict) else result.get("error")


def _part_holds(part_matcher: Matcher, call: ToolCall, part: str, doubt: str | None) -> bool | None:
    value = part_of(call, part)
    if value is None:
        return _of_nothing(call, part)
    if part_matcher.holds(value) or (part == "result" and call.result is not value and part_matcher.holds(call.result)):
        return True
    return None if doubt and REMOVED.encode() in msgspec.json.encode(value) else False


def _of_nothing(call: ToolCall, part: str) -> bool | None:
    """Whether a part that was not seen is known not to be there."""
    if part == "arguments":
        return None
    ended_otherwise = call.error is not None if part == "result" else call.success is True
    return False if ended_otherwise or call.unfinished else None


def assign(fits: Sequence[Iterable[int]]) -> list[int | None]:
    """For each slot one of the candidates that fit it, or None. No candidate is given twice.

    Slots are served in their order: one that was served stays so, even if by another candidate than at first.
    """
    owner: dict[int, int] = {}
    for slot in range(len(fits)):
        _serve(slot, fits, owner)
    served = {slot: candidate for candidate, slot in owner.items()}
    return [served.get(slot) for slot in range(len(fits))]


def _serve(slot: int, fits: Sequence[Iterable[int]], owner: dict[int, int]) -> None:
    """Find a free candidate, along owners that can do with another one, nearest first."""
    wanted_by: dict[int, int] = {}
    waiting = [slot]
    for seeker in waiting:
        for candidate in fits[seeker]:
            if candidate in wanted_by:
                continue
            wanted_by[candidate] = seeker
            if candidate not in owner:
                _hand_over(candidate, slot, wanted_by, owner)
                return
            waiting.append(owner[candidate])


def _hand_over(candidate: int, first: int, wanted_by: dict[int, int], owner: dict[int, int]) -> None:
    """Give the candidate to who wants it, and what that one had to who wants that, back to the first."""
    had = {slot: owned for owned, slot in owner.items()}
    while True:
        slot = wanted_by[candidate]
        owner[candidate] = slot
        if slot == first:
            return
        candidate = had[slot]
