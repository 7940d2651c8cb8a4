"""What the numbers of an answer may rest on: what was seen, and what can be reckoned from it by name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation
from functools import cached_property, lru_cache
from itertools import accumulate, combinations, islice
from typing import NamedTuple

from karat.checks.page import nodes
from karat.model.trace import Trace
from karat.telemetry.tool_results import structured
from karat.text.forms.folding import fold
from karat.text.numbers.claimed import StatedNumber, numbers_in
from karat.text.regexes import lazy

MOST_SEEN = 20_000
MOST_ALIKE = 12
"""Numbers beside each other of which pairs are reckoned with: of more, any number would be the difference of two."""
MOST_ACROSS = 6
MOST_EXACT_ACROSS = 40
"""Different numbers of one name in all results of which differences are reckoned with; more if they are with cents."""
MOST_COLUMNS = 12
MOST_KINDS = 50
LONGEST_OWN_WORDS = 4
SMALLEST = 20
"""The smallest whole amount that may be reckoned from others that were told: a smaller one is so by chance."""
FEWEST_OF_ID = 4
"""Digits by which the end of an id can be told."""
USERS = ("user", "human")
SYSTEM = ("system", "developer")
_ENDS_IN_DIGITS = lazy.pattern(r"[\w*•.-]{0,60}\d{4}(?!\w)")
_HOW_MANY = lazy.pattern(
    r"\b(?:how many|number of|count (?:all|my|our|the)) (?:[a-z'-]+ ){0,2}?([a-z'-]+s)\b", re.IGNORECASE
)
_WORD = lazy.pattern(r"[a-zA-Z][a-z]+")
HUNDRED = Decimal(100)
LONGEST_LINE = 300
"""Characters of a text whose numbers are remembered."""
LARGEST = 25
"""Digits of the largest number that is rounded."""


class Ground(NamedTuple):
    """A number that something rests on, and what it is; `counted`: how many there are of something."""

    value: Decimal
    name: str
    counted: bool = False


Alike = Sequence[Ground]
"""Numbers of one kind, of which differences and shares make sense."""
Found = Mapping[StatedNumber, Ground | None]
"""The numbers of an answer, with what was found that they rest on."""


class Grounds:
    """What the numbers of one answer may rest on; what is costly is made when a number asks for it."""

    def __init__(self, trace: Trace, constants: Sequence[float], texts: Mapping[str, Sequence[str]]) -> None:
        self._trace = trace
        self._seen = [*seen_grounds(trace, constants, texts)]

    def seen(self, stated: StatedNumber) -> Ground | None:
        """What holds the number itself."""
        return _first(stated, self._seen)

    def derived(self, stated: StatedNumber) -> Ground | None:
        """A count or a sum that can be named, or the id that ends in it."""
        return _first(stated, self._derived) or self._ended_id(stated)

    def reckoned(self, stated: StatedNumber, found: Found) -> Ground | None:
        """What numbers give that are next to each other in the answer or in a result, or have one name in several."""
        known = {other: ground for other, ground in found.items() if ground}
        for group in self._groups(stated, known):
            ground = _first(stated, group)
            if ground is not None:
                return ground
        return None

    def _groups(self, stated: StatedNumber, known: Mapping[StatedNumber, Ground]) -> Iterator[Iterable[Ground]]:
        yield (Ground(other.value, f"told before, {ground.name}") for other, ground in known.items() if other != stated)
        line = _same_line(self._trace.final_message, stated, known)
        yield pairs(line, stated.percent)
        yield self._shares if stated.percent else self._pairs
        exact = stated.step < 1
        yield self._differences[exact]
        if stated.money and (abs(stated.value) >= SMALLEST or exact):
            told = _told_before(stated, known)
            yield pairs(told, stated.percent)
            yield _sums_of_first(told)
            yield _sums_of_first(line)
            yield _multiples((*told, *line), self._factors(known))

    @cached_property
    def _derived(self) -> list[Ground]:
        return [*derived_grounds(self._trace)]

    @cached_property
    def _alike(self) -> list[Alike]:
        return [*alike_grounds(self._trace)]

    @cached_property
    def _pairs(self) -> list[Ground]:
        return [one for group in self._alike for one in pairs(group)]

    @cached_property
    def _differences(self) -> tuple[list[Ground], list[Ground]]:
        """Across results: for whole numbers, and for exact ones, which are seldom a difference by chance."""
        named = _by_name(self._trace)
        return [*_differences(named, MOST_ACROSS)], [*_differences(named, MOST_EXACT_ACROSS)]

    @cached_property
    def _shares(self) -> list[Ground]:
        return [one for group in self._alike for one in pairs(group, percent=True)]

    def _factors(self, known: Mapping[StatedNumber, Ground]) -> list[Ground]:
        """How many there may be of something that has a price: small counts of results, and small numbers told."""
        counts = [one for one in self._derived if one.counted]
        told = [Ground(one.value, ground.name) for one, ground in known.items() if not (one.money or one.percent)]
        return [one for one in (*counts, *told) if one.value in range(2, MOST_ALIKE + 1)]

    @cached_property
    def _ids(self) -> list[str]:
        """Names that end in digits, wherever they were seen."""
        texts = (*_users_words(self._trace), *(str(result) for _, result in results(self._trace)))
        return [name for text in texts for name in _ENDS_IN_DIGITS.findall(text)]

    def _ended_id(self, stated: StatedNumber) -> Ground | None:
        if stated.money or len(stated.digits) < FEWEST_OF_ID:
            return None
        name = next((one for one in self._ids if one.endswith(stated.digits) and one != stated.digits), None)
        return Ground(stated.value, f"the end of {name}") if name else None


def _first(stated: StatedNumber, grounds: Iterable[Ground]) -> Ground | None:
    return next((ground for ground in grounds if rests_on(stated, ground.value)), None)


def _same_line(text: str, stated: StatedNumber, known: Mapping[StatedNumber, Ground]) -> list[Ground]:
    """What is told in the line of a number."""
    first = text.rfind("\n", 0, stated.span[0])
    last = text.find("\n", stated.span[1])
    last = len(text) if last < 0 else last
    near = (other for other in known if first < other.span[0] <= last and other != stated)
    return [Ground(other.value, known[other].name, known[other].counted) for other in islice(near, MOST_ALIKE)]


def _told_before(stated: StatedNumber, known: Mapping[StatedNumber, Ground]) -> list[Ground]:
    """The amounts of money that were told last before a number, the last one first."""
    before = [Ground(other.value, ground.name) for other, ground in known.items() if other.money and other.span < stated.span]
    return before[: -MOST_ALIKE - 1 : -1]


def _sums_of_first(told: Alike) -> Iterator[Ground]:
    for count, total in enumerate(accumulate(one.value for one in told), 1):
        if count > 1:
            yield Ground(total, f"the sum of {', '.join(one.name for one in told[:count])}")


def _multiples(told: Alike, factors: Alike) -> Iterator[Ground]:
    for one in told:
        yield from (Ground(one.value * factor.value, f"{factor.value} ({factor.name}) × {one.name}") for factor in factors)


def _by_name(trace: Trace) -> list[Alike]:
    """The different numbers that have one name in all results."""
    named: dict[str, dict[Decimal, Ground]] = {}
    for name, result in results(trace):
        for value, place in _holders(result, name):
            for ground in _members(value, place) if isinstance(value, dict) else ():
                named.setdefault(_name_of(ground), {}).setdefault(ground.value, ground)
    return [[*group.values()] for group in named.values()]


def _differences(named: Sequence[Alike], most: int) -> Iterator[Ground]:
    for group in named:
        for one, other in combinations(group, 2) if len(group) <= most else ():
            yield Ground(abs(one.value - other.value), f"the difference of {one.name} and {other.name}")


def _name_of(ground: Ground) -> str:
    """The name of a member, with that of an object around it which is no row and no whole result."""
    *outer, around, own = ground.name.split(".")
    return own if not outer or around.endswith("]") else f"{around}.{own}"


def seen_grounds(trace: Trace, constants: Sequence[float], texts: Mapping[str, Sequence[str]]) -> Iterator[Ground]:
    """Every number of the constants, the texts, the system prompt, the user's words, tool results, and the page."""
    for constant in constants:
        yield Ground(Decimal(repr(constant)), "a constant")
    for name, numbers in texts.items():
        yield from (Ground(Decimal(number), name) for number in numbers)
    for text in _users_words(trace):
        yield from (Ground(value, "the user's words") for value in _numbers_of(text))
    for text in _said_by(trace, SYSTEM):
        yield from (Ground(value, "the system prompt") for value in _numbers_of(text))
    for name, result in results(trace):
        yield from islice(_numbers(result, name), MOST_SEEN)
    for text in _page_texts(trace):
        yield from (Ground(value, "the page") for value in _numbers_of(text))


