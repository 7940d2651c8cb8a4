"""What the numbers of an answer may rest on: what was seen, as it is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import NamedTuple

from carob.checks.page.snapshot import nodes
from carob.model.trace import Trace
from carob.text.folding import fold
from carob.text.numbers.claimed import StatedNumber, numbers_in, small_numbers_in, stated_numbers
from carob.text.regexes import lazy
from carob.text.tool_results import parse_result

MOST_SEEN = 20_000
MOST_ROWS = 50
USERS_WORDS = "the user's words"
LONGEST_OWN_WORDS = 4
USERS = ("user", "human")
SYSTEM = ("system", "developer")
_HOW_MANY = lazy.pattern(r"(?i)\b(?:how many|number of|count (?:all|my|our|the)) (?:[a-z'-]+ ){0,2}?([a-z'-]+s)\b")
_WORD = lazy.pattern(r"[a-zA-Z][a-z]+")
HUNDRED = Decimal(100)
LONGEST_LINE = 300
"""Characters of a text that is remembered among many."""
LARGEST = 25
"""Digits of the largest number that is rounded."""


class NumberSource(NamedTuple):
    """A number that something rests on, and what it is; `counted`: how many there are of something.

    `percent`: it is in hundredths already.
    """

    value: Decimal
    name: str
    counted: bool = False
    percent: bool = False


def observed_sources(
    trace: Trace, constants: Sequence[float], texts: Mapping[str, Sequence[str]]
) -> Iterator[NumberSource]:
    """Every number of the constants, the texts, the system prompt, the user's words, tool results, and the page."""
    for constant in constants:
        yield NumberSource(Decimal(repr(constant)), "a constant")
    for name, numbers in texts.items():
        yield from (NumberSource(Decimal(number), name) for number in numbers)
    for text in users_words(trace):
        yield from (NumberSource(value, USERS_WORDS) for value in (*_numbers_of(text), *small_numbers_in(text)))
    for text in _texts_by_role(trace, SYSTEM):
        yield from (NumberSource(value, "the system prompt") for value in _numbers_of(text))
    for name, result in results(trace):
        numbers_of_result: list[NumberSource] = []
        _collect(result, name, numbers_of_result)
        yield from numbers_of_result[:MOST_SEEN]
    for text in _page_texts(trace):
        yield from (NumberSource(value, "the page") for value in _numbers_of(text))


def _numbers_of(text: str) -> Sequence[Decimal]:
    """What a text holds, which is remembered: pages of one app share most lines, turns what was said before them."""
    return _of_line(text) if len(text) <= LONGEST_LINE else _of_text(text)


@lru_cache(maxsize=4096)
def _of_line(text: str) -> tuple[Decimal, ...]:
    return tuple(numbers_in(text))


@lru_cache(maxsize=16)
def _of_text(text: str) -> tuple[Decimal, ...]:
    return tuple(numbers_in(text))


def users_words(trace: Trace) -> Iterator[str]:
    """What the user said, in earlier turns too."""
    yield from (turn.input for turn in (*trace.earlier, *trace.turns, trace))
    yield from _texts_by_role(trace, USERS)


def _texts_by_role(trace: Trace, roles: Collection[str]) -> Iterator[str]:
    """What messages of these roles say, in earlier turns too, each text once."""
    turns = (*trace.earlier, *trace.turns, trace)
    yield from dict.fromkeys(message.content for turn in turns for message in turn.messages if message.role in roles)


def results(trace: Trace) -> Iterator[tuple[str, object]]:
    """The results of the calls that ran, by the name of the tool."""
    for call in (*(call for turn in trace.earlier for call in turn.tool_calls), *trace.tool_calls):
        if call.called and (call.result is not None or call.error is not None):
            yield call.name, parse_result(call.result) if call.result is not None else call.error


