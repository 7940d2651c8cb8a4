"""Whether a phrase stands in a text, and where."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from unicodedata import category

from karat.text.folding import fold, fold_phrase, original_span
from karat.text.offsets import Span


def find(text: str, phrase: str) -> Span | None:
    """Where the phrase first stands in the text, as offsets of the text as written.

    White space at an end of the phrase also stands for the start or end of the text. A phrase of nothing but white
    space and invisible characters is never found.
    """
    haystack, needle = fold(text), fold_phrase(phrase)
    if not needle:
        return None
    start = haystack.find(needle)
    if start >= 0:
        return original_span(text, start, start + len(needle))
    if needle[0] == " " or needle[-1] == " ":
        start = f" {haystack} ".find(needle) - 1
        if start >= -1:
            return original_span(text, max(start, 0), min(start + len(needle), len(haystack)))
    return None


def find_word(text: str, phrase: str, plural: bool = True) -> Span | None:
    """Where the phrase first stands as whole words; `plural` allows an `s` after it.

    A letter, digit or underscore next to the phrase makes it part of another word. An end of the phrase that is itself
    no such character may touch anything.
    """
    for start, end in _word_spans(fold(text), phrase, plural):
        return original_span(text, start, end)
    return None


def word_spans(text: str, phrase: str, plural: bool = True) -> list[Span]:
    """Every place where the phrase stands as whole words, in order."""
    return [original_span(text, start, end) for start, end in _word_spans(fold(text), phrase, plural)]


def find_any(text: str, phrases: Iterable[str]) -> tuple[str, Span] | None:
    """The first of the phrases that stands in the text, with its place."""
    for phrase in phrases:
        if span := find(text, phrase):
            return phrase, span
    return None


def find_any_word(text: str, phrases: Iterable[str], plural: bool = True) -> tuple[str, Span] | None:
    """The first of the phrases that stands in the text as whole words, with its place."""
    for phrase in phrases:
        if span := find_word(text, phrase, plural):
            return phrase, span
    return None


def is_word_char(char: str) -> bool:
    """Whether a character continues a word: letters, digits, the underscore and marks upon letters."""
    return char.isalnum() or char == "_" or (not char.isascii() and category(char)[0] == "M")


@lru_cache(maxsize=4096)
def _word(phrase: str) -> tuple[str, bool, bool]:
    """The folded phrase, and whether its start and its end may touch a word."""
    needle = fold_phrase(phrase).strip()
    return needle, not is_word_char(needle[:1] or " "), not is_word_char(needle[-1:] or " ")


def _word_spans(haystack: str, phrase: str, plural: bool) -> Iterator[Span]:
    needle, open_start, open_end = _word(phrase)
    start = haystack.find(needle) if needle else -1
    while start >= 0:
        end = start + len(needle)
        if open_start or start == 0 or not is_word_char(haystack[start - 1]):
            if open_end or _ends_word(haystack, end):
                yield start, end
            elif plural and haystack[end] == "s" and _ends_word(haystack, end + 1):
                yield start, end + 1
        start = haystack.find(needle, start + 1)


def _ends_word(haystack: str, end: int) -> bool:
    return end == len(haystack) or not is_word_char(haystack[end])
