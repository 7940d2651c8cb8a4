"""What the numbers of one answer rest on: what was seen, what is reckoned from it, and what the answer states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, islice

from karat.checks.grounds import HUNDRED, NumberSource, reach, rests_on, results, seen_grounds, users_words
from karat.checks.reckoning import (
    MOST_ALIKE,
    Alike,
    Holder,
    alike_grounds,
    derived_grounds,
    differences,
    holders_of,
    of_one_name,
    pairs,
)
from karat.model.trace import Trace
from karat.text.numbers.claimed import StatedNumber
from karat.text.regexes import lazy
from karat.text.words import numbers as lists

MOST_ACROSS = 6
MOST_EXACT_ACROSS = 40
"""Different numbers of one name in all results of which differences are reckoned with; more if they are with cents."""
SMALLEST = 20
"""The smallest whole amount that may be reckoned from others that were stated: a smaller one is so by chance."""
_TIMES = lazy.pattern(rf"(?i)[^\S\n-]?-?(?:{lists.MULTIPLES.alternatives})(?!\w)")
_ENDS_IN_DIGITS = lazy.pattern(r"[\w*•.-]{0,60}\d{4}(?!\w)")

Found = Mapping[StatedNumber, NumberSource | None]
"""The numbers of an answer, with what was found that they rest on."""


class Grounds:
    """What the numbers of one answer may rest on; what is costly is made when a number asks for it."""

    def __init__(self, trace: Trace, constants: Sequence[float], texts: Mapping[str, Sequence[str]]) -> None:
        self._trace = trace
        self._seen = [*seen_grounds(trace, constants, texts)]

    def find_seen(self, stated: StatedNumber) -> NumberSource | None:
        """What holds the number itself."""
        return _first(stated, self._seen)

    def find_derived(self, stated: StatedNumber) -> NumberSource | None:
        """A count or a sum that can be named, or the id that ends in it."""
        return _first(stated, self._derived) or self._find_id_end(stated)

    def find_computed(self, stated: StatedNumber, found: Found) -> NumberSource | None:
        """What numbers give that are next to each other in the answer or in a result, or have one name in several."""
        known = {other: ground for other, ground in found.items() if ground}
        return _first(stated, chain.from_iterable(self._groups(stated, known)))

    def _groups(
        self, stated: StatedNumber, known: Mapping[StatedNumber, NumberSource]
    ) -> Iterator[Iterable[NumberSource]]:
        yield (
            NumberSource(one.value, f"stated before, {ground.name}") for one, ground in known.items() if one != stated
        )
        line = _grounds_in_line(self._trace.final_message, stated, known)
        yield pairs(line, stated.percent)
        is_rounded = stated.about or stated.step > 1
        yield (one for group in self._alike for one in pairs(group, stated.percent, is_rounded))
        exact = stated.step < 1
        yield self._differences[exact]
        if _TIMES.match(self._trace.final_message, stated.span[1]):
            shares = (one for group in (line, *self._alike) for one in pairs(group, percent=True) if one.percent)
            yield (NumberSource(one.value / HUNDRED, one.name) for one in shares)
        if stated.money and (abs(stated.value) >= SMALLEST or exact):
            amounts = _grounds_before(stated, known)
            yield pairs(amounts, stated.percent)
            yield _sums_of_first(amounts)
            yield _sums_of_first(line)
            yield _multiples((*amounts, *line), self._factors(known))
            yield (one for group in self._alike for one in _multiples(group, [*filter(_is_factor, group)]))

    @cached_property
    def _holders(self) -> list[Holder]:
        return holders_of(self._trace)

    @cached_property
    def _derived(self) -> list[NumberSource]:
        return [*derived_grounds(self._trace, self._holders)]

    @cached_property
    def _alike(self) -> list[Alike]:
        return [*alike_grounds(self._holders)]

    @cached_property
    def _differences(self) -> tuple[list[NumberSource], list[NumberSource]]:
        """Across results: for whole numbers, and for exact ones, which are seldom a difference by chance."""
        named = of_one_name(self._holders)
        return differences(named, MOST_ACROSS), differences(named, MOST_EXACT_ACROSS)

    def _factors(self, known: Mapping[StatedNumber, NumberSource]) -> list[NumberSource]:
        """How many there may be of something that has a price: small counts of results, and small stated numbers."""
        counts = [one for one in self._derived if one.counted]
        amounts = [
            NumberSource(one.value, ground.name) for one, ground in known.items() if not (one.money or one.percent)
        ]
        return [one for one in (*counts, *amounts) if _is_factor(one)]

    @cached_property
    def _ids(self) -> list[str]:
        """Names that end in digits, wherever they were seen."""
        texts = (*users_words(self._trace), *(str(result) for _, result in results(self._trace)))
        return [name for text in texts for name in _ENDS_IN_DIGITS.findall(text)]

    def _find_id_end(self, stated: StatedNumber) -> NumberSource | None:
        if stated.money or not stated.digits:
            return None
        name = next((one for one in self._ids if one.endswith(stated.digits) and one != stated.digits), None)
        return NumberSource(stated.value, f"the end of {name}") if name else None


def _first(stated: StatedNumber, grounds: Iterable[NumberSource]) -> NumberSource | None:
    low, high = reach(stated)
    for ground in grounds:
        # Most grounds are far away from the number, and most numbers have many: the first look is the cheapest.
        if (stated.percent or low <= abs(ground.value) <= high) and rests_on(stated, ground):
            return ground
    return None


def _grounds_in_line(text: str, stated: StatedNumber, known: Mapping[StatedNumber, NumberSource]) -> list[NumberSource]:
    """What is stated in the line of a number."""
    first = text.rfind("\n", 0, stated.span[0])
    last = text.find("\n", stated.span[1])
    last = len(text) if last < 0 else last
    near = (other for other in known if first < other.span[0] <= last and other != stated)
    return [
        NumberSource(other.value, known[other].name, known[other].counted, other.percent)
        for other in islice(near, MOST_ALIKE)
    ]


def _grounds_before(stated: StatedNumber, known: Mapping[StatedNumber, NumberSource]) -> list[NumberSource]:
    """The amounts of money that were stated last before a number, the last one first."""
    before = [
        NumberSource(other.value, ground.name)
        for other, ground in known.items()
        if other.money and other.span < stated.span
    ]
    return before[: -MOST_ALIKE - 1 : -1]


def _is_factor(ground: NumberSource) -> bool:
    return ground.value in range(2, MOST_ALIKE + 1)


def _sums_of_first(amounts: Alike) -> Iterator[NumberSource]:
    for count, total in enumerate(accumulate(one.value for one in amounts), 1):
        if count > 1:
            yield NumberSource(total, f"the sum of {', '.join(one.name for one in amounts[:count])}")


def _multiples(amounts: Alike, factors: Alike) -> Iterator[NumberSource]:
    for one in amounts:
        yield from (
            NumberSource(one.value * factor.value, f"{factor.value} ({factor.name}) × {one.name}") for factor in factors
        )
