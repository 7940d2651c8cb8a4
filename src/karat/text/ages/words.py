"""Ages that a text states in words: those that can be read ("two hours ago", "vor 3 Tagen"), and those that cannot.

"Data from yesterday", "as of 2019-01-01" and "3 business days old" state an age that cannot be computed from the text,
so a check must not pass next to them unless even the oldest that they can mean is young enough. A period that a figure
is compared with is not an age: "12 commits today, 9 yesterday", "up from last week", "from Monday to Friday".
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final, NamedTuple

from karat.text.ages.foreign_days import QUICK, foreign_days
from karat.text.prose.sentences import allow_spaces
from karat.text.regexes import lazy
from karat.text.words.ages import AGE_UNITS, DATA_TAKEN, PAST_DAYS, PERHAPS, UNITS_ELSEWHERE
from karat.text.words.numbers import SMALL_NUMBERS, TEENS, TENS, any_of

_HOUR: Final = 60.0
_DAY: Final = 24 * _HOUR
_FOR_EVER: Final = float("inf")


class WordedAge(NamedTuple):
    """An age in words of the text that was looked at: its place, and how old it is at least and at most."""

    start: int
    end: int
    least: float
    most: float

    @property
    def read(self) -> bool:
        return self.least == self.most


def _compile_spaced(pattern: str) -> re.Pattern[str]:
    return lazy.pattern(allow_spaces(pattern), re.IGNORECASE)


_COUNTS: Final[dict[str, float]] = {
    **{word: count for count, word in enumerate((*SMALL_NUMBERS.entries, *TEENS.entries), start=1)},
    **{word: count for count, word in zip(range(20, 100, 10), TENS.entries, strict=True)},
    "a": 1,
    "an": 1,
    "half an": 0.5,
    "half a": 0.5,
    "a couple of": 2,
}
_UNITS: Final = {names.entries[-2]: minutes for minutes, names in AGE_UNITS} | {"quarter": 91 * _DAY}
_UNIT = rf"(?P<unit>{'|'.join(_UNITS)})s?"
_COUNT = rf"(?P<count>{'|'.join(sorted(_COUNTS, key=len, reverse=True))})"
_PAST = r"(?:ago|back|behind|earlier|late|old|outdated|overdue|stale)\b"
_COUNTED = _compile_spaced(rf"(?<![\w-]){_COUNT}(?: |-){_UNIT}(?: |-){_PAST}")
_JUST_NOW = _compile_spaced(r"\b(?:just now|(?:a )?(?:few )?(?:moments?|seconds) ago)\b")

_OTHER_UNITS: Final = dict(
    zip(("second", "minute", "hour", "day", "week", "month", "year"), UNITS_ELSEWHERE.entries, strict=True)
)
_OTHER_UNIT = "|".join(f"(?P<{unit}>{words})" for unit, words in _OTHER_UNITS.items())
_FOREIGN = _compile_spaced(
    r"(?P<lead>\b(?:vor|seit|hace|il y a|depuis|há|от)(?: (?:etwa|ca\.?|unos|environ|rund))? )?"
    r"(?<![\d.,])(?P<number>\d{1,9})[^\S\n]?"
    rf"(?:{_OTHER_UNIT})(?:(?P<tail>[^\S\n]?(?:fa|geleden|alt|назад|önce)(?!\w)|前|[^\S\n]?전)|(?![^\W\d_]))"
)
_OTHER_MEANING: Final = frozenset(("an", "ora", "ore", "mes", "minute", "minutes", "日", "年"))
"""Units that without a word of age are more often something else, or English."""

_DAY_NAME = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_DATE = (
    r"(?:\d{4}-\d{2}(?:-\d{2})?(?:t[\d:.]+z?)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{1,2}(?:st|nd|rd|th)?\.? (?:of )?"
    rf"{_MONTH}\b(?:,? \d{{4}})?|{_MONTH}\.? \d{{1,4}}(?:st|nd|rd|th)?\b(?:,? \d{{4}})?|q[1-4]\b(?: \d{{4}})?"
    r"|(?:19|20)\d\d(?![\w,.]*\d)|\d{1,2}:\d{2})"
)
_PAST_DAYS: Final = {
    name: days * _DAY for name, days in zip(PAST_DAYS.entries, (2, 3, 2, 1, 1, 7, 14, 31, 62, 190, 731), strict=True)
}
_WHEN = rf"(?P<when>{'|'.join(_PAST_DAYS)}|the other day|(?:last )?{_DAY_NAME}|(?:last )?(?:weekend|sprint)|{_DATE})"
_TAKEN = rf"(?:{'|'.join(DATA_TAKEN.entries)})"
_LINK = (
    r"(?:[^\S\n]*[:=(-]?[^\S\n]*(?:at|data|early|from|in|is|it|late|of|on|since|the|was|were)\b){0,3}"
    r"[^\S\n]*[:=(-]?[^\S\n]*"
)
_STATED = _compile_spaced(rf"\b{_TAKEN}\b{_LINK}\b{_WHEN}\b(?!'s)")
_FROM = _compile_spaced(
    rf"\b(?:from|since) (?:early |late )?{_WHEN}\b(?!'s)(?! (?:to|until|till|through)\b|[^\S\n]*-[^\S\n]*\w)"
)
_STALE_SINCE = _compile_spaced(
    r"(?:stale|unchanged|offline|outdated|frozen|not (?:been )?(?:updated|synced|refreshed|seen)"
    r"|no (?:data|sync|updates?))\Z"
)
_NO_AGE_FROM = _compile_spaced(
    r"(?:\b(?:up|down|away|apart|chang\w+|rose|rises?|fell|falls?|grew|grows?|dropp?\w*|increas\w*|decreas\w*"
    r"|improv\w*|differ\w*|more|fewer|less|recover\w*)(?: by)?(?: [\d.,%+-]+)?|\d[\d.,]*%?(?: [\w-]+){0,2})\Z"
)
_ALONE = _compile_spaced(rf"\([^\S\n]*(?P<when>{'|'.join(_PAST_DAYS)}|the other day|(?:last )?{_DAY_NAME})[^\S\n]*\)")
_OWNED = _compile_spaced(
    rf"(?<!than\s)(?<!with\s)(?<!against\s)(?<!vs\s)(?<!to\s)\b(?P<when>{'|'.join(_PAST_DAYS)}"
    rf"|(?:last )?{_DAY_NAME})'s "
    r"(?:\w+ )?(?:batch|cache|crawl|data|dump|export|feed|figures|metrics|numbers|readings|report|results"
    r"|snapshot|stats"
    r"|statistics|sync)\b"
)
_AGO = _compile_spaced(r"(?<![\w'-])(?:[\w'-]{1,30} ){0,4}(?:[\w']{1,30}-)?ago\b")
_OLD = _compile_spaced(
    r"(?<![\w'-])(?:[\w'-]{1,30} ){0,2}(?:seconds|minutes|hours|days|weeks|months|quarters|years|decades)(?: |-)old\b"
    r"|\b(?:hour|day|week|month|year)-old\b"
)
_WORKING = _compile_spaced(
    r"\b(?:\d{1,6}|one|two|three|four|five|six|seven|ten) (?:full )?"
    r"(?:banking|business|office|school|trading|week|working)(?: |-)?(?:day|hour|week)s?\b"
)
_PERHAPS = _compile_spaced(
    rf"\b(?:{any_of(PERHAPS)}) (?:about |almost |as much as |over )?"
    rf"(?:{_COUNT}|\d{{1,6}}|several|many|some) (?:{'|'.join(_UNITS)})s?\b"
)
_LARGEST: Final = {"minutes": _HOUR, "hours": _DAY, "days": 31 * _DAY, "weeks": 62 * _DAY, "months": 731 * _DAY}
_QUICK = lazy.pattern(
    rf"{any_of(PERHAPS)}|"
    r"ago\b|just now|fortnight|-old|s old|yesterday|last |this |day\b|working|business|weekend|as (?:of|at)|dated|from"
    r"|since|\d-\d|\d:\d"
    r"|(?:cach|captur|collect|crawl|export|fetch|gather|generat|import|ingest|load|measur|pull|record|retriev|sampl)ed"
    r"|sync|snapshot|taken|timestamp|fresh|\bage\b|[^\x00-\x7f]|\b(?:vor|seit|hace|il y a|ayer|ieri|hier|ontem)\b"
    r"|trading|\b(?:geleden|gestern|tage|stunden|minuten|jours|heures|horas|minutos|uur|giorni|minuti|dagen)\b"
    rf"|{QUICK}",
    re.IGNORECASE,
)


def worded_ages(seen: str, read: list[tuple[int, int]]) -> list[WordedAge]:
    """Every age in words, in order; `read` are the places of ages that were read already."""
    if not _QUICK.search(seen):
        return []
    found = [*_counted_ages(seen), *_foreign(seen)]
    taken = sorted([*read, *((age.start, age.end) for age in found)])
    return sorted([*found, *(age for age in _unread(seen) if not _overlaps(age, taken))])


def _overlaps(age: WordedAge, taken: list[tuple[int, int]]) -> bool:
    before = bisect_left(taken, (age.end, 0))
    return before > 0 and taken[before - 1][1] > age.start


def _counted_ages(seen: str) -> Iterator[WordedAge]:
    for m in _COUNTED.finditer(seen):
        minutes = _COUNTS[" ".join(m["count"].lower().split())] * _UNITS[m["unit"].lower()]
        yield WordedAge(*m.span(), minutes, minutes)
    for m in _JUST_NOW.finditer(seen):
        yield WordedAge(*m.span(), 1.0, 1.0)


def _foreign(seen: str) -> Iterator[WordedAge]:
    for m in _FOREIGN.finditer(seen):
        unit = next(unit for unit in _OTHER_UNITS if m[unit])
        minutes = int(m["number"]) * _UNITS[unit]
        if m["lead"] or m["tail"]:
            yield WordedAge(*m.span(), minutes, minutes)
        elif m[unit].lower() not in _OTHER_MEANING:
            yield WordedAge(*m.span(), 0.0, minutes)


def _unread(seen: str) -> Iterator[WordedAge]:
    for start, end in foreign_days(seen):
        yield WordedAge(start, end, 0.0, _FOR_EVER)
    for pattern in (_STATED, _ALONE, _OWNED):
        for m in pattern.finditer(seen):
            yield WordedAge(*m.span(), 0.0, _most(m))
    for m in _FROM.finditer(seen):
        before = seen[max(0, m.start() - 60) : m.start()].rstrip()
        since = m[0][:5].lower() == "since"
        if _STALE_SINCE.search(before) if since else not _NO_AGE_FROM.search(before):
            yield WordedAge(*m.span(), 0.0, _most(m))
    lower = seen.lower()
    patterns = [_AGO, _OLD, _WORKING]
    if any(word in lower for word in PERHAPS.entries):
        patterns.append(_PERHAPS)
    for pattern in patterns:
        for m in pattern.finditer(seen):
            unit = next((unit for unit in _LARGEST if unit in m[0].lower()), "")
            # A number that was not read may be of any size.
            bounded = pattern in (_AGO, _OLD) and not any(char.isdecimal() for char in m[0])
            yield WordedAge(*m.span(), 0.0, _LARGEST.get(unit, _FOR_EVER) if bounded else _FOR_EVER)


def _most(found: re.Match[str]) -> float:
    when = " ".join((found.groupdict().get("when") or "").lower().split())
    if when in _PAST_DAYS:
        return _PAST_DAYS[when]
    if when.endswith("day"):
        return 14 * _DAY
    return _DAY if ":" in when and "-" not in when else _FOR_EVER
