"""Whether words are denied in their clause: "has not been booked", "no slot was found", "Assumptions: none"."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import regex

from karat.text.prose.sentences import Prose, Sentence
from karat.text.regexes import lazy
from karat.text.words import Words, any_of

_NEAR: Final = 5
"""So many words before a marker may deny it: "not based on any assumption"."""
_NUMBER: Final = lazy.pattern(r"\bno\.\s*(?=\d)")
_WORD: Final = lazy.pattern(r"\S+")


def clause_before(text: str, words: Words) -> str:
    """The part of a sentence that is in the same clause as what follows it."""
    clause = text
    if "," in text and words.pattern("conditionals", "clause_conditionals").match(text.lstrip()):
        text = clause = text.partition(",")[2]
    for found in _breaks(words).finditer(text):
        clause = text[found.end() :] if found["mark"] else text[found.start("word") :]
    return clause


def is_denied(prose: Prose, sentence: Sentence, start: int, end: int, words: Words) -> bool:
    """Whether a word of denial is before the place in its clause, or directly after it."""
    before = clause_before(prose.text[sentence.start : start], words)
    return denies(before, words) or is_denied_after(prose, end, words)


def denies(clause: str, words: Words) -> bool:
    """Whether a clause holds a denial, phrases set aside that only look like one."""
    pattern = words.pattern("denials")
    if pattern.search(clause) is None:
        return False
    return pattern.search(words.pattern("no_denials").sub(" ", _NUMBER.sub(" ", clause))) is not None


def is_marker_denied(prose: Prose, sentence: Sentence, start: int, end: int, words: Words) -> bool:
    """The same for a marker, which only a denial near to it denies: other words of its clause speak of other things."""
    before = clause_before(prose.text[sentence.start : start], words)
    return denies(" ".join(_WORD.findall(before)[-_NEAR:]), words) or is_denied_after(prose, end, words)


def is_denied_after(prose: Prose, end: int, words: Words) -> bool:
    return _after(words).match(prose.text, end) is not None


@lru_cache(maxsize=64)
def _breaks(words: Words) -> regex.Pattern[str]:
    starts, breaks = any_of(words.entries("clause_starts")), any_of(words.entries("clause_breaks"))
    joint = rf"(?:,|[^\S\n]-|{any_of(words.entries('clause_joints'))})"
    return regex.compile(
        rf"(?P<mark>[;:]|[^\S\n]-[^\S\n])|{joint}[^\S\n]+(?P<word>{starts})|(?P<word>{breaks})", regex.V0
    )


@lru_cache(maxsize=64)
def _after(words: Words) -> regex.Pattern[str]:
    return regex.compile(rf"[\"')\]*]*[^\S\n]*\(?{any_of(words.entries('denied_after'))}")