def _numbers_of(text: str) -> Sequence[Decimal]:
    """What a text holds, which is remembered: pages of one app share most lines, turns what was said before them."""
    return _of_line(text) if len(text) <= LONGEST_LINE else _of_text(text)


@lru_cache(maxsize=4096)
def _of_line(text: str) -> tuple[Decimal, ...]:
    return tuple(numbers_in(text))


@lru_cache(maxsize=16)
def _of_text(text: str) -> tuple[Decimal, ...]:
    return tuple(numbers_in(text))


def _users_words(trace: Trace) -> Iterator[str]:
    """What the user said, in earlier turns too."""
    yield from (turn.input for turn in (*trace.earlier, *trace.turns, trace))
    yield from _said_by(trace, USERS)


def _said_by(trace: Trace, roles: Collection[str]) -> Iterator[str]:
    """What messages of these roles say, in earlier turns too, each text once."""
    turns = (*trace.earlier, *trace.turns, trace)
    yield from dict.fromkeys(one.content for turn in turns for one in turn.messages if one.role in roles)


def results(trace: Trace) -> Iterator[tuple[str, object]]:
    """The results of the calls that ran, by the name of the tool."""
    for call in (*(call for turn in trace.earlier for call in turn.tool_calls), *trace.tool_calls):
        if call.called and (call.result is not None or call.error is not None):
            yield call.name, structured(call.result) if call.result is not None else call.error


