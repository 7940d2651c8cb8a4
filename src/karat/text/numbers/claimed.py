"""The numbers that an answer claims: amounts, not dates, times, ids, ranks or the numbering of a list."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple

from karat.text.forms.folding import glyphs, original_span_of_lines
from karat.text.forms.offsets import Span
from karat.text.forms.views import seen
from karat.text.numbers.tokens import Number, all_numbers
from karat.text.regexes import lazy

_SCALES: Final = {
    "k": 3, "thousand": 3, "m": 6, "mn": 6, "mln": 6, "mio": 6, "million": 6, "b": 9, "bn": 9, "mrd": 9, "billion": 9,
    "milliard": 9, "t": 12, "tn": 12, "trillion": 12, "hundred": 2, "lakh": 5, "crore": 7,
}  # fmt: skip
_SCALE = lazy.pattern(rf"[^\S\n]{{0,3}}-?({'|'.join(sorted(_SCALES, key=len, reverse=True))})s?(?!\w)", re.IGNORECASE)
_MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
_YEAR: Final = r"(?:19|20)\d{2}(?![\d%]|[.,]\d)"
_DATE = lazy.pattern(
    rf"\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? {_YEAR})?\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of )?{_MONTH}(?:,? {_YEAR})?\b"
    rf"|\b{_MONTH},? {_YEAR}|\bq[1-4],? {_YEAR}|\({_YEAR}\)"
    rf"|\b(?:in|since|during|until|till|year|fy|early|late|mid) {_YEAR}"
    rf"|\b(?:of|for|from|by|after|before|around|to) {_YEAR}(?! +[a-z])",
    re.IGNORECASE,
)
_ID = lazy.pattern(
    r"(?:#|\b(?:ids?|no|nr|num|numbers?|ref|reference|order|ticket|issue|pr|case|invoice|room|step|page|section|item|line"
    r"|version|build|flight|gate|chapter|table|option|phase|level|part|figure|account|customer|booking|request|task|job"
    r"|run|batch|unit|model|port|row|week|day|rule)[.:]?(?: (?:no|nr|number|id)[.:]?)?) ?#?\Z",
    re.IGNORECASE,
)
_JOINED = lazy.pattern(r"[^\W\d_]-\Z")
"""A-17 is a name."""
_SMALL: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
"""Words that mostly count nothing that a tool gave: "one of them", "two options". `counts` is what others count."""
_TEENS: Final = ("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NAMED: Final = dict(zip((*_SMALL, *_TEENS, *_TENS), (*range(1, 20), *range(20, 100, 10)), strict=True))
_POWERS: Final = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9}
_WORD: Final = "|".join((*_NAMED, *_POWERS))
_IN_WORDS = lazy.pattern(
    rf"\b(?=[aebfhmnost])(?<![.,-])(?<!\d )(?:a )?(?:{_WORD})(?:(?:[ -]|,? and )(?:{_WORD}))*(?![\w])", re.IGNORECASE
)
_OTHER_WORDS = lazy.pattern(
    r"\b\w*(?:zwanzig|dreißig|vierzig|fünfzig|sechzig|siebzig|achtzig|neunzig|hundert|tausend)\w*\b"
    r"|\b(?:vingt|trente|quarante|cinquante|soixante|mille|veinte|treinta|cuarenta|cincuenta|sesenta|setenta|ochenta"
    r"|noventa|cien|ciento|venti|trenta|quaranta|cinquanta|sessanta|settanta|ottanta|novanta)\b",
    re.IGNORECASE,
)
_BEHIND = lazy.pattern(r" (?:[a-z'-]+ ){0,2}[a-z'-]+s\b", re.IGNORECASE)
_STEMS: Final = (*_SMALL[1:], "teen", *_TENS, *_POWERS)
_OTHER_STEMS: Final = (
    *("vingt", "trente", "quarante", "cinquante", "soixante", "mille", "veinte", "treinta", "cuarenta", "cincuenta"),
    *("sesenta", "setenta", "ochenta", "noventa", "cien", "venti", "trenta", "quaranta", "cinquanta", "sessanta"),
    *("settanta", "ottanta", "novanta", "zwanzig", "vierzig", "sechzig", "siebzig", "achtzig", "neunzig", "hundert"),
    "tausend",
)
_DATE_STEMS: Final = ("19", "20", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ABOUT = lazy.pattern(
    r"(?:~|≈|\b(?:about|almost|approximately|approx\.?|around|ca\.?|circa|close to|just (?:over|under)|nearly|over"
    r"|roughly|some|under|(?:more|less) than)) ?[^\w\s]?\Z",
    re.IGNORECASE,
)
_PERCENT = lazy.pattern(r" ?(?:%|percent\b|per cent\b|percentage points?\b)", re.IGNORECASE)
_BEFORE: Final = 40
HUNDRED: Final = 100


class StatedNumber(NamedTuple):
    """An amount that an answer states; `step`: how exactly, so 12.5k has one of 100. `unread`: nobody can tell it.

    Of a small number in a word, `counts` holds the words behind it: it is a claim if these are of what was seen.
    """

    value: Decimal
    step: Decimal
    span: Span
    percent: bool = False
    about: bool = False
    unread: bool = False
    counts: tuple[str, ...] = ()


@lru_cache(maxsize=8)
def stated_numbers(text: str) -> tuple[StatedNumber, ...]:
    """The amounts that a reader sees, in order."""
    view = seen(text)
    plain = glyphs(view.text)
    dates = [match.span() for match in _DATE.finditer(plain)] if _may_hold(plain, _DATE_STEMS) else []
    in_digits = (_stated(plain, value, number, dates) for value, number in all_numbers(plain))
    found = [*(one for one in in_digits if one is not None), *_in_words(plain)]
    found.sort(key=lambda one: one.span)
    return tuple(one._replace(span=view.span(*original_span_of_lines(view.text, *one.span))) for one in found)


def numbers_in(text: str) -> list[Decimal]:
    """Every free-standing number of a text that is data."""
    plain = glyphs(text)
    free = ((value, number) for value, number in all_numbers(plain) if not _JOINED.search(plain, 0, number.start))
    return [*(_value(plain, value, number) for value, number in free), *(one.value for one in _in_words(plain))]


def _in_words(text: str) -> Iterator[StatedNumber]:
    """Numbers in English words; those of other languages are told apart and not read."""
    for match in _IN_WORDS.finditer(text) if _may_hold(text, _STEMS) else ():
        words = re.findall("[a-z]+", match[0].lower())
        counts: tuple[str, ...] = ()
        if {*_SMALL}.issuperset(words):
            behind = _BEHIND.match(text, match.end())
            if behind is None or words[0] == "one":
                continue
            counts = tuple(behind[0].lower().split())
        before = text[max(0, match.start() - _BEFORE) : match.start()]
        percent, about = bool(_PERCENT.match(text, match.end())), bool(_ABOUT.search(before))
        yield StatedNumber(Decimal(_spoken(words)), Decimal(1), match.span(), percent, about, counts=counts)
    for match in _OTHER_WORDS.finditer(text) if _may_hold(text, _OTHER_STEMS) else ():
        yield StatedNumber(Decimal(0), Decimal(1), match.span(), unread=True)


def _may_hold(text: str, stems: Sequence[str]) -> bool:
    """Whether a pattern that needs one of these is worth its hundred times longer search."""
    if not text.isascii():
        return True
    lower = text.lower()
    return any(stem in lower for stem in stems)


def _spoken(words: Sequence[str]) -> int:
    """Two hundred and five thousand: what stands before a power is multiplied by it."""
    total = part = 0
    for word in words:
        power = _POWERS.get(word, 1)
        if power > HUNDRED:
            total, part = total + max(part, 1) * power, 0
        else:
            part = max(part, 1) * power if power == HUNDRED else part + _NAMED.get(word, 0)
    return total + part


def _stated(text: str, value: str, number: Number, dates: list[Span]) -> StatedNumber | None:
    start, end, bare, unread = number
    if any(first <= start and end <= last for first, last in dates):
        return None
    before = text[max(0, start - _BEFORE) : start]
    if (_ID.search(before) or _JOINED.search(before)) and not _PERCENT.match(text, end):
        return None
    scale = None if bare or unread else _SCALE.match(text, end)
    if not bare and not unread and scale is None:
        return None  # a rank, or a time of the day
    amount, decimals = _value(text, value, number), len(value.partition(".")[2])
    written = text[start:end]
    point = written.rpartition(".")[2] if "." in written else ""
    decimals = max(decimals, len(point) if point.isdecimal() and len(point) != 3 else 0)
    step = Decimal(1).scaleb((_SCALES[scale[1].lower()] if scale else 0) - decimals)
    return StatedNumber(
        amount, step, (start, end), bool(_PERCENT.match(text, end)), bool(_ABOUT.search(before)), unread
    )


def _value(text: str, value: str, number: Number) -> Decimal:
    scale = None if number.bare else _SCALE.match(text, number.end)
    amount = Decimal(value).scaleb(_SCALES[scale[1].lower()]) if scale else Decimal(value)
    return -amount if text[number.start] == "-" else amount
