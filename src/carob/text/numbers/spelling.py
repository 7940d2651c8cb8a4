"""One spelling for equal numbers, so that texts and phrases that hold them can be compared as texts.

1,080.00, 1 080 and 1.080 € are 1080, 12k is 12000, -½ is -0.5, 01:30 is 1:30. What is not a free-standing number (a
date, a version, an id) stays as it is written.
"""

from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Final

from carob.text.folding import Span, glyphs, original_span, original_span_of_lines
from carob.text.markup import Edit
from carob.text.numbers.tokens import Number, all_numbers, canonical
from carob.text.regexes import lazy
from carob.text.views import View, apply_edits

_TEXTS: Final = 8
_NUMERIC = lazy.regex(r"\p{N}")
_EUROS_AFTER = lazy.pattern(r"(?i)[^\S\n]?(?:€|eur\b|euros?\b)(?![^\S\n]?(?:/|(?:per|pro|par|por|je)\b))")
_EUROS_BEFORE = lazy.pattern(r"(?i)(?:€|\beur)[^\S\n]?\Z")
_POINT_GROUPS = lazy.pattern(r"[1-9]\d{0,2}\.\d{3}")
POINT_MAY_GROUP = lazy.pattern(r"(?<![\w.,:/-])[1-9]\d{0,2}\.\d{3}(?![.,:/-]?\w)")
_ZERO_BEFORE_HOUR = lazy.pattern(r"(?<![\w.,:/-])0(?=\d:\d\d(?![:.,/-]?\d))")


@lru_cache(maxsize=_TEXTS)
def spell_numbers(text: str) -> View:
    """The text with its numbers in one spelling; the text itself where they are."""
    edits = list(_edits(text)) if _NUMERIC.search(text) else []
    return apply_edits(text, edits) if edits else View(text)


@lru_cache(maxsize=4096)
def spelled_phrase(phrase: str) -> str:
    """A phrase with its numbers in one spelling; empty if it holds no number."""
    return spell_numbers(phrase).text if _NUMERIC.search(phrase) else ""


def spelled_span(view: View, start: int, end: int) -> Span:
    """The span of the text as written that a span of its folded spelling came from."""
    return view.span(*original_span(view.text, start, end))


def has_euros(text: str, start: int, end: int) -> bool:
    """Whether euros are next to a number: there a point before three digits groups them."""
    return bool(_EUROS_AFTER.match(text, end) or _EUROS_BEFORE.search(text, max(0, start - 5), start))


def ungroup(text: str) -> View:
    """The text without points that may group digits: 1.200 may be 1200."""
    edits = [Edit(*number.span(), number[0].replace(".", "")) for number in POINT_MAY_GROUP.finditer(text)]
    return apply_edits(text, edits) if edits else View(text)


def _edits(text: str) -> Iterator[Edit]:
    seen = glyphs(text)
    for value, number in all_numbers(seen):
        if number.kind == "amount":
            start, end = number.start + is_signed(seen, number), max(number.end, number.tail)
            plain = _join_groups(seen, start, end) or _multiply(value, number)
            if plain != seen[start:end]:
                yield Edit(*original_span_of_lines(text, start, end), plain)
    for zero in _ZERO_BEFORE_HOUR.finditer(seen):
        yield Edit(*original_span_of_lines(text, *zero.span()), "")


def _multiply(value: str, number: Number) -> str:
    return value if number.factor == 1 else canonical(format(Decimal(value) * number.factor, "f")) or value


def _join_groups(text: str, start: int, end: int) -> str:
    """The digits of a number whose point groups them."""
    grouped = _POINT_GROUPS.fullmatch(text, start, end) and has_euros(text, start, end)
    return text[start:end].replace(".", "") if grouped else ""


def is_signed(text: str, number: Number) -> bool:
    """Whether a minus is before the number: the character before its digits, or before the currency there."""
    return text[number.start] != "." and not text[number.start].isnumeric()