def _collect(value: object, name: str, sources: list[NumberSource]) -> None:
    """Add every number of a result by its place, up to a bound."""
    if len(sources) > MOST_SEEN or value is None or isinstance(value, bool):
        return
    if isinstance(value, int | float):
        sources.append(NumberSource(Decimal(repr(value)), name))
    elif isinstance(value, str):
        sources += [NumberSource(number, name) for number in _numbers_of(value)]
    elif isinstance(value, dict):
        for key, below in value.items():
            if numbers := _numbers_of(str(key)):
                sources += [NumberSource(number, name) for number in numbers]
            _collect(below, f"{name}.{key}", sources)
    elif isinstance(value, list | tuple):
        for index, below in enumerate(value):
            _collect(below, f"{name}[{index}]", sources)


def _page_texts(trace: Trace) -> Iterator[str]:
    """What the page shows next to the answer itself."""
    for node in nodes(trace.page_before or ""):
        yield from (node.name, node.text)
    answer = fold(trace.final_message) if trace.page else ""
    page_nodes = nodes(trace.page or "")
    has_log = any(node.talk for node in page_nodes)
    for node in page_nodes:
        for text in (node.name, node.text):
            if text and not node.talk and (has_log or not _is_answer(text, answer)):
                yield text


def _is_answer(text: str, answer: str) -> bool:
    """Whether a text of a page without a log of the talk may be the answer, or a part of it."""
    return answer in text or (text in answer and len(text.split()) >= LONGEST_OWN_WORDS)


def claimed_numbers(trace: Trace) -> Sequence[StatedNumber]:
    """The numbers of the answer; a small one in a word where it counts what the user asked for, or what a tool gave."""
    stated = stated_numbers(trace.final_message)
    if not any(number.counts for number in stated):
        return stated
    asked_words = (word for text in users_words(trace) for word in _HOW_MANY.findall(text))
    result_words = (word for name, result in results(trace) for key in _names(result) for word in _WORD.findall(key))
    things = {_singular(word.casefold()) for word in (*asked_words, *result_words)}
    return [number for number in stated if not number.counts or not things.isdisjoint(map(_singular, number.counts))]


def _singular(word: str) -> str:
    """An English noun without the ending of the plural."""
    return word[:-3] + "y" if word.endswith("ies") else word.removesuffix("s")


def _names(value: object) -> Iterator[str]:
    """The names of members that hold lists or numbers."""
    if isinstance(value, dict):
        for key, below in value.items():
            if isinstance(below, list | int | float):
                yield str(key)
            yield from _names(below)
    elif isinstance(value, list):
        for below in value[:MOST_ROWS]:
            yield from _names(below)


def find_first(stated: StatedNumber, sources: Iterable[NumberSource]) -> NumberSource | None:
    """The first of these that a number may state."""
    amount, step = abs(stated.value), _step(stated)
    low, high = amount - step, amount + step  # rounding moves a number by half a step
    for source in sources:
        # Most sources are far away from the number, and most numbers have many: the first look is the cheapest.
        if (stated.percent or low <= abs(source.value) <= high) and _rests_on(stated, source):
            return source
    return None


def _rests_on(stated: StatedNumber, source: NumberSource) -> bool:
    """Whether a number states this one: itself, or rounded as it is written; a fraction as a percentage too."""
    if _states(stated, source.value):
        return True
    is_fraction = stated.percent and not source.percent and abs(source.value) <= 1
    return is_fraction and _states(stated, source.value * HUNDRED)


def _states(stated: StatedNumber, value: Decimal) -> bool:
    amount, exact = abs(stated.value), abs(value)
    if amount == exact:
        return True
    if exact.adjusted() > LARGEST:
        return False
    step = _step(stated)
    if abs(amount - exact) > step:
        return False  # rounding moves a number by half a step
    steps = exact / step
    return any(amount == steps.quantize(Decimal(1), how) * step for how in (ROUND_HALF_UP, ROUND_HALF_EVEN))


def _step(stated: StatedNumber) -> Decimal:
    return max(stated.step, _roundness(abs(stated.value))) if stated.about else stated.step


def _roundness(amount: Decimal) -> Decimal:
    """How round a whole number is: 1,200 is stated in hundreds."""
    digits = f"{amount:f}"
    return Decimal(1).scaleb(len(digits) - len(digits.rstrip("0"))) if amount and "." not in digits else Decimal(0)
