"""Ages that a text states: "12m", "2 hours ago", "1h 30m", and in words "two hours ago".

Digits of every script are read. A unit needs a word end: "12 mentions", "12 mb" and "12 m/s" are no
ages. Months and years count 30 and 365 days: an old age must not go unseen next to a fresh one.

One-letter units also mean other things, so "12M" and "$12m" (millions), "12m users", "3d chart" (dimensions) and "the
90s" are not ages, unless the next word says so: "3D stale". Where that is open ("12m sources", "4h15", "12m long"), the
age is doubtful: it may count against an answer, never for it. So is an age in words that cannot be read.

"More than 30 minutes" is that age, and may be an older one. Durations of ISO 8601 (`PT15M`) are ages where a word says
so, and doubtful elsewhere.

A future and a length are not ages: "in 5 minutes", "lasts 30 minutes", "a 30-minute meeting", "the last 7 days".
Neither is what no reader sees.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final
from unicodedata import digit

from msgspec import Struct

from carob.text.ages.words import UNIT_MINUTES, worded_ages
from carob.text.characters import is_word_char
from carob.text.folding import Span, lines, original_span_of_lines
from carob.text.regexes import lazy
from carob.text.regexes.safe_regex import find_seen
from carob.text.views import rendered_view
from carob.text.words import PUBLISHED, alternatives

_HOUR: Final = 60.0
_DAY: Final = 24 * _HOUR
_OLDEST: Final = 1e12
_MINUTES: Final = {word: minutes for unit, minutes in UNIT_MINUTES.items() for word in PUBLISHED.entries(f"age_{unit}")}
_NAMES = "|".join(sorted(_MINUTES, key=len, reverse=True))
_NUMBER = r"(?:[0-9]{1,3}(?:(?:,[0-9]{3})+|(?: [0-9]{3})+)(?:\.[0-9]+)?(?![0-9])|[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
_TIMES: Final = {"k": 1e3, "hundred": 1e2, "thousand": 1e3, "million": 1e6, "dozen": 12}
"""Magnitudes between a number and its unit."""
_TIMED = rf"(?:k|[^\S\n]{{1,3}}(?:{'|'.join(word for word in _TIMES if word != 'k')}))(?=[^\S\n]*[a-z])"
_COMMA_FRACTION = r"[0-9]+,[0-9]{1,2}(?![0-9])"
# A unit in the next line is written out; digits after an h are minutes.
_PART = lazy.pattern(
    rf"(?=[.0-9])(?<![0-9])(?<![0-9][,:/])(?:(?P<number>{_NUMBER})|(?P<comma>{_COMMA_FRACTION}))"
    rf"(?P<times>(?i:{_TIMED}))?(?P<gap>[^\S\n]*(?:\n[^\S\n]*(?=[a-z][a-z]))?|-)(?P<unit>(?ai:{_NAMES}))"
    r"(?P<rest>(?<=[hH])[0-5][0-9](?!\w|[.,:][0-9]))?(?:(?=(?i:ago)(?!\w))|(?![^\W\d]|/[^\W\d]))"
)
_BETWEEN = lazy.pattern(r"(?i)[^\S\n]*(?:,[^\S\n]*)?(?:and[^\S\n]+)?")
_MAYBE_AGE = lazy.pattern(r"[0-9](?:\s*|-)[kmsthdwyfKMSTHDWYF]")
_ISO_PARTS: Final = (("y", 365 * _DAY), ("mo", 30 * _DAY), ("w", 7 * _DAY), ("d", _DAY))
_ISO_TIMES: Final = (("h", _HOUR), ("m", 1.0), ("s", 1 / 60))


def _iso(parts: tuple[tuple[str, float], ...]) -> str:
    return "".join(rf"(?:(?P<{name}>[0-9]+(?:\.[0-9]+)?){name[0].upper()})?" for name, _ in parts)


_ISO = lazy.pattern(rf"(?<![\w.-])P(?=T?[0-9]){_iso(_ISO_PARTS)}(?:T(?=[0-9]){_iso(_ISO_TIMES)})?(?![\w-])")
"""A duration of ISO 8601: P3D, PT15M."""
_ISO_AGE = lazy.pattern(
    r"(?i)\b(?:ages?|aged|freshness|lag|staleness)\b[^\S\n]*(?:is|of|was)?[^\S\n]*[:=(-]?[^\S\n]*\Z"
)
_FIRST_NUMBER = lazy.pattern(_NUMBER)
_UNIT_OF = lazy.pattern(rf"(?i)(?:{_TIMED})?(?:[^\S\n]*|-)(?P<unit>{_NAMES})(?![^\W\d])")
_MAY_BE_OLDER = lazy.pattern(rf"(?i)(?<!\w)(?:{alternatives('may_be_older')})[^\S\n]*\Z")
_OR_OLDER = lazy.pattern(rf"(?i)[^\S\n]*(?:{alternatives('or_older')})(?!\w)")
_FOREIGN_DIGIT = lazy.pattern(r"(?![0-9])\d")
_WIDE_LETTERS: Final = {code: code - 0xFEE0 for code in (*range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))}
_NEXT_WORD = lazy.pattern(r"(?:[^\S\n]+|-)([^\W\d_]+)")
_IS_OLD = lazy.pattern(r"(?:[^\S\n]{1,2}|\n(?=[a-z])|[^\S\n]?[(*-])?[(*]*(?i:ago|old|outdated|overdue|stale)\b")
_IS_LATE = lazy.pattern(
    r"(?i)[\s-][(*]*(?:back|before|behind|delay\w*|earlier|lag\w*|late|out of date|past|since|without)\b"
)
_AGED = lazy.pattern(
    r"(?i)\b(?:aged?|behind|fetched|lag\w*|old|since|stale|sync\w*|refresh\w*|updated)\b(?:[^\S\n]*[:=(-])?[^\S\n]+(?:\w+[^\S\n]+)?\Z"
)
_SPAN_AFTER = lazy.pattern(
    r"(?i)(?:[^\S\n]+|-)(?:ahead|at most|at least|away|break|call|duration|each|from now|interval|later|left|limit|long"
    r"|maximum|max|meeting|notice|of[^\S\n]+(?!age\b|lag\b|delay\b)\w+|or (?:less|more)|per|period|plan|read"
    r"|remaining|retention|runtime"
    r"|session|sprint|timeout|to go|trial|uptime|video|window)\b"
)
_NOT_TAKEN = lazy.pattern(
    r"(?i)\b(?:stale|outdated|unchanged|offline|out of date|expired|behind|lagging|frozen|unsynced|silent"
    r"|(?:no|without)(?:[^\S\n]+\w+)?[^\S\n]+(?:contact|data|heartbeat|refresh\w*|reports?|signals?|sync\w*|updates?)"
    r"|(?:not|n't|never|last|been|was|were|is|are)(?:[^\S\n]+\w+){0,2}[^\S\n]+"
    r"(?:changed|fetched|loaded|pulled|refreshed|reported|responded|seen|synced|updated)|(?:fetched|pulled|refreshed|synced|updated))\b[^.,;\n\d]{0,30}\Z"
)
_TO_COME = lazy.pattern(r"(?i)\b(?:will|next|every|each|shall|'ll|going to)\b[^.;\n]{0,40}\Z")
_AT = lazy.pattern(r"(?i)\b(?:at|by|from|until|à)[^\S\n]+\Z")
_LOOK_BACK: Final = 60


_LENGTHS, _COUNTED, _SHAPES = map(frozenset, map(PUBLISHED.entries, ("lengths", "counted_nouns", "shapes")))
_LASTING = frozenset(PUBLISHED.entries("lasting"))
_FILLERS, _PERIODS, _MEASURED = map(PUBLISHED.entries, ("age_fillers", "span_words", "measured"))
_SPAN_WORDS = frozenset((*_PERIODS, *_LASTING))
_LINKS = frozenset((*PUBLISHED.entries("no_nouns"), *PUBLISHED.entries("age_links")))


class Age(Struct, frozen=True):
    """An age that a text states, and where; one in words that cannot be read is as old as it can be."""

    minutes: float
    span: Span
    in_words: bool = False


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
    view = rendered_view(text)
    rendered = _with_ascii_digits(lines(view.text))

    def add(minutes: float, start: int, end: int, sure: bool, in_words: bool = False) -> None:
        span = view.span(*original_span_of_lines(view.text, start, end))
        ages[not sure].append(Age(minutes, span, in_words))

    spans: list[Span] = []
    for parts in _sums(rendered) if _MAYBE_AGE.search(rendered) else ():
        start, end = parts[0].start(), parts[-1].end()
        sure = _is_sure(rendered, parts) if _is_alone(rendered, parts) else None
        if sure is not None:
            add(sum(map(_minutes, parts)), start, end, sure)
            old = _IS_OLD.match(rendered, end)
            end = old.end() if old else end
            if _precedes(_MAY_BE_OLDER, rendered, start) or _OR_OLDER.match(rendered, end):
                add(_OLDEST, start, end, sure=False, in_words=True)
            spans.append((start, end))
    for duration in _ISO.finditer(rendered) if "P" in rendered else ():
        aged = _precedes(_ISO_AGE, rendered, duration.start()) or _IS_OLD.match(rendered, duration.end()) is not None
        if aged or not _find_span_word(rendered, duration.start()):
            add(_of_duration(duration), *duration.span(), aged, in_words=not aged)
        spans.append(duration.span())
    for age in worded_ages(rendered, spans):
        add(age.most, age.start, age.end, age.is_exact, in_words=True)
    return ages


def _with_ascii_digits(text: str) -> str:
    if text.isascii():
        return text
    return _FOREIGN_DIGIT.sub(lambda char: str(digit(char[0])), text.translate(_WIDE_LETTERS))


def ages_by(pattern: str, text: str) -> list[Age]:
    """The ages that a suite's own regex finds: the first number of each match is minutes, unless a unit follows it."""
    ages: list[Age] = []
    for match, span in find_seen(pattern, text, at_most=len(text) + 1):
        if duration := _ISO.search(match):
            ages.append(Age(_of_duration(duration), span))
        elif number := _FIRST_NUMBER.search(match):
            # A match may end before the unit: "age 5" of "age 5 hours".
            if number.end() == len(match):
                match += lines(text[span[1] : span[1] + _LOOK_BACK])
            unit = _UNIT_OF.match(match, number.end())
            times = _times(match[number.end() : unit.start("unit")]) if unit else 1
            ages.append(Age(_value(number[0]) * times * (_MINUTES[unit["unit"].lower()] if unit else 1), span))
    return ages


