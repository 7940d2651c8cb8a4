"""Ages that a text states: "12m", "2 hours ago", "1h 30m".

Only ages in digits are read, those of every script. A unit needs a word end: "12 mentions", "12 mb" and "12 m/s" are no
ages. Months and years count 30 and 365 days: an old age must not go unseen beside a fresh one.

One-letter units also mean other things, so "12M" and "$12m" (millions), "12m users", "3d chart" (dimensions) and "the
90s" are no ages, unless the next word says so: "3D stale". Where that is open ("12m sources", "4h15", "12m long"), the
age is doubtful: it may count against an answer, never for it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from unicodedata import digit

from karat.text.folding import lines, original_span_of_lines
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
_COMMA_FRACTION = r"[0-9]+,[0-9]{1,2}(?![0-9])"
# A unit in the next line is written out; digits behind an h are minutes.
_PART = re.compile(
    rf"(?<![0-9])(?<![0-9][,:/])(?:(?P<number>{_NUMBER})|(?P<comma>{_COMMA_FRACTION}))"
    rf"(?P<gap>[^\S\n]*(?:\n[^\S\n]*(?=[a-z][a-z]))?|-)(?P<unit>(?ai:{_NAMES}))"
    r"(?P<rest>(?<=[hH])[0-5][0-9](?!\w|[.,:][0-9]))?(?:(?=(?i:ago)(?!\w))|(?![^\W\d]|/[^\W\d]))"
)
_BETWEEN = re.compile(r"[^\S\n]*(?:,[^\S\n]*)?(?:and[^\S\n]+)?", re.IGNORECASE)
_MAYBE_AGE = re.compile(r"[0-9](?:\s*|-)[smhdwySMHDWY]")
_FIRST_NUMBER = re.compile(_NUMBER)
_FOREIGN_DIGIT = re.compile(r"(?![0-9])\d")
_WIDE_LETTERS: Final = {code: code - 0xFEE0 for code in (*range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))}
_NEXT_WORD = re.compile(r"(?:[^\S\n]+|-)([^\W\d_]+)")
_IS_OLD = re.compile(r"(?:[^\S\n]{1,2}|\n(?=[a-z])|[^\S\n]?[(*-])?[(*]*(?i:ago|old|outdated|overdue|stale)\b")
_IS_LATE = re.compile(
    r"[\s-][(*]*(?:back|before|behind|delayed|earlier|lag\w*|late|out of date|past|since|without)\b", re.IGNORECASE
)
_AGED = re.compile(
    r"\b(?:aged?|behind|fetched|lag\w*|old|since|stale|sync\w*|refresh\w*|updated)\b(?:[^\S\n]*[:=(-])?[^\S\n]+(?:\w+[^\S\n]+)?\Z",
    re.IGNORECASE,
)
_AT = re.compile(r"\b(?:at|by|from|until|à)[^\S\n]+\Z", re.IGNORECASE)
_LOOK_BACK: Final = 40


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NOT_NOUNS = _words(
    "across afterwards ago always as besides does has hers his is its less minus ours perhaps plus regardless sometimes"
    " theirs this thus towards unless us vs was yes yours"
)
_LINKS = _NOT_NOUNS | _words("and are at but by for from in now of on or so the to until were while with")
_COUNTED = _words(
    "accounts arr budget calls children clients customers devices documents dollars downloads euros events files"
    " funding hits impressions installs items lines members men messages orders parameters people players pounds"
    " queries records requests revenue rows sales sessions subscribers tokens transactions units users views"
    " visitors visits women"
)
_MEASURED = _words("above away below dash deep high long race run sprint tall walk wide")
_SHAPES = _words(
    "animation array chart design engine film game graph graphics image map matrix mesh model modeling modelling object"
    " plot print printed printer printing render rendering scan scanner scene shape space vector view visualisation"
    " visualization world"
)


@dataclass(frozen=True, slots=True)
class Age:
    """An age that a text states, and where."""

    minutes: float
    span: Span


def stated_ages(text: str) -> list[Age]:
    """Every age in the text, in order; parts from the larger to the smaller unit are one age ("1h 30m")."""
    return list(_read(text)[0])


def doubtful_ages(text: str) -> list[Age]:
    """What may be an age or something else, in order."""
    return list(_read(text)[1])


@lru_cache(maxsize=8)
def _read(text: str) -> tuple[list[Age], list[Age]]:
    """The ages that are stated, and the doubtful ones."""
    ages: tuple[list[Age], list[Age]] = ([], [])
    seen = _with_ascii_digits(lines(text))
    if not _MAYBE_AGE.search(seen):
        return ages
    for parts in _sums(seen):
        sure = _is_sure(seen, parts) if _stands_alone(seen, parts) else None
        if sure is not None:
            span = original_span_of_lines(text, parts[0].start(), parts[-1].end())
            ages[not sure].append(Age(sum(map(_minutes, parts)), span))
    return ages


def _with_ascii_digits(seen: str) -> str:
    if seen.isascii():
        return seen
    return _FOREIGN_DIGIT.sub(lambda found: str(digit(found[0])), seen.translate(_WIDE_LETTERS))


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
    value = _value(part["number"]) if part["number"] else float(part["comma"].replace(",", "."))
    return min(value * _unit(part) + int(part["rest"] or 0), _OLDEST)


def _value(number: str) -> float:
    return min(float(number.replace(",", "")), _OLDEST)


def _stands_alone(seen: str, parts: list[re.Match[str]]) -> bool:
    start, end = parts[0].start(), parts[-1].end()
    before, after = seen[max(start - 1, 0) : start], seen[end : end + 1]
    if before == "." or is_word_char(before or " "):
        return False
    return not is_word_char(after or " ") or (parts[-1]["gap"] == "" and _IS_OLD.match(seen, end) is not None)


def _is_sure(seen: str, parts: list[re.Match[str]]) -> bool | None:
    """Whether the parts say a time, or may say one; None if they do not."""
    start, end, last = parts[0].start(), parts[-1].end(), parts[-1]
    short = len(last["unit"]) == 1
    if short and (seen[start - 1 : start] in ("$", "€", "£", "¥") or _is_decade(seen, last)):
        return None
    if _IS_OLD.match(seen, end):
        return True
    if last["rest"]:
        # Up to 23h59 it may be a time of day.
        return None if _precedes(_AT, seen, start) else sum(map(_minutes, parts)) >= _DAY
    if any(part["comma"] or "\n" in part["gap"] for part in parts):
        return False
    return _is_sure_letter(seen, last, start) if short else True


def _is_sure_letter(seen: str, part: re.Match[str], start: int) -> bool | None:
    """Whether a one-letter unit is one of time."""
    unit, late = part["unit"], _IS_LATE.match(seen, part.end())
    word = _NEXT_WORD.match(seen, part.end())
    follower = word[1].lower() if word else ""
    dimensions = unit in "dD" and part["number"] in ("2", "3")
    if unit == "M" or (unit == "D" and dimensions):
        open_ = late or (_precedes(_AGED, seen, start) and follower not in _COUNTED | _SHAPES)
        return False if open_ else None
    if late:
        return True
    if dimensions and follower and follower not in _LINKS:
        return None if follower in _SHAPES else False
    if dimensions and seen[max(start - 4, 0) : start].lower() in (" in ", "in "):
        return False
    if unit == "m" and follower in _COUNTED:
        return None
    return not (unit == "m" and follower in _MEASURED) and (not follower.endswith("s") or follower in _LINKS)


def _is_decade(seen: str, part: re.Match[str]) -> bool:
    start = part.start()
    return (
        part["unit"] == "s" and (part["number"] or "")[-1:] == "0" and seen[max(start - 4, 0) : start].lower() == "the "
    )


def _precedes(pattern: re.Pattern[str], seen: str, start: int) -> bool:
    return pattern.search(seen, max(0, start - _LOOK_BACK), start) is not None
