"""The numbers that an answer claims: amounts, not dates, times, ids, ranks or the numbering of a list."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple

from carob.text.folding import Span, glyphs, original_span_of_lines
from carob.text.numbers.spelling import is_signed
from carob.text.numbers.tokens import NUMBER_WORDS, Number, all_numbers
from carob.text.regexes import lazy
from carob.text.views import rendered_view
from carob.text.words import PUBLISHED, alternatives

_MONTH: Final = rf"(?:{alternatives('months')})\b\.?"
_YEAR: Final = r"(?:19|20)\d{2}(?![\d%]|[.,]\d)"
_DAY: Final = r"\d{1,2}(?:st|nd|rd|th|\.)?(?!\d)"
_TO: Final = r" ?(?:-|to|through|until|till|bis|au|al) ?(?:the )?"
_AND: Final = r"(?:,? (?:and|or|&) |, )(?:the )?"
_DAYS: Final = rf"(?:the )?(?:{_DAY}(?:{_TO}|{_AND}))*"
_TIME_MARK: Final = rf" ?(?:{alternatives('times_of_day')})\b"
_CLOCK: Final = r"\d{1,2}(?:[:.]\d{2})?"
# What a number begins that is not a claim. All of these are looked for next to a number, for there are few of them.
_BEGINS_NO_CLAIM = lazy.pattern(
    rf"(?i){_DAYS}{_DAY} (?:of |de )?{_MONTH}|{_YEAR} ?[-/] ?(?:{_YEAR}|\d\d\b)"
    rf"|{_CLOCK}(?: ?- ?| to | and ){_CLOCK}{_TIME_MARK}|\d{{1,4}} ?[年月日년월일](?![間间])|\d{{1,4}}\([a-z]\)"
)
_BEFORE_DAY = lazy.pattern(rf"(?i)\b{_MONTH} {_DAYS}\Z|\b(?:utc|gmt) ?[+-] ?\Z")
_ENDS_WITH_AND = lazy.pattern(rf"(?i){_AND}\Z")
# After "and" it may be a number of something: "on May 5 and 12 orders".
_ENDS_DAYS = lazy.pattern(rf",? {_YEAR}|[.;:)!?\n]|,[ \n]|\Z")
_BEFORE_YEAR = lazy.pattern(
    rf"(?i)(?:\b{_MONTH}(?: {_DAYS}{_DAY})?,? (?:de )?|\bq[1-4],? "
    rf"|\b(?:{alternatives('year_words')}) |{_YEAR} ?[-/] ?)\Z"
)
_MAY_BE_BEFORE_YEAR = lazy.pattern(r"(?i)\b(?:of|for|from|by|after|before|around|to) \Z")
_IS_YEAR = lazy.pattern(_YEAR)
_COUNTED = lazy.pattern(r"(?i) +[a-z]")
_ID = lazy.pattern(rf"(?i)(?:#|\b(?:{alternatives('id_words')})[.:]?(?: (?:no|nr|number|id)[.:]?)?) ?#?\Z")
_UNIT = lazy.pattern(rf"(?i) ?(?:{alternatives('units')}|{alternatives('currency_codes')})(?!\w)")
_MONEY: Final = rf"[$€£¥₹₩₽]|\b(?:{alternatives('currency_codes')})"
_MONEY_BEFORE = lazy.pattern(rf"(?:{_MONEY}) ?\Z")
_MONEY_AFTER = lazy.pattern(rf" ?(?:{_MONEY}|(?:dollars|euros|pounds)\b)")
_JOINED = lazy.pattern(r"[^\W\d_]-\Z")
"""A-17 is a name."""
_MAY_GROUP = lazy.pattern(r"[1-9]\d{0,2}\.\d{3}")
_CENTS_AFTER = lazy.pattern(r"(?i) ?(?:ct|cents?|pence|céntimos?|centavos?|centimes?|¢)(?!\w)")
_SHARE = lazy.pattern(r"(?<![\w/.,:-])(?<!\d )(\d{1,7})/(\d{1,7})(?![\w/]|[.,]\d)")
"""45/60: two numbers, a fraction, or a day."""
_TIME_WORD: Final = rf"(?:{alternatives('date_words')}|{_MONTH})"
_TIME_BEFORE = lazy.pattern(
    rf"(?i)\b{_TIME_WORD}[,.:]?(?: (?:is|was|of|the|by))*:? ?\(?\Z|\b{_TIME_WORD} \d{{1,2}}/\d{{1,2}}{_TO}\Z"
)
_TIME_AFTER = lazy.pattern(
    rf"(?i)\)?,? ?(?:(?:at )?{_CLOCK}(?:{_TIME_MARK}|(?<=:\d\d))|\(?(?:{alternatives('weekdays')})\b)"
)
_POWERS: Final = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9}
_WORD: Final = "|".join((*NUMBER_WORDS, *_POWERS))
_IN_WORDS = lazy.pattern(
    rf"(?i)\b{lazy.begins(('a', *NUMBER_WORDS, *_POWERS))}(?<![.,-])(?<!\d )(?:a )?(?:{_WORD})"
    rf"(?:(?:[ -]|,? and )(?:{_WORD})(?!-(?!(?:{_WORD})\b)[^\W\d_]))*(?![\w])"
)
"""The one of "twenty one-way tickets" is none of it."""
_UNREAD: Final = PUBLISHED.entries("unread_number_words")
_UNREAD_WORDS = lazy.pattern(rf"(?i)\b(?:{'|'.join(_UNREAD)})\b")
_UNREAD_STEMS: Final = tuple(word.replace(r"\w*", "") for word in _UNREAD)
_NOUNS_AFTER = lazy.pattern(r"(?i) (?:[a-z'-]+ ){0,2}[a-z'-]+s\b")
_COMPOUND = lazy.pattern(r"-[^\W\d_]")
"""one-way, two-factor"""
_SMALL: Final = PUBLISHED.entries("small_numbers")
_SMALL_WORDS = lazy.pattern(rf"(?i)(?<![\w-])(?:{'|'.join(_SMALL[1:])})(?![\w-])")
_STEMS: Final = (*_SMALL[1:], "teen", *PUBLISHED.entries("tens"), *_POWERS)
_IDIOMS: Final = PUBLISHED.entries("names_with_digits")
_ID_WORDS: Final = PUBLISHED.entries("id_words")
_ABOUT = lazy.pattern(rf"(?i)(?:~|≈|\b(?:{alternatives('approximations')})) ?[^\w\s]?\Z")
_PERCENT = lazy.pattern(r"(?i) ?(?:%|percent\b|per cent\b|percentage points?\b)")
_WORDS = lazy.pattern(r"[^\W\d_]+")
_DAY_WORDS: Final = frozenset((*PUBLISHED.entries("months"), "utc", "gmt"))
_ABOUT_ENDS: Final = ("~", "≈", *PUBLISHED.entries("approximations"))
_BEFORE: Final = 40
_NEAR: Final = 24
_LONGEST_CLOCK: Final = len("10.30")
FEWEST_OF_ID: Final = 4
"""Digits by which the end of an id can be recognized."""
_LAST_MONTH, _LAST_DAY = 12, 31
HUNDRED: Final = 100


class StatedNumber(NamedTuple):
    """An amount that an answer states; `step`: how exactly, so 12.5k has one of 100. `unread`: it is unknown.

    Of a small number in a word, `counts` holds the words after it: it is a claim if these are of what was seen.
    `digits`: as it is written, where it may be the end of an id. `money`: it is an amount of money. `doubtful`: it may
    be a part of a date. `share`: what the fraction is whose part it is. `other`: the
    value and the step of another reading: 1.250 may be 1250, and 30 cents are 0.30.
    """

    value: Decimal
    step: Decimal
    span: Span
    percent: bool = False
    about: bool = False
    unread: bool = False
    counts: tuple[str, ...] = ()
    digits: str = ""
    money: bool = False
    doubtful: bool = False
    share: Decimal | None = None
    other: tuple[Decimal, Decimal] | None = None


@lru_cache(maxsize=8)
def stated_numbers(text: str) -> tuple[StatedNumber, ...]:
    """The amounts that a reader sees, in order."""
    view = rendered_view(text)
    plain = glyphs(view.text)
    has_days = not _DAY_WORDS.isdisjoint(_WORDS.findall(lazy.small_letters(plain)))
    in_digits = (_read_stated(plain, value, number, has_days) for value, number in all_numbers(plain))
    numbers = [*filter(None, in_digits), *_shares(plain), *_in_words(plain)]
    numbers.sort(key=lambda number: number.span)
    if view.offsets is None and plain == view.text:
        return tuple(numbers)  # as written
    return tuple(
        number._replace(span=view.span(*original_span_of_lines(view.text, *number.span))) for number in numbers
    )


def numbers_in(text: str) -> list[Decimal]:
    """Every free-standing number of a text that is data."""
    plain = glyphs(text)
    return [
        *(
            _value(plain, value, number)
            for value, number in all_numbers(plain)
            if not _JOINED.search(plain, max(0, number.start - 2), number.start)
        ),
        *(share.value for share in _shares(plain)),
        *(number.value for number in _in_words(plain)),
    ]


def _in_words(text: str) -> Iterator[StatedNumber]:
    """Numbers in English words; those of other languages are recognized and not read."""
    small = lazy.small_letters(text)
    for match in _IN_WORDS.finditer(text) if lazy.holds_any(small, _STEMS) else ():
        words = re.findall("[a-z]+", match[0].lower())
        counts: tuple[str, ...] = ()
        if {*_SMALL}.issuperset(words):
            after = _NOUNS_AFTER.match(text, match.end())
            if after is None or words[0] == "one" or _COMPOUND.match(text, match.end()):
                continue
            counts = tuple(after[0].lower().split())
        before = text[max(0, match.start() - _BEFORE) : match.start()]
        percent = _PERCENT.match(text, match.end()) is not None
        number = Decimal(_parse_words(words))
        yield StatedNumber(number, Decimal(1), match.span(), percent, _is_about(before), counts=counts)
    for match in _UNREAD_WORDS.finditer(text) if lazy.holds_any(small, _UNREAD_STEMS) else ():
        yield StatedNumber(Decimal(0), Decimal(1), match.span(), unread=True)


def small_numbers_in(text: str) -> list[Decimal]:
    """Small numbers in words that no noun has to follow: a trip for two."""
    return [Decimal(NUMBER_WORDS[match[0].lower()]) for match in _SMALL_WORDS.finditer(text)]


def _parse_words(words: Sequence[str]) -> int:
    """Two hundred and five thousand: what is before a power is multiplied by it."""
    total = part = 0
    for word in words:
        power = _POWERS.get(word, 1)
        if power > HUNDRED:
            total, part = total + max(part, 1) * power, 0
        else:
            part = max(part, 1) * power if power == HUNDRED else part + NUMBER_WORDS.get(word, 0)
    return total + part


def _shares(text: str) -> Iterator[StatedNumber]:
    """Both numbers of 45/60. What may be a day is one next to a word of time, and otherwise not known to be none."""
    for match in _SHARE.finditer(text) if "/" in text else ():
        if match[0] in _IDIOMS:
            continue
        low, high = sorted((int(match[1]), int(match[2])))
        may_be_day = 0 < low <= _LAST_MONTH and high <= _LAST_DAY
        if may_be_day and _is_day(text, *match.span()):
            continue
        share = Decimal(match[1]) / Decimal(match[2]) if int(match[2]) else None
        for part in (1, 2):
            yield StatedNumber(Decimal(match[part]), Decimal(1), match.span(part), doubtful=may_be_day, share=share)


def _is_day(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - _BEFORE) : start]
    return _TIME_BEFORE.search(before) is not None or _TIME_AFTER.match(text, end) is not None


def _is_date(text: str, start: int, end: int, before: str, has_days: bool) -> bool:
    """Whether plain digits are a day, a year, a time of day, or belong to a name such as 401(k)."""
    if end - start <= _LONGEST_CLOCK and _BEGINS_NO_CLAIM.match(text, start):
        return True
    if has_days and end - start <= len("31") and _BEFORE_DAY.search(before):
        return not _ENDS_WITH_AND.search(before) or _ENDS_DAYS.match(text, end) is not None
    if not _IS_YEAR.match(text, start):
        return False
    if _BEFORE_YEAR.search(before) or (before.endswith("(") and text.startswith(")", end)):
        return True
    return _MAY_BE_BEFORE_YEAR.search(before) is not None and not _COUNTED.match(text, end)


def _is_id(before: str) -> bool:
    # Looking at the last letters first costs a tenth of the pattern, which few numbers need.
    last = lazy.small_letters(before).rstrip(" .:")
    return (last[-1:] == "#" or last.endswith(_ID_WORDS)) and _ID.search(before) is not None


def _is_about(before: str) -> bool:
    small = lazy.small_letters(before[-_NEAR:])
    ends = small.endswith(_ABOUT_ENDS) or small[:-1].endswith(_ABOUT_ENDS) or small[:-2].endswith(_ABOUT_ENDS)
    return ends and _ABOUT.search(before[-_NEAR:]) is not None


def _read_stated(text: str, value: str, number: Number, has_days: bool) -> StatedNumber | None:
    start, end, _, tail, kind = number
    if kind in ("rank", "time"):
        return None
    digits_at = start + is_signed(text, number)
    digits, before = text[digits_at:end], text[max(0, digits_at - _BEFORE) : digits_at]
    plain = digits.isdecimal() and number.bare
    money = _MONEY_AFTER.match(text, tail) is not None or _MONEY_BEFORE.search(before[-5:]) is not None
    percent = _PERCENT.match(text, end) is not None
    is_joined = before[-1:] == "-" and _JOINED.search(before[-2:]) is not None
    if not (money or percent) and (is_joined or _is_date(text, digits_at, end, before, has_days)):
        return None
    if plain and not money and _is_id(before) and not _UNIT.match(text, end):
        return None
    decimals = len(value.partition(".")[2])
    point = digits.rpartition(".")[2] if "." in digits else ""
    decimals = max(decimals, len(point) if point.isdecimal() and len(point) != 3 else 0)
    may_end_id = plain and len(digits) >= FEWEST_OF_ID and not _UNIT.match(text, end)
    return StatedNumber(
        _value(text, value, number),
        Decimal(number.factor).scaleb(-decimals),
        (start, tail),
        percent,
        _is_about(before),
        kind == "unread",
        digits=digits if may_end_id else "",
        money=money,
        other=_read_otherwise(text, digits, value, number),
    )


def _read_otherwise(text: str, digits: str, value: str, number: Number) -> tuple[Decimal, Decimal] | None:
    """The value and the step of a number if its point groups, or of an amount in cents."""
    if number.bare and _MAY_GROUP.fullmatch(digits):
        return Decimal(digits.replace(".", "")), Decimal(1)
    if number.bare and _CENTS_AFTER.match(text, number.end):
        return Decimal(value).scaleb(-2), Decimal(1).scaleb(-2)
    return None


def _value(text: str, value: str, number: Number) -> Decimal:
    amount = Decimal(value) * number.factor
    return -amount if is_signed(text, number) else amount