def _times(magnitude: str) -> float:
    return _TIMES.get(magnitude.strip(" -\t").lower(), 1)


def _of_duration(duration: re.Match[str]) -> float:
    parts = ((duration[name], minutes) for name, minutes in (*_ISO_PARTS, *_ISO_TIMES))
    return min(sum(float(number) * minutes for number, minutes in parts if number), _OLDEST)


def _sums(text: str) -> Iterator[list[re.Match[str]]]:
    """Numbers with a unit, those that make one age together."""
    parts: list[re.Match[str]] = []
    for part in _PART.finditer(text):
        if parts and not (_unit(part) < _unit(parts[-1]) and _BETWEEN.fullmatch(text, parts[-1].end(), part.start())):
            yield parts
            parts = []
        parts.append(part)
    if parts:
        yield parts


def _unit(part: re.Match[str]) -> float:
    return _MINUTES[part["unit"].lower()]


def _minutes(part: re.Match[str]) -> float:
    value = _value(part["number"]) if part["number"] else float(part["comma"].replace(",", "."))
    return min(value * _times(part["times"] or "") * _unit(part) + int(part["rest"] or 0), _OLDEST)


def _value(number: str) -> float:
    return min(float(number.replace(",", "").replace(" ", "")), _OLDEST)


def _is_alone(text: str, parts: list[re.Match[str]]) -> bool:
    start, end = parts[0].start(), parts[-1].end()
    before, after = text[max(start - 1, 0) : start], text[end : end + 1]
    if before == "." or is_word_char(before or " "):
        return False
    return not is_word_char(after or " ") or (parts[-1]["gap"] == "" and _IS_OLD.match(text, end) is not None)


