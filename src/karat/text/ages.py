"""Ages that a text states: "12m", "2 hours ago", "1h 30m".

Only ages in digits are read. A unit needs a word end: "12 mentions", "12 mb" and "12 m/s" are no ages. One-letter units
also mean other things, so "12M" and "$12m" (millions), "12m users" (a plural noun follows), "3d chart" (dimensions) and
"the 90s" are no ages. Months and years count 30 and 365 days: an old age must not go unseen beside a fresh one.
"""

import re
from dataclasses import dataclass
from typing import Final

from karat.text.normalise import lines, original_span_of_lines
from karat.text.offsets import Span
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
_PART = rf"{_NUMBER}(?:[^\S\n]*|-)(?:{_NAMES})"
_BETWEEN = r"(?:[^\S\n]*(?:,[^\S\n]*)?(?:and[^\S\n]+)?)"
_AGE = re.compile(
    rf"(?<![\w.])(?<![0-9][,:/]){_PART}(?:{_BETWEEN}{_PART})*(?![^\W_]|_|/[^\W\d])",
    re.IGNORECASE,
)
_MAYBE_AGE = re.compile(r"[0-9](?:[^\S\n]*|-)[smhdwy]", re.IGNORECASE)
_SPLIT = re.compile(rf"(?P<number>{_NUMBER})(?:[^\S\n]*|-)(?P<unit>{_NAMES})(?![^\W\d_])", re.IGNORECASE)
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
    ages: list[Age] = []
    for match in _AGE.finditer(seen):
        if _means_something_else(seen, match):
            continue
        ages.extend(Age(minutes, original_span_of_lines(text, *span)) for minutes, span in _sums(match))
    return ages


def ages_by(pattern: str, text: str) -> list[Age]:
    """The ages that a suite's own regex finds: the first number of each match is minutes."""
    ages: list[Age] = []
    for found, span in matched(pattern, text):
        if number := _FIRST_NUMBER.search(found):
            ages.append(Age(_value(number[0]), span))
    return ages


def _sums(match: re.Match[str]) -> list[tuple[float, Span]]:
    sums: list[tuple[float, Span]] = []
    smallest = 0.0
    for part in _SPLIT.finditer(match.string, *match.span()):
        unit = _MINUTES[part["unit"].lower()]
        minutes = min(_value(part["number"]) * unit, _OLDEST)
        if unit < smallest:
            total, (start, _) = sums.pop()
            sums.append((total + minutes, (start, part.end())))
        else:
            sums.append((minutes, part.span()))
        smallest = unit
    return sums


def _value(number: str) -> float:
    return min(float(number.replace(",", "")), _OLDEST)


def _means_something_else(seen: str, match: re.Match[str]) -> bool:
    start, end = match.span()
    if not seen[end - 2 : end - 1].isalpha():
        unit = seen[end - 1]
        number = seen[start : end - 1].rstrip(" -")
        word = _NEXT_WORD.match(seen, end)
        follower = word[1].lower() if word else ""
        return (
            unit == "M"
            or seen[start - 1 : start] in ("$", "€", "£", "¥")
            or (unit in "dD" and number in ("2", "3") and (unit == "D" or follower not in ("", *_NOT_NOUNS, "old")))
            or (unit == "s" and number.endswith("0") and seen[max(start - 4, 0) : start].lower() == "the ")
            or (follower.endswith("s") and follower not in _NOT_NOUNS)
        )
    return False