def _numbers(value: object, name: str) -> Iterator[Ground]:
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int | float):
        yield Ground(Decimal(repr(value)), name)
    elif isinstance(value, str):
        yield from (Ground(one, name) for one in _numbers_of(value))
    elif isinstance(value, dict):
        for key, below in value.items():
            yield from (Ground(one, name) for one in _numbers_of(str(key)))
            yield from _numbers(below, f"{name}.{key}")
    elif isinstance(value, list | tuple):
        for index, below in enumerate(value):
            yield from _numbers(below, f"{name}[{index}]")


def _page_texts(trace: Trace) -> Iterator[str]:
    """What the page shows beside the answer itself."""
    for node in nodes(trace.page_before or ""):
        yield from (node.name, node.text)
    answer = fold(trace.final_message)
    shown = nodes(trace.page or "")
    has_log = any(node.talk for node in shown)
    for node in shown:
        for text in (node.name, node.text):
            if text and not node.talk and (has_log or not _is_answer(text, answer)):
                yield text


def _is_answer(text: str, answer: str) -> bool:
    """Whether a text of a page without a log of the talk may be the answer, or a part of it."""
    return answer in text or (text in answer and len(text.split()) >= LONGEST_OWN_WORDS)


def counted_things(trace: Trace) -> frozenset[str]:
    """What there may be a number of, in the singular: what the user asked it of, and the names in results."""
    asked = (word for text in _users_words(trace) for word in _HOW_MANY.findall(text))
    named = (word for name, result in results(trace) for key in _names(result) for word in _WORD.findall(key))
    return frozenset(singular(word.casefold()) for word in (*asked, *named))


def singular(word: str) -> str:
    """An English noun without the ending of the plural."""
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word.removesuffix("s")


def _names(value: object) -> Iterator[str]:
    """The names of members that hold lists or numbers."""
    if isinstance(value, dict):
        for key, below in value.items():
            if isinstance(below, list | int | float):
                yield str(key)
            yield from _names(below)
    elif isinstance(value, list):
        for below in value[:MOST_KINDS]:
            yield from _names(below)


def derived_grounds(trace: Trace) -> Iterator[Ground]:
    """Counts and sums that can be named."""
    done = Counter(call.name for call in trace.tool_calls if call.success is True)
    yield from (Ground(Decimal(count), f"the successful calls of {name}") for name, count in done.items())
    for name, result in results(trace):
        for value, place in _holders(result, name):
            yield from _counts_and_sums(value, place)


def alike_grounds(trace: Trace) -> Iterator[Alike]:
    """Numbers of results that stand beside each other: in one object, in one column, or counts of one list."""
    for name, result in results(trace):
        for value, place in _holders(result, name):
            if isinstance(value, dict):
                yield _members(value, place)[:MOST_ALIKE]
            elif len(value) <= MOST_ALIKE:
                yield from ([*_column(value, key, place)] for key in _keys(value))
                yield [*_column(value, None, place)]
            if isinstance(value, list):
                yield [*_counts(value, place)][: MOST_ALIKE + 1]


def _holders(value: object, place: str) -> Iterator[tuple[dict[str, object] | list[object], str]]:
    if isinstance(value, dict):
        yield value, place
        for key, below in value.items():
            yield from _holders(below, f"{place}.{key}")
    elif isinstance(value, list):
        yield value, place
        for index, below in enumerate(value):
            yield from _holders(below, f"{place}[{index}]")


def _counts_and_sums(value: dict[str, object] | list[object], place: str) -> Iterator[Ground]:
    if isinstance(value, dict):
        members = _members(value, place)
        if len(members) == len(value) > 1:
            yield Ground(sum((one.value for one in members), Decimal()), f"the sum of {place}")
            yield Ground(Decimal(len(value)), f"the members of {place}")
        if len(value) > 1 and all(isinstance(below, dict) for below in value.values()):
            yield from _counts([*value.values()], place)  # rows by their ids
        return
    yield from _counts(value, place)
    for key in (None, *_keys(value), *_inner_keys(value)):
        yield from _sums(value, key, place)