def _is_sure(text: str, parts: list[re.Match[str]]) -> bool | None:
    """Whether the parts say a time, or may say one; None if they do not."""
    start, end, last = parts[0].start(), parts[-1].end(), parts[-1]
    short = len(last["unit"]) == 1
    if short and (text[start - 1 : start] in ("$", "€", "£", "¥") or _is_decade(text, last)):
        return None
    if _IS_OLD.match(text, end):
        return True
    if _is_length(text, parts):
        return None
    if last["rest"]:
        # Up to 23h59 it may be a time of day.
        return None if _precedes(_AT, text, start) else sum(map(_minutes, parts)) >= _DAY
    if any(part["comma"] or "\n" in part["gap"] for part in parts):
        return False
    return _is_sure_letter(text, last, start) if short else True


def _is_length(text: str, parts: list[re.Match[str]]) -> bool:
    """Whether a time is one to come or a length, unless it says for how long nothing new came."""
    start, end, last = parts[0].start(), parts[-1].end(), parts[-1]
    if _IS_LATE.match(text, end):
        return False
    if last["gap"] == "-" and last["unit"][-1:] not in "sS" and _NEXT_WORD.match(text, end):
        return True
    if _SPAN_AFTER.match(text, end):
        return True
    span_word = _find_span_word(text, start)
    if not span_word or span_word in _LASTING:
        return bool(span_word)
    return _precedes(_TO_COME, text, start) or not _precedes(_NOT_TAKEN, text, start)


