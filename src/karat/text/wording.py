"""How messages are worded: what a user may have meant, and texts of others as one inert, bounded line."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from karat.errors import UsageError

_JOINERS = "\u200c\u200d"
_LONGEST = 80
_MOST_SAID = 500
_LONG_WORD = 500
"""Longer than most secrets."""
_ALIKE, _SHORT_ALIKE, _SHORT = 0.6, 0.7, 3


def visible(text: str) -> str:
    """The text with line ends, tabs and control characters spelled out, so that it stays one inert line."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _JOINERS else repr(c)[1:-1] for c in text)


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


def find_nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most like this one, if any is like it at all."""
    if len(word) > _LONGEST:
        return None  # not a typing error, and comparing it costs time
    from difflib import get_close_matches

    by_folded = {candidate.casefold(): candidate for candidate in known}
    close = get_close_matches(word.casefold(), by_folded, n=1, cutoff=_SHORT_ALIKE if len(word) <= _SHORT else _ALIKE)
    return by_folded[close[0]] if close else None


def likeness(one: str, other: str) -> float:
    """How much two texts are alike, from 0 to 1."""
    from difflib import SequenceMatcher

    return SequenceMatcher(None, one.casefold(), other.casefold()).ratio()


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`Did you mean 'x'?`, or nothing."""
    near = find_nearest(word, known)
    return f"Did you mean {quoted(near)}?" if near else ""


def pluralize(number: int, noun: str) -> str:
    """`1 case`, `2 cases`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def names_of(option: str, given: Collection[str] | None) -> list[str] | None:
    """The names that an option lists; a text alone would be taken for the list of its letters."""
    if isinstance(given, str):
        raise UsageError(f"`{option}` must be a list, not a string.", fix=f"Write [{given!r}].", slug="bad-option")
    return None if given is None else list(given)
