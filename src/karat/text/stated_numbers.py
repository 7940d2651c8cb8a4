"""The numbers that an answer claims: amounts, not dates, times, ids, ranks or the numbering of a list."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple

from karat.text.folding import glyphs, original_span_of_lines
from karat.text.number_tokens import Number, all_numbers
from karat.text.offsets import Span
from karat.text.views import seen

_SCALES: Final = {
    "k": 3, "thousand": 3, "m": 6, "mn": 6, "mln": 6, "mio": 6, "million": 6, "b": 9, "bn": 9, "mrd": 9, "billion": 9,
    "milliard": 9, "t": 12, "tn": 12, "trillion": 12, "hundred": 2, "lakh": 5, "crore": 7,
}  # fmt: skip
_SCALE = re.compile(rf"[^\S\n]{{0,3}}-?({'|'.join(sorted(_SCALES, key=len, reverse=True))})s?(?!\w)", re.IGNORECASE)
_MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
_YEAR: Final = r"(?:19|20)\d{2}(?![\d%]|[.,]\d)"
_DATE = re.compile(
    rf"\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? {_YEAR})?\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of )?{_MONTH}(?:,? {_YEAR})?\b"
    rf"|\b{_MONTH},? {_YEAR}|\bq[1-4],? {_YEAR}|\({_YEAR}\)"
    rf"|\b(?:in|since|during|until|till|year|fy|early|late|mid) {_YEAR}"
    rf"|\b(?:of|for|from|by|after|before|around|to) {_YEAR}(?! +[a-z])",
    re.IGNORECASE,
)
_ID = re.compile(
    r"(?:#|\b(?:ids?|no|nr|num|numbers?|ref|reference|orders?|tickets?|issues?|prs?|cases?|invoices?|rooms?|steps?"
    r"|pages?|sections?|items?|lines?|versions?|builds?|flights?|gates?|chapters?|tables?|options?|phases?|levels?|parts?"
    r"|figures?|accounts?|customers?|bookings?|requests?|tasks?|jobs?|runs?|batch|units?|models?|ports?|rows?|weeks?|days?"
    r"|rules?)[.:]?(?: (?:no|nr|number|id)[.:]?)?) ?#?\Z",
    re.IGNORECASE,
)
_JOINED = re.compile(r"[^\W\d_]-\Z")
"""A-17 is a name."""
_ABOUT = re.compile(
    r"(?:~|≈|\b(?:about|almost|approximately|approx\.?|around|ca\.?|circa|close to|just (?:over|under)|nearly|over"
    r"|roughly|some|under|(?:more|less) than)) ?[^\w\s]?\Z",
    re.IGNORECASE,
)
_PERCENT = re.compile(r" ?(?:%|percent\b|per cent\b|percentage points?\b)", re.IGNORECASE)
_BEFORE: Final = 40


class StatedNumber(NamedTuple):
    """An amount that an answer states; `step`: how exactly, so 12.5k has one of 100. `unread`: nobody can tell it."""

    value: Decimal
    step: Decimal
    span: Span
    percent: bool = False
    about: bool = False
    unread: bool = False


@lru_cache(maxsize=8)
def stated_numbers(text: str) -> tuple[StatedNumber, ...]:
    """The amounts that a reader sees, in order."""
    view = seen(text)
    plain = glyphs(view.text)
    dates = [match.span() for match in _DATE.finditer(plain)]
    found = (_stated(plain, value, number, dates) for value, number in all_numbers(plain))
    return tuple(
        one._replace(span=view.span(*original_span_of_lines(view.text, *one.span))) for one in found if one is not None
    )


def numbers_in(text: str) -> list[Decimal]:
    """Every free-standing number of a text that is data."""
    plain = glyphs(text)
    return [_value(plain, value, number) for value, number in all_numbers(plain)]


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
