"""Ages that a text states: "12m", "2 hours ago", "1h 30m".

Only ages in digits are read. A unit needs a word end: "12 mentions", "12 mb" and "12 m/s" are no ages. One-letter units
also mean other things, so "12M" and "$12m" (millions), "12m users" (a plural noun follows), "3d chart" (dimensions) and
"the 90s" are no ages. Months and years count 30 and 365 days: an old age must not go unseen beside a fresh one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from karat.text.normalise import lines, original_span_of_lines
from karat.text.offsets import Span
from karat.text.phrases import is_word_char
from karat.text.safe_regex import matched

_HOUR: Final = 60.0
_DAY: Final = 24 * _HOUR
_OLDEST: Final = 1e12
_UNITS: Final = (
    (1 / 60, "seconds|second|secs|sec|s"),
    (1.0, "minutes|minute|mins|min|m"),
    (_HOUR, "hours|hour|hrs|hr|h"),
    (_DAY, "days|day|d"),
    (7 * _DAY, "weeks|week|wks|wk|w"),
    (30 * _DAY, "months|month|mos|mo"),
    (365 * _DAY, "years|year|yrs|yr|y"),
)
_MINUTES: Final = {name: minutes for minutes, names in _UNITS for name in names.split("|")}
_NAMES = "|".join(sorted(_MINUTES, key=len, reverse=True))
_NUMBER = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?(?![0-9])|[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
_PART = re.compile(
    rf"(?<![0-9])(?<![0-9][,:/])(?P<number>{_NUMBER})(?:[^\S\n]*|-)(?P<unit>(?ai:{_NAMES}))(?![^\W\d]|/[^\W\d])"
)
_BETWEEN = re.compile(r"[^\S\n]*(?:,[^\S\n]*)?(?:and[^\S\n]+)?", re.IGNORECASE)
_MAYBE_AGE = re.compile(r"[0-9](?:[^\S\n]*|-)[smhdwySMHDWY]")
_FIRST_NUMBER = re.compile(_NUMBER)
_NEXT_WORD = re.compile(r"[^\S\n]+([^\W\d_]+)")
_NOT_NOUNS: Final = frozenset(("ago", "as", "has", "is", "its", "minus", "plus", "this", "thus", "vs", "was"))


@dataclass(frozen=True, slots=True)
class Age:
    """An age that a text states, and where."""

    minutes: float
    span: Span


def stated_ages(text: str) -> list[Age]:
    """Every age in the text, in order; parts from the larger to the smaller unit are one age ("1h 30m")."""
    seen = lines(text)
    if not _MAYBE_AGE.search(seen):
        return []
    return [
        Age(sum(map(_minutes, parts)), original_span_of_lines(text, parts[0].start(), parts[-1].end()))
        for parts in _sums(seen)
        if _stands_alone(seen, parts) and not _means_something_else(seen, parts)
    ]


def ages_by(pattern: str, text: str) -> list[Age]:
    """The ages that a suite's own regex finds: the first number of each match is minutes."""
    ages: list[Age] = []
    for found, span in matched(pattern, text, at_most=len(text) + 1):
        if number := _FIRST_NUMBER.search(found):
            ages.append(Age(_value(number[0]), span))
    return ages


def _sums(seen: str) -> Iterator[list[re.Match[str]]]:
    """Numbers with a unit, those that make one age together."""
    parts: list[re.Match[str]] = []
    for part in _PART.finditer(seen):
        if parts and not (_unit(part) < _unit(parts[-1]) and _BETWEEN.fullmatch(seen, parts[-1].end(), part.start())):
            yield parts
            parts = []
        parts.append(part)
    if parts:
        yield parts


def _unit(part: re.Match[str]) -> float:
    return _MINUTES[part["unit"].lower()]


def _minutes(part: re.Match[str]) -> float:
    return min(_value(part["number"]) * _unit(part), _OLDEST)


def _value(number: str) -> float:
    return min(float(number.replace(",", "")), _OLDEST)


def _stands_alone(seen: str, parts: list[re.Match[str]]) -> bool:
    start, end = parts[0].start(), parts[-1].end()
    before, after = seen[max(start - 1, 0) : start], seen[end : end + 1]
    return not (before == "." or is_word_char(before or " ") or is_word_char(after or " "))


def _means_something_else(seen: str, parts: list[re.Match[str]]) -> bool:
    """Whether a one-letter unit at the end is no unit of time."""
    start, end = parts[0].start(), parts[-1].end()
    number, unit = parts[-1]["number"], parts[-1]["unit"]
    if len(unit) > 1:
        return False
    word = _NEXT_WORD.match(seen, end)
    follower = word[1].lower() if word else ""
    return (
        unit == "M"
        or seen[start - 1 : start] in ("$", "€", "£", "¥")
        or (unit in "dD" and number in ("2", "3") and (unit == "D" or follower not in ("", *_NOT_NOUNS, "old")))
        or (unit == "s" and number.endswith("0") and seen[max(start - 4, 0) : start].lower() == "the ")
        or (follower.endswith("s") and follower not in _NOT_NOUNS)
    )