def _find_span_word(text: str, start: int) -> str:
    """The word before a time that makes it a duration, or puts it in the future."""
    words = [word.strip(":=~(") for word in text[max(0, start - 40) : start].rpartition("\n")[2].lower().split()]
    while words and words[-1] in ("", *_FILLERS):
        words.pop()
    if len(words) > 1 and words[-1] in ("of", "is", "was"):
        return words[-2] if words[-2] in _LENGTHS else ""
    makes_span = words and (words[-1] in _SPAN_WORDS or words[-1] in _LENGTHS or words[-2:] == ["up", "to"])
    return words[-1] if makes_span else ""


def _is_sure_letter(text: str, part: re.Match[str], start: int) -> bool | None:
    """Whether a one-letter unit is one of time."""
    unit, late = part["unit"], _IS_LATE.match(text, part.end())
    word = _NEXT_WORD.match(text, part.end())
    follower = word[1].lower() if word else ""
    dimensions = unit in "dD" and part["number"] in ("2", "3")
    if unit == "M" or (unit == "D" and dimensions):
        aged = late or (_precedes(_AGED, text, start) and follower not in _COUNTED | _SHAPES)
        return False if aged else None
    if late:
        return True
    return _is_sure_dimension(text, start, follower) if dimensions else _is_sure_before(unit, follower)


def _is_sure_dimension(text: str, start: int, follower: str) -> bool | None:
    """Whether "2d" and "3d" are days."""
    if follower and follower not in _LINKS:
        return None if follower in _SHAPES else False
    return text[max(start - 4, 0) : start].lower() not in (" in ", "in ")


def _is_sure_before(unit: str, follower: str) -> bool | None:
    """Whether a letter is a unit of time before this word: "5m users" counts, "5m wide" measures."""
    if unit == "m" and (follower in _COUNTED or follower in _MEASURED):
        return None if follower in _COUNTED else False
    return not follower.endswith("s") or follower in _LINKS


def _is_decade(text: str, part: re.Match[str]) -> bool:
    start = part.start()
    return (
        part["unit"] == "s" and (part["number"] or "")[-1:] == "0" and text[max(start - 4, 0) : start].lower() == "the "
    )


def _precedes(pattern: re.Pattern[str], text: str, start: int) -> bool:
    return pattern.search(text, max(0, start - _LOOK_BACK), start) is not None
