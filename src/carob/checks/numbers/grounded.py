"""Numbers that an answer states: they must rest on what was seen, or on what can be derived from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import accumulate, chain, islice
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct, structs

from carob.checks.base import ANSWER, CALLS, PAGE, Check, CheckRequest, Phrases, excerpt, own_field, unreadable, unsure
from carob.checks.numbers import derived
from carob.checks.numbers.derived import MOST_ALIKE, Alike, Holder, pairs
from carob.checks.numbers.sources import (
    HUNDRED,
    USERS_WORDS,
    NumberSource,
    claimed_numbers,
    find_first,
    observed_sources,
    results,
    users_words,
)
from carob.checks.sample_traces import UNSEEN_TOOLS, performs
from carob.checks.tools.names import not_understood
from carob.model.check import Example, Expected, Field
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import CheckResult, EvidenceLocation, Group, Status
from carob.text.numbers.claimed import StatedNumber, numbers_in, stated_numbers
from carob.text.regexes import lazy
from carob.text.words import alternatives

ORDERS = {"orders": [{"n": 3, "state": "paid"}, {"n": 4, "state": "open"}, {"n": 5, "state": "paid"}], "visits": 48}
MOST_LISTED = 5
MOST_ROUNDS = 3
"""How often numbers are looked at again, once others were found that they may be derived from."""
MOST_ACROSS = 6
MOST_EXACT_ACROSS = 40
"""Different numbers of one name in all results of which differences are derived with; more if they are with cents."""
SMALLEST = 20
"""The smallest whole amount that may be derived from others that were stated: a smaller one is so by chance."""
_TIMES = lazy.pattern(rf"(?i)[^\S\n-]?-?(?:{alternatives('multiples')})(?!\w)")
_OF_WHOLE = lazy.pattern(r"(?i)[^\S\n](?:out[^\S\n])?of[^\S\n](?:the[^\S\n]|all[^\S\n])?\d")
_PART_OF = lazy.pattern(r"(?i)\d[^\S\n](?:out[^\S\n])?of[^\S\n](?:the[^\S\n]|all[^\S\n])?\Z")
_ENDS_IN_DIGITS = lazy.pattern(r"[\w*•.-]{0,60}\d{4}(?!\w)")

Found = Mapping[StatedNumber, NumberSource | None]
"""The numbers of an answer, with what was found that they rest on."""


def report_trace(text: str, result: object = ORDERS, **more: Any) -> Trace:
    call = ToolCall("report", {}, result=result, success=None if result is None else True)
    return performs(call, text=text, input="How were the last 7 days?", **more)


class GroundedNumbers(Check, Struct, frozen=True):
    """Every number of the answer is in what was seen, or is a count, sum, difference or percentage of that.

    Dates, times, ids, ranks, the numbering of lists and "two ways" are not claims.
    """

    name: ClassVar = "grounded_numbers"
    group: ClassVar = Group.NUMERIC_GROUNDING
    channels: ClassVar = ANSWER | CALLS | PAGE | {"input", "messages"}
    prohibits: ClassVar = True
    description: ClassVar = "numbers that Carob saw or can compute from what it saw"
    field: ClassVar = own_field(
        Literal[True],
        "Every number in the answer is in a tool result, the page or the user's words, or follows from those.",
    )
    more_fields: ClassVar = (
        Field(
            "grounded_constants",
            Annotated[list[int | float], Meta(min_length=1)],
            "Numbers that the answer may state without a source.",
            since="1",
        ),
        Field(
            "grounded_in",
            Phrases,
            "Text files next to the suite, such as a policy: the answer may state every number in them.",
            since="1",
            holds_files=True,
        ),
    )
    examples: ClassVar = (
        Example({}, report_trace("In 7 days, since 1 May 2026, there were 48 visits (order #99)."), Status.PASSED),
        Example({}, report_trace("There were 49 visits."), Status.FAILED),
        Example({}, report_trace("1. 3 orders, 2 of them paid\n2. 12 pieces in all, 8 paid"), Status.PASSED),
        Example({}, report_trace("13 pieces in all"), Status.FAILED),
        Example({}, report_trace("Eleven orders came in. There are two ways to go on."), Status.FAILED),
        Example({}, report_trace("Three orders came in. There are two ways to go on."), Status.PASSED),
        Example({}, report_trace("4 pieces, up 1 from 3; 67% of the orders are paid"), Status.PASSED),
        Example({}, report_trace("68% of the orders are paid"), Status.FAILED),
        Example({"constants": [24]}, report_trace("Within 24 hours."), Status.PASSED),
        Example({}, report_trace("Within 24 hours."), Status.FAILED),
        Example({"texts": {"policy.md": ["24"]}}, report_trace("Within 24 hours."), Status.PASSED),
        Example({"texts": {"policy.md": ["48"]}}, report_trace("Within 24 hours."), Status.FAILED),
        Example({}, report_trace("There were 49 visits.", None), Status.UNKNOWN),
        Example({}, report_trace("48 Millionen"), Status.UNKNOWN),
        Example({}, UNSEEN_TOOLS, Status.PASSED),
    )
    constants: tuple[float, ...] = ()
    texts: Mapping[str, tuple[str, ...]] = {}
    """The numbers of the files in `grounded_in`, so that a recorded case can be judged without them."""

    @classmethod
    def read(cls, expected: Expected) -> Iterator[CheckRequest]:
        if "grounded_numbers" in expected:
            constants = expected.get("grounded_constants")
            texts = {name: _written_numbers(text) for name, text in expected.get("grounded_in", {}).items()}
            args = {"constants": constants} if constants else {}
            yield CheckRequest(args | ({"texts": texts} if texts else {}), ("grounded_numbers",))

    def judge(self, trace: Trace) -> CheckResult:
        loose, derivations = self._find_ungrounded(trace, claimed_numbers(trace))
        unread = next((number for number in loose if number.unread or number.doubtful), None)
        firm = [number for number in loose if not (number.unread or number.doubtful)]
        if firm:
            why = _why_unseen(trace) or unsure(trace, [number.span for number in firm])
            listed = ", ".join(_text_of(trace, number) for number in firm[:MOST_LISTED])
            at = EvidenceLocation("final_message", *firm[0].span)
            return self.unknown(why) if why else self.failed(f"no source for {listed}", at)
        if unread is not None:
            other = ("part of a date", "with `of`") if unread.doubtful else ("another number", "in digits")
            return self.unknown(f"{_text_of(trace, unread)} may be {other[0]}: have the agent write it {other[1]}")
        # A small number in a word is a claim only if what was seen holds the things that it counts.
        counts = {stated for stated in stated_numbers(trace.final_message) if stated.counts}
        if why := unreadable(trace) or (_why_unseen(trace) if counts.difference(claimed_numbers(trace)) else None):
            return self.unknown(why)
        return self.passed(excerpt("; ".join(derivations)) if derivations else "no number")

    def _find_ungrounded(self, trace: Trace, stated: Sequence[StatedNumber]) -> tuple[list[StatedNumber], list[str]]:
        """The numbers that rest on nothing, and what the others rest on."""
        if not stated:
            return [], []
        sources = NumberSources(trace, self.constants, self.texts)
        stated = [sources.choose_reading(number) for number in stated]
        by_number: dict[StatedNumber, NumberSource | None] = {number: sources.find_seen(number) for number in stated}
        pending = [number for number in stated if by_number[number] is None and not number.unread]
        for _ in range(MOST_ROUNDS if pending else 0):
            for number in pending:
                by_number[number] = sources.find_derived(number) or sources.find_computed(number, by_number)
            still = [number for number in pending if by_number[number] is None]
            if len(still) in (0, len(pending)):
                break
            pending = still
        by_number |= {number: self._find_earlier(trace, number) for number in pending if by_number[number] is None}
        loose = [number for number in stated if by_number[number] is None or number.unread]
        return loose, [f"{_text_of(trace, number)} is {source.name}" for number, source in by_number.items() if source]

    def _find_earlier(self, trace: Trace, stated: StatedNumber) -> NumberSource | None:
        """The last earlier answer that stated the number, if it rested on something there."""
        earlier = trace.earlier or trace.turns[:-1]
        for index in range(len(earlier) - 1, -1, -1):
            repeated = [
                number for number in stated_numbers(earlier[index].final_message) if number.value == stated.value
            ]
            if repeated:
                before = structs.replace(earlier[index], earlier=earlier[:index])
                loose, _ = self._find_ungrounded(before, claimed_numbers(before))
                return None if repeated[0] in loose else NumberSource(stated.value, f"derived in answer {index + 1}")
        return None


@lru_cache(maxsize=16)
def _written_numbers(text: str) -> tuple[str, ...]:
    """The numbers of a text, each once, as digits."""
    return tuple(dict.fromkeys(format(number, "f") for number in numbers_in(text)))


def _why_unseen(trace: Trace) -> str | None:
    """Why a number may come from what was not seen."""
    why = (
        trace.why_incomplete("tools")
        or trace.why_incomplete("tool_results")
        or trace.why_incomplete("page")
        or not_understood(trace)
    )
    if why:
        return why
    dark = next((call for call in trace.tool_calls if call.called and call.result is None and call.error is None), None)
    return f"the result of {dark.name} is unknown" if dark else None


def _text_of(trace: Trace, stated: StatedNumber) -> str:
    return trace.final_message[slice(*stated.span)]


class NumberSources:
    """What the numbers of one answer may rest on; what is costly is made when a number asks for it."""

    def __init__(self, trace: Trace, constants: Sequence[float], texts: Mapping[str, Sequence[str]]) -> None:
        self._trace = trace
        self._seen = [*observed_sources(trace, constants, texts)]

    def find_seen(self, stated: StatedNumber) -> NumberSource | None:
        """What holds the number itself, or the share that it is a part of."""
        seen = find_first(stated, self._seen)
        if seen or stated.share is None:
            return seen
        return find_first(StatedNumber(stated.share * HUNDRED, Decimal(1), stated.span, percent=True), self._seen)

    def choose_reading(self, stated: StatedNumber) -> StatedNumber:
        """The number as 1,250 where its 1.250 was seen so and not as one and a quarter, or its 30 cents as 0.30."""
        if stated.other is None or self.find_seen(stated):
            return stated
        value, step = stated.other
        otherwise = stated._replace(value=value, step=step, other=None)
        return otherwise if self.find_seen(otherwise) else stated

    def find_derived(self, stated: StatedNumber) -> NumberSource | None:
        """A count or a sum that can be named, or the id that ends in it."""
        return find_first(stated, self._derived) or self._find_id_end(stated)

    def find_computed(self, stated: StatedNumber, by_number: Found) -> NumberSource | None:
        """What numbers give that are next to each other in the answer or in a result, or have one name in several."""
        grounded = {other: source for other, source in by_number.items() if source}
        return find_first(stated, chain.from_iterable(self._groups(stated, grounded)))

    def _groups(
        self, stated: StatedNumber, grounded: Mapping[StatedNumber, NumberSource]
    ) -> Iterator[Iterable[NumberSource]]:
        yield (
            NumberSource(number.value, f"stated before, {source.name}")
            for number, source in grounded.items()
            if number != stated
        )
        line = _sources_in_line(self._trace.final_message, stated, grounded)
        yield pairs(line, stated.percent)
        is_rounded = stated.about or stated.step > 1
        yield (number for group in self._alike for number in pairs(group, stated.percent, is_rounded))
        exact = stated.step < 1
        yield self._differences[exact]
        if _TIMES.match(self._trace.final_message, stated.span[1]):
            shares = (
                number for group in (line, *self._alike) for number in pairs(group, percent=True) if number.percent
            )
            yield (NumberSource(number.value / HUNDRED, number.name) for number in shares)
        if stated.money and (abs(stated.value) >= SMALLEST or exact):
            amounts = _sources_before(stated, grounded)
            yield pairs(amounts, stated.percent)
            yield _sums_of_first(amounts)
            yield _sums_of_first(line)
            yield _multiples((*amounts, *line), self._factors(grounded))
            yield (number for group in self._alike for number in _multiples(group, [*filter(_is_factor, group)]))
        if stated.money or exact:
            yield (number for group in self._alike for number in _multiples(group, self._users_counts))
        if abs(stated.value) >= SMALLEST or exact:
            yield self._differences_from_user
            yield _parts_of((*_sources_before(stated, grounded), *line), self._percentages)

    @cached_property
    def _holders(self) -> list[Holder]:
        return derived.holders_of(self._trace)

    @cached_property
    def _derived(self) -> list[NumberSource]:
        return [*derived.derived_sources(self._trace, self._holders)]

    @cached_property
    def _alike(self) -> list[Alike]:
        return [*derived.alike_sources(self._holders)]

    @cached_property
    def _differences(self) -> tuple[list[NumberSource], list[NumberSource]]:
        """Across results: for whole numbers, and for exact ones, which are seldom a difference by chance."""
        groups = derived.of_one_name(self._holders)
        return derived.differences(groups, MOST_ACROSS), derived.differences(groups, MOST_EXACT_ACROSS)

    @cached_property
    def _users_counts(self) -> list[NumberSource]:
        """Small counts of the user's words, by which a price may be multiplied."""
        return [number for number in self._seen if number.name == USERS_WORDS and _is_factor(number)]

    @cached_property
    def _percentages(self) -> list[NumberSource]:
        """Percentages that the user, the answer or a result states."""
        texts = (*users_words(self._trace), self._trace.final_message)
        stated = (number for text in texts for number in stated_numbers(text) if number.percent)
        grounded = (NumberSource(number.value, f"{number.value} %") for number in stated)
        return [number for number in grounded if any(number.value == seen.value for seen in self._seen)][:MOST_ALIKE]

    @cached_property
    def _differences_from_user(self) -> list[NumberSource]:
        """Large numbers of the user's words less those of results: a reading less the one before."""
        large = [number for number in self._seen if abs(number.value) >= HUNDRED]
        own = [number for number in large if number.name == USERS_WORDS]
        others = [number for group in self._alike for number in group if abs(number.value) >= HUNDRED]
        return derived.cross_differences(own, others) if len(own) <= MOST_ACROSS and len(others) <= MOST_ACROSS else []

    def _factors(self, grounded: Mapping[StatedNumber, NumberSource]) -> list[NumberSource]:
        """How many there may be of something that has a price: small counts of results, and small stated numbers."""
        counts = [number for number in self._derived if number.counted]
        amounts = [
            NumberSource(number.value, source.name)
            for number, source in grounded.items()
            if not (number.money or number.percent)
        ]
        return [number for number in (*counts, *amounts) if _is_factor(number)]

    @cached_property
    def _ids(self) -> list[str]:
        """Names that end in digits, wherever they were seen."""
        texts = (*users_words(self._trace), *(str(result) for _, result in results(self._trace)))
        return [name for text in texts for name in _ENDS_IN_DIGITS.findall(text)]

    def _find_id_end(self, stated: StatedNumber) -> NumberSource | None:
        if stated.money or not stated.digits:
            return None
        name = next(
            (
                identifier
                for identifier in self._ids
                if identifier.endswith(stated.digits) and identifier != stated.digits
            ),
            None,
        )
        return NumberSource(stated.value, f"the end of {name}") if name else None


