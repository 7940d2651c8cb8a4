"""How messages are worded: what a user may have meant, texts of others as one inert, bounded line, and figures.

Shares, money and counts are worded in this one place, so that one figure reads the same everywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from carob.errors import UsageError

_BLANK = frozenset(
    (*"\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0", *map(chr, range(0xE0100, 0xE01F0)))
)
"""Letters and selectors that show nothing."""
_JOINERS = "\u200c\u200d"
_LONGEST = 80
_MOST_SAID = 500
_LONG_WORD = 500
"""Longer than most secrets."""
_ALIKE, _SHORT_ALIKE, _SHORT = 0.6, 0.7, 3


def visible(text: str) -> str:
    """The text with line ends, tabs, control characters and blank letters spelled out: it stays one inert line."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in _JOINERS or (c.isprintable() and c not in _BLANK) else ascii(c)[1:-1] for c in text)


def error_text(error: BaseException) -> str:
    """What an exception says, in one line."""
    try:
        return shorten(" ".join(str(error).split()), _MOST_SAID)
    except Exception:  # noqa: BLE001 - exceptions are other people's code too
        return "what it says cannot be read"


def shorten(text: str, limit: int = _LONGEST) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def end_of(text: str) -> str:
    """A text whose beginning was cut off, from its next line or word on: half a secret would not be recognised."""
    ends = [at + 1 for end in "\n " if (at := text.find(end, 0, _LONG_WORD)) >= 0]
    return f"…{text[next(iter(ends), _LONG_WORD) :]}"


def quoted(text: str) -> str:
    """A text from the file in quotes, fit for a message."""
    return f"'{visible(shorten(text))}'"


def join_words(words: Iterable[str], joint: str = "or") -> str:
    """`a`, `a or b`, `a, b or c`."""
    *first, last = words
    return f"{', '.join(first)} {joint} {last}" if first else last


def with_article(noun: str) -> str:
    """`a dict`, `an int`."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def kind(value: object) -> str:
    """What a JSON value is, in plain words."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return "a number"
    if value is None:
        return "null"
    if isinstance(value, str):
        return "a string"
    return "a list" if isinstance(value, list) else "an object"


def find_nearest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that is most like this word, if any is like it at all."""
    if len(word) > _LONGEST:
        return None  # not a typing error, and comparing it costs time
    from difflib import get_close_matches

    by_folded = {candidate.casefold(): candidate for candidate in candidates}
    close = get_close_matches(word.casefold(), by_folded, n=1, cutoff=_SHORT_ALIKE if len(word) <= _SHORT else _ALIKE)
    return by_folded[close[0]] if close else None


def likeness(first: str, second: str) -> float:
    """How much two texts are alike, from 0 to 1."""
    from difflib import SequenceMatcher

    return SequenceMatcher(None, first.casefold(), second.casefold()).ratio()


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """`Did you mean 'x'?`, or nothing."""
    near = find_nearest(word, candidates)
    return f"Did you mean {quoted(near)}?" if near else ""


def pluralize(number: int, noun: str) -> str:
    """`1 case`, `2 cases`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def names_of(option: str, names: Collection[str] | None) -> list[str] | None:
    """The names that an option lists; a text alone would be taken for the list of its letters."""
    if isinstance(names, str):
        raise UsageError(f"`{option}` must be a list, not a string.", fix=f"Write [{names!r}].", slug="bad-option")
    return None if names is None else list(names)


def percent(share: float) -> str:
    """A share to a tenth of a percent: nothing but all is 100%, nothing but none is 0%."""
    if share in (0, 1):
        return f"{share:.0%}"
    return f"{min(max(share * 100, 0.1), 99.9):.1f}%"


def dollars(amount: float) -> str:
    """`$12.30`, `$0.0123`, `under $0.0001`."""
    if amount >= 1:
        return f"${amount:,.2f}"
    return f"${amount:.4f}" if amount >= 0.0001 or not amount else "under $0.0001"


def count(number: int) -> str:
    """`950`, `12.3k`, `4.56M`."""
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return str(number)


def points(value: float) -> str:
    """A difference of shares in points, with its sign: `+5`, `-14.3`, `0`."""
    text = f"{value * 100:+.1f}".removesuffix(".0")
    return "0" if text in ("+0", "-0") else text


def describe_move(value: float, low: float, high: float) -> str:
    """How a share moved: `fell by 14.3 points (true change: -46.7 to +15.3)`."""
    change = f"(true change: {points(low)} to {points(high)})"
    if not value:
        return f"stayed the same {change}"
    size = points(abs(value)).removeprefix("+")
    return f"{'rose' if value > 0 else 'fell'} by {size} point{'s' * (size != '1')} {change}"
