"""Ages that a text states in words: those that can be read ("two hours ago", "vor 3 Tagen"), and those that cannot.

"Data from yesterday", "Stand: gestern" and "3 business days old" state an age that cannot be computed from the text,
so a check must not pass next to them unless even the oldest that they can mean is young enough. A period that a figure
is compared with is not an age: "12 commits today, 9 yesterday", "mehr als gestern", "from Monday to Friday".
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from carob.text.folding import Span
from carob.text.numbers.tokens import NUMBER_WORDS
from carob.text.regexes import lazy
from carob.text.words import PUBLISHED

_HOUR: Final = 60.0
_DAY: Final = 24 * _HOUR
_FOR_EVER: Final = float("inf")
_REACH: Final = 60
"""So much before an age is looked at."""


class WordedAge(NamedTuple):
    """An age in words of the text that was looked at: its place, and how old it is at least and at most."""

    start: int
    end: int
    least: float
    most: float

    @property
    def is_exact(self) -> bool:
        return self.least == self.most


def _compile_spaced(pattern: str) -> re.Pattern[str]:
    """A pattern in which a blank means white space within a line."""
    return lazy.pattern(pattern.replace(" ", r"[^\S\n]+"), re.IGNORECASE)


def _any(name: str) -> str:
    """A pattern for one of the regexes of a word list."""
    return "|".join(PUBLISHED.entries(name))


_PARTS: Final = {"a quarter": 0.25, "a third": 1 / 3, "half": 0.5, "two thirds": 2 / 3, "three quarters": 0.75}
_COUNTS: Final[dict[str, float]] = {
    **NUMBER_WORDS,
    **{f"{part} of {article}": share for part, share in _PARTS.items() for article in ("a", "an")},
    "a": 1,
    "an": 1,
    "half an": 0.5,
    "half a": 0.5,
    "a quarter": 0.25,
    "a couple of": 2,
}
UNIT_MINUTES: Final = {
    "seconds": 1 / 60,
    "minutes": 1.0,
    "hours": _HOUR,
    "days": _DAY,
    "weeks": 7 * _DAY,
    "fortnights": 14 * _DAY,
    "months": 30 * _DAY,
    "years": 365 * _DAY,
    "decades": 3650 * _DAY,
}
_UNITS: Final = {name.removesuffix("s"): minutes for name, minutes in UNIT_MINUTES.items()} | {"quarter": 91 * _DAY}
_UNIT = rf"(?P<unit>{'|'.join(_UNITS)})s?"
_COUNT = rf"(?P<count>{'|'.join(sorted(_COUNTS, key=len, reverse=True))})"
_PAST: Final = ("ago", "back", "behind", "earlier", "late", "old", "outdated", "overdue", "stale")
_IS_PAST = rf"(?: |-)(?:{'|'.join(_PAST)})\b"
_LARGER = rf"(?P<more>{'|'.join(_COUNTS)}) (?P<larger>{'|'.join(_UNITS)})s?"
_COUNTED = _compile_spaced(
    rf"\b(?=[a-z])(?<!-)(?:{_LARGER}(?:,| and|, and) )?"
    rf"{_COUNT}(?P<half> and a half)?(?: |-){_UNIT}(?P<rest> and a half)?{_IS_PAST}"
)
_AND_MORE = _compile_spaced(rf"\b(?=[a-z])(?<!-){_LARGER},? and(?= \d[\d.,]*(?: |-)?[a-z]+{_IS_PAST})")
"""An hour and 20 minutes ago: the 20 minutes are read by themselves."""
_JUST_NOW = _compile_spaced(r"\b(?=[afjms])(?:just now|(?:a )?(?:few )?(?:moments?|seconds) ago)\b")

_OTHER_UNITS: Final = dict(
    zip(
        ("second", "minute", "hour", "day", "week", "month", "year"),
        PUBLISHED.entries("age_units_elsewhere"),
        strict=True,
    )
)
_OTHER_UNIT = "|".join(f"(?P<{unit}>{words})" for unit, words in _OTHER_UNITS.items())
_LEAD = _compile_spaced(r"\b(?:vor|seit|hace|il y a|depuis|há|от)(?: (?:etwa|ca\.?|unos|environ|rund))? \Z")
_FOREIGN = _compile_spaced(
    rf"\d(?<![\d.,]\d)\d{{0,8}}[^\S\n]?(?:{_OTHER_UNIT})"
    r"(?:(?P<tail>[^\S\n]?(?:fa|geleden|alt|назад|önce)(?!\w)|前|[^\S\n]?전)|(?![^\W\d_]))"
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
    name: days * _DAY
    for name, days in zip(PUBLISHED.entries("past_days"), (2, 3, 2, 1, 1, 7, 14, 31, 62, 190, 731), strict=True)
}
_DAY_GONE = rf"{'|'.join(_PAST_DAYS)}|(?:last )?{_DAY_NAME}"
_WHEN = rf"(?P<when>{_DAY_GONE}|the other day|(?:last )?(?:weekend|sprint)|{_DATE})"
_LINK = (
    r"(?:[^\S\n]*[:=(-]?[^\S\n]*(?:at|data|early|from|in|is|it|late|of|on|since|the|was|were)\b){0,3}"
    r"[^\S\n]*[:=(-]?[^\S\n]*"
)
_STATED = _compile_spaced(
    rf"\b{lazy.begins(PUBLISHED.entries('data_taken'))}(?:{_any('data_taken')})\b{_LINK}\b{_WHEN}\b(?!'s)"
)
_ALONE = _compile_spaced(rf"\([^\S\n]*(?P<when>{_DAY_GONE}|the other day)[^\S\n]*\)")
_OWNED = _compile_spaced(
    rf"\b(?=[a-z])(?<!than\s)(?<!with\s)(?<!against\s)(?<!vs\s)(?<!to\s)(?P<when>{_DAY_GONE})'s "
    r"(?:\w+ )?(?:batch|cache|crawl|data|dump|export|feed|figures|metrics|numbers|readings|report|results"
    r"|snapshot|stats|statistics|sync)\b"
)
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
_AGO = _compile_spaced(r"(?<![\w'-])(?:[\w'-]{1,30} ){0,4}(?:[\w']{1,30}-)?ago\b")
_OLD = _compile_spaced(
    r"(?<![\w'-])(?:[\w'-]{1,30} ){0,2}(?:seconds|minutes|hours|days|weeks|months|quarters|years|decades)(?: |-)old\b"
    r"|\b(?:hour|day|week|month|year)-old\b"
)
_WORK: Final = ("banking", "business", "office", "school", "trading", "week", "working")
_WORKING = _compile_spaced(
    r"\b(?:\d{1,6}|one|two|three|four|five|six|seven|ten) (?:full )?"
    rf"(?:{'|'.join(_WORK)})(?: |-)?(?:day|hour|week)s?\b"
)
_PERHAPS = _compile_spaced(
    rf"\b(?:{_any('perhaps_older')}) (?:about |almost |as much as |over )?"
    rf"(?:{_COUNT}|\d{{1,6}}|several|many|some) (?:{'|'.join(_UNITS)})s?\b"
)
_LARGEST: Final = {"minutes": _HOUR, "hours": _DAY, "days": 31 * _DAY, "weeks": 62 * _DAY, "months": 731 * _DAY}

_STATE = rf"\b(?:{_any('data_elsewhere')})(?:[^\S\n]*[:=(-])?[^\S\n]*"
_AS_OF = _compile_spaced(
    rf"{_STATE}(?:{_any('weekdays_elsewhere')}|hier)\b"
    r"(?! (?:bis|à|au|a|al|hasta|tot|t/m)\b|[^\S\n]*-[^\S\n]*\w)"
)
_IS_STATE = _compile_spaced(rf"{_STATE}(?:d(?:er|em|ie)|la|le|el|l')?[^\S\n]*\Z")
_JOINED = lazy.pattern(_any("joined_days_gone"))
_GONE = _compile_spaced(rf"(?<![\w-])(?:{_any('days_gone_elsewhere')})(?![\w-])")
_GONE_WORDS: Final = (
    *("gestern", "gister", "ayer", "anoche", "ieri", "ontem", "hier", "går", "eilen", "wczoraj", "včera", "dün"),
    *("вчера", "учора", "letzte", "vorig", "vergangene", "pasad", "passad", "passé", "derni", "scors", "прошл"),
)
_COMPARED = _compile_spaced(
    r"(?:\b(?:als|gegenüber|im vergleich zu|wie|que|par rapport à|frente a|comparad[oa] con|rispetto a|dan|чем"
    r"|vs\.?)(?: (?:d(?:er|ie|em)|la|le|el))?|\d[\d.,]*%?(?: [^\W\d][\w-]*){0,2}"
    r"(?: (?:in d(?:er|em)|la|le|el))?)[^\S\n]*\Z"
)
_COUNTED_AFTER = lazy.pattern(r"(?i)[^\S\n]*[:=]?[^\S\n]*\d[\d.,]*(?![\w:/-])(?![^\S\n]*(?:uhr|h)\b)")


_LABELLED = _compile_spaced(
    rf"(?<=[\w)]): (?:(?:since|in) (?P<month>{_MONTH})|(?:(?:since|on|from) )?(?P<when>{_DAY_GONE}|{_DATE}))"
    r"(?=[^\S\n]*(?:[·|;,.)\]\n]|\Z))"
)
"""A label and nothing but a day that is gone: "Jira: last Tuesday"."""


def worded_ages(text: str, spans: list[Span]) -> list[WordedAge]:
    """Every age in words, in order; `read` are the places of ages that were read already."""
    ages = [*_counted_ages(text, lazy.small_letters(text)), *_foreign(text)]
    spans_read = sorted([*spans, *((age.start, age.end) for age in ages)])
    return sorted([*ages, *(age for age in _unread(text, spans_read) if not _overlaps(age, spans_read))])


def _overlaps(age: WordedAge, spans: list[Span]) -> bool:
    before = bisect_left(spans, (age.end, 0))
    return before > 0 and spans[before - 1][1] > age.start


def _counted_ages(text: str, small: str) -> Iterator[WordedAge]:
    for m in _COUNTED.finditer(text) if lazy.holds_any(small, _PAST) else ():
        half = 0.5 if m["half"] or m["rest"] else 0.0
        minutes = (_count(m["count"]) + half) * _UNITS[m["unit"].lower()]
        if m["more"]:
            minutes += _count(m["more"]) * _UNITS[m["larger"].lower()]
        yield WordedAge(*m.span(), minutes, minutes)
    for m in _JUST_NOW.finditer(text) if lazy.holds_any(small, ("now", "ago")) else ():
        yield WordedAge(*m.span(), 1.0, 1.0)


def _count(words: str) -> float:
    return _COUNTS[" ".join(words.lower().split())]


def _foreign(text: str) -> Iterator[WordedAge]:
    for m in _FOREIGN.finditer(text):
        unit = next(unit for unit in _OTHER_UNITS if m[unit])
        minutes = int(m[0][: m.start(unit) - m.start()]) * _UNITS[unit]
        lead = _LEAD.search(text, max(0, m.start() - _REACH), m.start())
        if lead or m["tail"]:
            yield WordedAge(lead.start() if lead else m.start(), m.end(), minutes, minutes)
        elif m[unit].lower() not in _OTHER_MEANING:
            yield WordedAge(*m.span(), 0.0, minutes)


def _unread(text: str, spans: list[Span]) -> Iterator[WordedAge]:
    # An age with a word that is part of one that was read is the same age.
    starts, ends = (0, *(end for _, end in spans)), (*(start for start, _ in spans), len(text))
    unread = lazy.small_letters("\n".join(map(text.__getitem__, map(slice, starts, ends))))
    for words, pattern, most_of in UNREAD:
        for m in pattern.finditer(text) if lazy.holds_any(unread, words) else ():
            most = most_of(m)
            if most is not None:
                yield WordedAge(*m.span(), 0.0, most)


def _most_labelled(match: re.Match[str]) -> float:
    return _FOR_EVER if match["month"] else _most(match)


def _most(match: re.Match[str]) -> float:
    when = " ".join(match["when"].lower().split())
    if when in _PAST_DAYS:
        return _PAST_DAYS[when]
    if when.endswith("day"):
        return 14 * _DAY
    return _DAY if ":" in when and "-" not in when else _FOR_EVER


def _most_from(match: re.Match[str]) -> float | None:
    before = match.string[max(0, match.start() - _REACH) : match.start()].rstrip()
    since = match[0][:5].lower() == "since"
    return _most(match) if (_STALE_SINCE.search(before) if since else not _NO_AGE_FROM.search(before)) else None


def _most_by_unit(match: re.Match[str]) -> float:
    small = match[0].lower()
    # A number that was not read may be of any size.
    is_bounded = not any(char.isdecimal() for char in small)
    return next((most for unit, most in _LARGEST.items() if is_bounded and unit in small), _FOR_EVER)


def _most_gone(match: re.Match[str]) -> float | None:
    before = match.string[max(0, match.start() - _REACH) : match.start()]
    compared = _COMPARED.search(before) or _COUNTED_AFTER.match(match.string, match.end())
    return _FOR_EVER if _IS_STATE.search(before) or not compared else None


def _most_and_more(match: re.Match[str]) -> float:
    return (_count(match["more"]) + 1) * _UNITS[match["larger"].lower()]


def _any_age(match: re.Match[str]) -> float:
    return _FOR_EVER


UNREAD: Final[Sequence[tuple[Sequence[str], re.Pattern[str], Callable[[re.Match[str]], float | None]]]] = (
    ((*PUBLISHED.entries("weekdays_elsewhere"), "hier"), _AS_OF, _any_age),
    (PUBLISHED.entries("joined_days_gone"), _JOINED, _any_age),
    (_GONE_WORDS, _GONE, _most_gone),
    (("",), _STATED, _most),
    (("(",), _ALONE, _most),
    ((":",), _LABELLED, _most_labelled),
    (("'s",), _OWNED, _most),
    (("from", "since"), _FROM, _most_from),
    (("and",), _AND_MORE, _most_and_more),
    (("ago",), _AGO, _most_by_unit),
    (("old",), _OLD, _most_by_unit),
    (_WORK, _WORKING, _any_age),
    (tuple(entry.partition(" ")[0] for entry in PUBLISHED.entries("perhaps_older")), _PERHAPS, _any_age),
)
"""Words of which every match holds one, what finds ages that cannot be read, and how old such a one is at most."""