def _sources_in_line(
    text: str, stated: StatedNumber, grounded: Mapping[StatedNumber, NumberSource]
) -> list[NumberSource]:
    """What is stated in the line of a number."""
    first = text.rfind("\n", 0, stated.span[0])
    last = text.find("\n", stated.span[1])
    last = len(text) if last < 0 else last
    near = (other for other in grounded if first < other.span[0] <= last and other != stated)
    return [
        NumberSource(other.value, grounded[other].name, grounded[other].counted or _is_part(text, other), other.percent)
        for other in islice(near, MOST_ALIKE)
    ]


def _is_part(text: str, stated: StatedNumber) -> bool:
    """Whether it is one of the two in "5 of 20": a part and its whole make a share and no sum."""
    start, end = stated.span
    return _OF_WHOLE.match(text, end) is not None or _PART_OF.search(text, max(0, start - 24), start) is not None


def _sources_before(stated: StatedNumber, grounded: Mapping[StatedNumber, NumberSource]) -> list[NumberSource]:
    """The amounts of money that were stated last before a number, the last one first."""
    before = [
        NumberSource(other.value, source.name)
        for other, source in grounded.items()
        if other.money and other.span < stated.span
    ]
    return before[: -MOST_ALIKE - 1 : -1]


def _is_factor(ground: NumberSource) -> bool:
    return ground.value in range(2, MOST_ALIKE + 1)


def _sums_of_first(amounts: Alike) -> Iterator[NumberSource]:
    for count, total in enumerate(accumulate(amount.value for amount in amounts), 1):
        if count > 1:
            yield NumberSource(total, f"the sum of {', '.join(amount.name for amount in amounts[:count])}")


def _parts_of(amounts: Alike, percentages: Alike) -> Iterator[NumberSource]:
    """A percentage of an amount, the rest of it, and the amount with it on top."""
    for amount in amounts:
        for percentage in percentages:
            part = amount.value * percentage.value / HUNDRED
            yield NumberSource(part, f"{percentage.name} of {amount.name}")
            yield NumberSource(amount.value - part, f"{amount.name} less {percentage.name}")
            yield NumberSource(amount.value + part, f"{amount.name} plus {percentage.name}")


def _multiples(amounts: Alike, factors: Alike) -> Iterator[NumberSource]:
    for amount in (amount for amount in amounts if not derived.is_percentage(amount)):
        yield from (
            NumberSource(amount.value * factor.value, f"{factor.value} ({factor.name}) × {amount.name}")
            for factor in factors
        )