def _counts(rows: list[object], place: str) -> Iterator[Ground]:
    yield Ground(Decimal(len(rows)), f"the entries of {place}", True)
    for key in _keys(rows):
        kinds = Counter(_kind(row, key) for row in rows)
        for kind, count in islice(kinds.items(), MOST_KINDS):
            if kind is not None:
                yield Ground(Decimal(count), f"the entries of {place} with {key} {kind}", True)


def _sums(rows: list[object], key: str | None, place: str) -> Iterator[Ground]:
    column = [*_column(rows, key, place)]
    where = f"{place}[*].{key}" if key else place
    if len(column) > 1:
        yield Ground(sum((one.value for one in column), Decimal()), f"the sum of {where}")
    for other in _keys(rows) if key and "." not in key else ():
        by_kind: dict[str, Decimal] = {}
        for row in rows:
            kind, number = _kind(row, other), _number(_member(row, key))
            if other != key and kind is not None and number is not None:
                by_kind[kind] = by_kind.get(kind, Decimal()) + number
        yield from (
            Ground(total, f"the sum of {where} with {other} {kind}")
            for kind, total in islice(by_kind.items(), MOST_KINDS)
        )


def _column(rows: list[object], key: str | None, place: str) -> Iterator[Ground]:
    for index, row in enumerate(rows):
        value = _number(row if key is None else _member(row, key))
        if value is not None:
            yield Ground(value, f"{place}[{index}]{f'.{key}' if key else ''}")


def _members(value: Mapping[str, object], place: str) -> list[Ground]:
    found = ((key, _number(one)) for key, one in value.items())
    return [Ground(number, f"{place}.{key}") for key, number in found if number is not None]


def _keys(rows: list[object]) -> list[str]:
    first = rows[0] if rows and isinstance(rows[0], dict) else {}
    return list(islice(first, MOST_COLUMNS))


def _inner_keys(rows: list[object]) -> list[str]:
    """Columns of objects within objects: `prices.economy`."""
    first = rows[0] if rows and isinstance(rows[0], dict) else {}
    inner = (f"{key}.{below}" for key, value in first.items() if isinstance(value, dict) for below in value)
    return list(islice(inner, MOST_COLUMNS))


def _member(row: object, key: str) -> object:
    if not isinstance(row, dict):
        return None
    outer, point, inner = key.partition(".")
    if not point or key in row:
        return row.get(key)
    below = row.get(outer)
    return below.get(inner) if isinstance(below, dict) else None


def _kind(row: object, key: str) -> str | None:
    value = row.get(key) if isinstance(row, dict) else None
    return str(value) if isinstance(value, str | bool) else None


def _number(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Decimal(repr(value))


def pairs(alike: Alike, percent: bool = False) -> Iterator[Ground]:
    """Sums and differences of two numbers of a kind, and for a percentage shares; of a count and the whole only those."""
    for one, other in combinations(alike, 2):
        names = f"{one.name} and {other.name}"
        if not (one.counted or other.counted):
            yield Ground(one.value + other.value, f"the sum of {names}")
            yield Ground(abs(one.value - other.value), f"the difference of {names}")
        if percent:
            yield from _shares(one, other)
            yield from _shares(other, one)


def _shares(part: Ground, whole: Ground) -> Iterator[Ground]:
    if part.counted and part.value > whole.value:
        return
    try:
        share = part.value / whole.value * HUNDRED
    except (InvalidOperation, ZeroDivisionError):
        return
    yield Ground(share, f"{part.name} as a percentage of {whole.name}")
    if not part.counted:
        yield Ground(abs(share - HUNDRED), f"the change from {whole.name} to {part.name}")


def rests_on(stated: StatedNumber, value: Decimal) -> bool:
    """Whether a number tells this value: itself, or rounded as it is written; a fraction as a percentage too."""
    if _tells(stated, value):
        return True
    return stated.percent and abs(value) <= 1 and _tells(stated, value * HUNDRED)


def _tells(stated: StatedNumber, value: Decimal) -> bool:
    told, given = abs(stated.value), abs(value)
    if told == given:
        return True
    if given.adjusted() > LARGEST:
        return False
    step = max(stated.step, _roundness(told)) if stated.about else stated.step
    if abs(told - given) > step:
        return False  # rounding moves a number by half a step
    steps = given / step
    return any(told == steps.quantize(Decimal(1), how) * step for how in (ROUND_HALF_UP, ROUND_HALF_EVEN))


def _roundness(told: Decimal) -> Decimal:
    """How round a whole number is: 1,200 is told in hundreds."""
    digits = f"{told:f}"
    return Decimal(1).scaleb(len(digits) - len(digits.rstrip("0"))) if told and "." not in digits else Decimal(0)
