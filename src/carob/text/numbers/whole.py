"""Whether a number is in a text as a whole number, and where.

Numbers are compared by value: `1,200`, `1'200` and digits grouped by one space of any width are 1200, `12.0` is 12,
`.5` is 0.5. Digits of every script count by their value. `$12`, `12%`, `12ms`, `(12)`, `#12` and a sentence's last
`12.` hold 12. Where a reading is open, the one is taken under which a check can fail:

- A minus makes another number: `-12` and `-$12` are not 12. In a range or after a word it is a hyphen: `10-12`, `Q-12`.
- Parts of a longer token are not numbers: dates (`2026-11-12`, `11/12`), times (`10:12`, `12 pm`), versions (`v12`,
  `1.12.3`, `12.x`), addresses, paths (`/12`), fractions (`3/12`), scores (`12-3`), ids (`a12`, `12f4`, `0x12`, `12e3`).
  A code of a currency (`EUR12`) and letters of scripts without spaces (`は12円`) are words of their own.
- Magnitudes and ranks are other numbers: `12k`, `12 M`, `$12m`, `12 million`, `12万`, `12th`; so are `12 1/2`, and
  `012`, which is a code.
- The `2.` or `2)` that numbers an item of a list states no amount.
- Magnitudes of other languages (`12 Millionen`) and a point that may group (`1.200`) are not read but unknown; next
  to euros a point before three digits groups: `1.200 €`.
- A time of day is one however it is written: `9:30`, `09:30` and `9:30 am`; `14:30` and `2:30 pm`.

Only what a reader sees counts. A comma before one or two digits, or after groups of spaces,
begins a fraction: `1,5` is 1.5, `1.234,5` and `1 234,5` are 1234.5. `1,23,456` is 123456.

A value with words or signs around one number ("12%", "$12", "12 commits", "12k") asks for that number with them. Any
other value ("n/a", "dpl_8F", "10:12") must stand as whole words.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache, partial
from typing import Final

from msgspec import Struct

from carob.text.characters import LINE_ENDS, folded, is_word_char, plain
from carob.text.folded_search import find_whole_words
from carob.text.folding import Span, fold, glyphs, original_span, original_span_of_lines
from carob.text.numbers.spelling import POINT_MAY_GROUP, has_euros, spelled_phrase
from carob.text.numbers.tokens import POWERS, Number, all_numbers, canonical, find_numbers
from carob.text.regexes import lazy
from carob.text.views import rendered_view

_VALUE = lazy.pattern(r"(?P<before>\D*?)(?P<sign>[+-]?)(?P<digits>\d.*\d|\d|\.\d+)(?P<after>\D*)", re.DOTALL)
_TIME: Final = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?:[^\S\n]?(?P<half>[ap])\.?m\b\.?)?"
_TIME_VALUE = lazy.pattern(rf"(?i){_TIME}")
_TIMES = lazy.pattern(rf"(?i)(?<![\w.,:/-]){_TIME}(?![:.,/-]?\d)")
_LINE_END = lazy.pattern(f"[\\n{LINE_ENDS}]")
_JOINTS: Final = ".,:/-\u2010\u2011\u2012\u2013"


class _Value(Struct, frozen=True):
    """A number to be found, with the folded words that must stand right before and after it."""

    number: str
    before: str
    after: str


def ground(text: str, value: str, context_any: tuple[str, ...] = (), same_line: bool = False) -> Span | None:
    """Where a reader sees the value, if one of the phrases is in the text too, or in the same line as the value."""
    view = rendered_view(text)
    numbers = number_spans(view.text, value)
    if context_any and same_line:
        lines = _first_of_each_line(view.text, iter(sorted(numbers)))
        numbers = (number for number, line in lines if _has_any(line, context_any))
    elif context_any and not _has_any(view.text, context_any):
        return None
    number = next(numbers, None)
    return view.span(*number) if number else None


def unread_number(text: str, value: str) -> Span | None:
    """Where the digits of the value stand with something that makes another number of them, or may make one."""
    view, parsed = rendered_view(text), _parse(value)
    if parsed is None:
        return None
    glyphs_seen = glyphs(view.text)
    for _, number in all_numbers(glyphs_seen, partial(_may_be, parsed.number.lstrip("-"))):
        if number.kind == "unread":
            return view.span(*original_span_of_lines(view.text, number.start, number.end))
    grouped = next(_find_grouped(glyphs_seen, parsed.number), None)
    return view.span(*original_span_of_lines(view.text, *grouped)) if grouped else None


def _find_grouped(text: str, number: str) -> Iterator[Span]:
    """Where a point may group the digits of a number: 1.200 may be 1200."""
    if f"{number[:-3]}.{number[-3:]}" in text:
        yield from (m.span() for m in POINT_MAY_GROUP.finditer(text) if m[0].replace(".", "") == number)


def _may_be(number: str, value: str) -> bool:
    """Whether a magnitude that was not read can make this number of a value: a hundred times it, or more."""
    has_same_digits = number.replace(".", "").strip("0") == value.replace(".", "").strip("0")
    return has_same_digits and (number == value or float(number) >= 100 * float(value))


def number_spans(text: str, value: str) -> Iterator[Span]:
    """Every place where the value is in a text without markup, in order; those grouped by points last."""
    yield from _spans_of(text, value)
    if (plain_value := spelled_phrase(value)) and plain_value != value:
        yield from _spans_of(text, plain_value)


def _spans_of(text: str, value: str) -> Iterator[Span]:
    parsed = _parse(value)
    if parsed is None and (time := _TIME_VALUE.fullmatch(value.strip())):
        yield from _time_spans(text, time)
        return
    if parsed is None:
        folded_text = fold(text)
        for start, end in find_whole_words(folded_text, value, plural=False):
            span = original_span(text, start, end)
            if not _is_joined(text, span):
                yield span
        return
    glyphs_seen = glyphs(text)
    for number in find_numbers(glyphs_seen, parsed.number):
        if (number.bare or parsed.after) and _is_between(glyphs_seen, number, parsed):
            yield original_span_of_lines(text, number.start, number.end)
    if not (parsed.before or parsed.after):
        yield from (
            original_span_of_lines(text, number.start, number.tail)
            for number in _find_multiplied(glyphs_seen, parsed.number)
        )
    for start, end in () if parsed.before or parsed.after else _find_grouped(glyphs_seen, parsed.number):
        if has_euros(glyphs_seen, start, end):
            yield original_span_of_lines(text, start, end)


def _find_multiplied(text: str, value: str) -> Iterator[Number]:
    """Where a magnitude makes a number of less digits this one: 12 million, $12MM."""
    whole = value.lstrip("-")
    for power in POWERS if whole.isdecimal() and len(whole) > POWERS[0] else ():
        shorter = canonical(format(Decimal(value).scaleb(-power).normalize(), "f").lstrip("-"))
        numbers = find_numbers(text, f"{'-' * value.startswith('-')}{shorter}") if shorter else ()
        yield from (number for number in numbers if number.kind == "amount" and number.factor == 10**power)


def holds_one_number(phrase: str) -> bool:
    """Whether a phrase is a number or a time of day, with words or signs around it."""
    return any(map(str.isnumeric, phrase)) and (
        _parse(phrase) is not None or _TIME_VALUE.fullmatch(phrase.strip()) is not None
    )


def _time_spans(text: str, value: re.Match[str]) -> Iterator[Span]:
    """Where a text without markup holds this time of day."""
    for time in _TIMES.finditer(text):
        if _minute_of_day(time) == _minute_of_day(value) or (
            (not value["half"] or not time["half"]) and _clock(time) == _clock(value)
        ):
            yield time.span()


def _clock(time: re.Match[str]) -> Span:
    return int(time["hour"]), int(time["minute"])


def _minute_of_day(time: re.Match[str]) -> int:
    hour, minute = _clock(time)
    if time["half"]:
        hour = hour % 12 + 12 * (time["half"] in "pP")
    return 60 * hour + minute


def _has_any(text: str, phrases: tuple[str, ...]) -> bool:
    folded_text = fold(text)
    return any(next(find_whole_words(folded_text, phrase), None) for phrase in phrases)


@lru_cache(maxsize=4096)
def _parse(value: str) -> _Value | None:
    match = _VALUE.fullmatch(plain(value).strip())
    if match is None:
        return None
    sign, before = match["sign"], match["before"]
    number = canonical(match["digits"])
    if number is None or (before and (sign == "-" or is_word_char(before[-1]))):
        return None
    return _Value(("-" if sign == "-" else "") + number, folded(before), folded(match["after"]))


def _is_between(text: str, number: Number, value: _Value) -> bool:
    before, after = value.before, value.after
    if after:
        # White space between the number and its unit does not matter; the window leaves room for it.
        follows = folded(text[number.end : number.end + 2 * len(after) + 32])
        if not follows.startswith(after) or (
            is_word_char(after[-1]) and is_word_char(follows[len(after) :][:1] or " ")
        ):
            return False
    if before:
        precedes = folded(text[max(0, number.start - 2 * len(before) - 32) : number.start])
        outside = precedes[: -len(before)]
        return precedes.endswith(before) and not (is_word_char(before[0]) and is_word_char(outside[-1:] or " "))
    return True


def _is_joined(text: str, span: Span) -> bool:
    """Whether digits at an end of the span go on after a joint: 10:12 in 10:12:30."""
    start, end = span
    goes_on_before = start > 1 and text[start - 1] in _JOINTS and text[start - 2].isdecimal()
    goes_on_after = text[end : end + 1] in tuple(_JOINTS) and text[end + 1 : end + 2].isdecimal()
    return (text[start].isdecimal() and goes_on_before) or (text[end - 1].isdecimal() and goes_on_after)


def _first_of_each_line(text: str, spans: Iterator[Span]) -> Iterator[tuple[Span, str]]:
    """The first span of each line that has one, with the line."""
    last = -1
    for span in spans:
        if span[0] < last:
            continue
        while last < span[0]:
            first = last + 1
            line_end = _LINE_END.search(text, first)
            last = line_end.start() if line_end else len(text)
        yield span, text[first:last]
