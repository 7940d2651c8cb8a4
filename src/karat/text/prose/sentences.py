"""What a reader sees of a text, as prose: small letters, wrapped lines joined; its sentences and their clauses."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from typing import Final

from msgspec import Struct

from karat.text.forms.characters import is_word_char, plain
from karat.text.forms.folding import lines, original_span_of_lines
from karat.text.forms.offsets import Span
from karat.text.forms.views import View, rendered_view
from karat.text.regexes import lazy
from karat.text.words import PUBLISHED, WordLists

SOFT_END: Final = "\v"
"""The end of a line within prose. A sentence may go on after it."""

_ENDS: Final = ".!?…。！？؟⁇⁈"
_LINE_END = lazy.pattern(r"\n(?=[^\S\n]*[a-zß-öø-ÿ])")
_END = lazy.regex(rf"[{_ENDS}]+[\"'\])»”*_]*(?=\s|\Z|[\p{{So}}\p{{Lo}}])|\n|[\p{{So}}\ufe0f]+")
# Begins with a set of characters and no alternative, which the engine looks for much faster.
_ASCII_END = lazy.pattern(r"[.!?\n](?:(?<=\n)|[.!?]*[\"'\])*_]*(?=\s|\Z))")
_ASKS: Final = frozenset("?？؟⁇⁈")
CLOSERS: Final = " \t\v\"')]»”*_"
"""What may follow the end of a sentence."""


class Sentence(Struct, frozen=True):
    """A sentence of prose, or an item of a list: where it is, and whether it is a question."""

    text: str
    start: int
    is_question: bool

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class Prose(Struct, frozen=True, dict=True):
    """Text in which words and their sentences are looked for, with the way back to the text as written."""

    text: str
    view: View
    cased: str = ""
    """The same with its capital letters: it is of the same length."""

    def written_span(self, start: int, end: int) -> Span:
        return self.view.span(*original_span_of_lines(self.view.text, start, end))

    def places(self, phrase: str, whole: bool = True) -> list[Span]:
        """Every place of a phrase, as whole words with or without a plural `s`, or anywhere."""
        return [m.span() for m in _phrase_pattern(phrase, whole).finditer(self.text)]

    def sentence_at(self, place: int, words: WordLists = PUBLISHED) -> Sentence:
        every = sentences(self, words)
        index = bisect_right(every, place, key=lambda one: one.end)
        return every[index] if index < len(every) else Sentence(self.text[place:], place, is_question=False)


@lru_cache(maxsize=8)
def prose(text: str) -> Prose:
    """The prose of a text; offsets in it are those of the lines of what a reader sees."""
    view = rendered_view(text)
    # A long dash ends a clause, which its plain form would not show.
    cased = _LINE_END.sub(SOFT_END, lines(view.text.replace("\u2014", ";")))
    return Prose(_small(cased), view, cased)


def sentences(prose: Prose, words: WordLists = PUBLISHED) -> list[Sentence]:
    """The sentences in order; a line and an item of a list end one as well, and so does an emoji."""
    return _sentences(prose.text, prose.cased, words)


@lru_cache(maxsize=8)
def _sentences(text: str, cased: str, words: WordLists) -> list[Sentence]:
    found: list[Sentence] = []
    start = 0
    for mark in (_ASCII_END if text.isascii() else _END).finditer(text):
        marks = mark[0].rstrip(CLOSERS)
        if marks == "." and _goes_on(cased, text, start, mark.start(), words):
            continue
        end = mark.end() if marks[0] in _ENDS else mark.start()
        found.append(Sentence(text[start:end], start, is_question=not _ASKS.isdisjoint(marks)))
        start = mark.end()
    found.append(Sentence(text[start:], start, is_question=False))
    return [one for one in found if one.text.strip()]


def _goes_on(cased: str, text: str, start: int, dot: int, words: WordLists) -> bool:
    """Whether a full stop is that of an abbreviation, an initial or a number."""
    word = text[max(start, dot - 12) : dot].rpartition(" ")[2].lstrip("(['\"*_\v")
    follows = cased[dot + 1 : dot + 24].lstrip()[:1]
    if word == "no":
        return follows.isdecimal()
    if word in words.entries("titles"):
        return True
    is_initial = len(word) == 1 and cased[dot - 1].isupper()
    return follows.isupper() if is_initial else word in words.entries("abbreviations") and not follows.isupper()


@lru_cache(maxsize=4096)
def _phrase_pattern(phrase: str, whole: bool) -> re.Pattern[str]:
    words = " ".join(plain(phrase).lower().split())
    spelled = re.escape(words).replace(r"\ ", r"\s+")
    if not whole or not words:
        return re.compile(spelled or r"(?!)")
    start = r"(?<!\w)" if is_word_char(words[0]) else ""
    end = r"s?(?!\w)" if is_word_char(words[-1]) else ""
    return re.compile(start + spelled + end)


def _small(text: str) -> str:
    """The text in small letters, of the same length."""
    small = text.lower()
    return small if len(small) == len(text) else "".join(c if len(c.lower()) != 1 else c.lower() for c in text)
