"""What a reader sees of a text, as prose: small letters, wrapped lines joined; its sentences and their clauses.

And whether words are denied in their clause: "has not been booked", "no slot was found", "Assumptions: none".
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import takewhile
from typing import Final

from msgspec import Struct

from carob.text.characters import is_word_char, plain
from carob.text.folding import Span, lines, original_span_of_lines
from carob.text.numbers.spelling import spell_numbers, spelled_phrase
from carob.text.regexes import lazy
from carob.text.views import View, rendered_view
from carob.text.words import PUBLISHED, WORD_END, WORD_START, WordLists

SOFT_END: Final = "\v"
"""The end of a line within prose. A sentence may go on after it."""

_ENDS: Final = ".!?…。！？؟⁇⁈"
_LINE_END = lazy.pattern(r"\n(?=[^\S\n]*[a-zß-öø-ÿ])")
_END = lazy.regex(
    rf"[。！？]+[\"'\])»”*_」』）]*|[{_ENDS}]+[\"'\])»”*_]*(?=\s|\Z|[\p{{So}}\p{{Lo}}])|\n|[\p{{So}}\ufe0f]+"
)
# Begins with a set of characters and no alternative, which the engine looks for much faster.
_ASCII_END = lazy.pattern(r"[.!?\n](?:(?<=\n)|[.!?]*[\"'\])*_]*(?=\s|\Z))")
_ASKS: Final = frozenset("?？؟⁇⁈")
_ASKING_ENDS: Final = ("か", "吗", "嗎", "呢")
"""What ends a question in Japanese and Chinese, whose full stop does not tell."""
CLOSERS: Final = " \t\v\"')]»”*_"
"""What may follow the end of a sentence."""
_NUMBER: Final = lazy.pattern(r"\bno\.?\s*(?=\d)")
_ASIDE: Final = lazy.pattern(r"\([^()\n]*\)")
_ALONE: Final = r"(?![\w'-]|[.,:%]\d|\.?[^\S\n]+\d|[^\S\n]+\w)"
"""A value is all that there is: "Allocated: no", but not "Allocated: no further action" or "Booked: No. 42"."""
_CLOSERS: Final = r"[\"')\]*]*"
_BREAK: Final = (
    r"(?P<mark>[;:]|[^\S\n]-[^\S\n])|(?:,|[^\S\n]-|«clause_joints»)[^\S\n]+(?P<word>«clause_starts»)"
    r"|(?P<word>«clause_breaks»)"
)
_DENIED_AFTER: Final = (
    rf"{_CLOSERS}(?:(?: \w+){{0,2}}[^\S\n]*[:=|?–-][^\S\n]*[\"']*«no_values»{_ALONE}|[^\S\n]*«denied_after»)"
)
_UNAVAILABLE: Final = rf"{_CLOSERS}(?:[^\S\n]+«control_nouns»)?[^\S\n]*\(?«unavailable_after»"


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
    numbers: View | None = None
    """What the reader sees with its numbers in one spelling, where phrases with numbers are looked for."""

    def written_span(self, start: int, end: int) -> Span:
        if self.numbers is None:
            return self.view.span(*original_span_of_lines(self.view.text, start, end))
        return self.view.span(*self.numbers.span(*original_span_of_lines(self.numbers.text, start, end)))

    def spell(self, phrase: str) -> str:
        """A phrase as it is looked for here."""
        return (self.numbers and spelled_phrase(phrase)) or phrase

    def places(self, phrase: str, as_word: bool = True) -> list[Span]:
        """Every place of a phrase, as whole words with or without a plural `s`, or anywhere."""
        phrase = self.spell(phrase)
        return [m.span() for m in _phrase_pattern(phrase, as_word).finditer(self.text)]

    def sentence_at(self, offset: int, words: WordLists = PUBLISHED) -> Sentence:
        every = sentences(self, words)
        index = bisect_right(every, offset, key=lambda sentence: sentence.end)
        return every[index] if index < len(every) else Sentence(self.text[offset:], offset, is_question=False)


def prose(text: str, phrases: Iterable[str] = ()) -> Prose:
    """The prose of a text, in which these phrases are looked for; offsets are those of the lines that a reader sees."""
    return _prose(text, any(map(spelled_phrase, phrases)))


@lru_cache(maxsize=8)
def _prose(text: str, by_number: bool) -> Prose:
    view = rendered_view(text)
    numbers = spell_numbers(view.text) if by_number else None
    # A long dash ends a clause, which its plain form would not show.
    cased = _LINE_END.sub(SOFT_END, lines((numbers or view).text.replace("\u2014", ";")))
    return Prose(_small(cased), view, cased, numbers)


def sentences(answer: Prose, words: WordLists = PUBLISHED) -> list[Sentence]:
    """The sentences in order; a line and an item of a list end one as well, and so does an emoji."""
    return _sentences(answer.text, answer.cased, words)


@lru_cache(maxsize=8)
def _sentences(text: str, cased: str, words: WordLists) -> list[Sentence]:
    every: list[Sentence] = []
    start = 0
    for mark in (_ASCII_END if text.isascii() else _END).finditer(text):
        marks = mark[0].rstrip(CLOSERS)
        if marks == "." and _goes_on(cased, text, start, mark.start(), words):
            continue
        end = mark.end() if marks[0] in _ENDS else mark.start()
        is_question = not _ASKS.isdisjoint(marks) or text.endswith(_ASKING_ENDS, start, mark.start())
        every.append(Sentence(text[start:end], start, is_question=is_question))
        start = mark.end()
    every.append(Sentence(text[start:], start, is_question=text[start:].rstrip(CLOSERS).endswith(_ASKING_ENDS)))
    return [sentence for sentence in every if sentence.text.strip()]


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
def _phrase_pattern(phrase: str, as_word: bool) -> re.Pattern[str]:
    words = " ".join(plain(phrase).lower().split())
    spelled = re.escape(words).replace(r"\ ", r"\s+")
    if not as_word or not words:
        return re.compile(spelled or r"(?!)")
    start = WORD_START if is_word_char(words[0]) else ""
    end = rf"s?{WORD_END}" if is_word_char(words[-1]) else ""
    return re.compile(start + spelled + end)


def _small(text: str) -> str:
    """The text in small letters, of the same length."""
    small = text.lower()
    return small if len(small) == len(text) else "".join(c if len(c.lower()) != 1 else c.lower() for c in text)


IsDenied = Callable[[Prose, Sentence, int, int, WordLists], bool]
"""Whether what is at a place of a sentence is denied."""


def clause_before(text: str, words: WordLists) -> str:
    """The part of a sentence that is in the same clause as what follows it, without asides in brackets."""
    text = clause = _ASIDE.sub(" ", text) if "(" in text else text
    if "," in text and words.pattern("conditionals", "clause_conditionals").match(text.lstrip()):
        text = clause = text.partition(",")[2]
    for match in words.regex(_BREAK).finditer(text):
        clause = text[match.end() if match["mark"] else match.start("word") :]
    return clause


def denies(clause: str, words: WordLists) -> bool:
    """Whether a clause holds a denial, phrases left out that only look like one."""
    pattern = words.pattern("denials", "denials_elsewhere")
    if pattern.search(clause) is None:
        return False
    return pattern.search(words.pattern("no_denials").sub(" ", _NUMBER.sub(" ", clause))) is not None


def is_marker_denied(answer: Prose, sentence: Sentence, start: int, end: int, words: WordLists) -> bool:
    """The same for a marker, which only a denial next to it denies: other words of its clause speak of other things."""
    before = clause_before(answer.text[sentence.start : start], words).split()
    fillers = words.entries("marker_fillers")
    near = [*takewhile(lambda word: word.strip("\"'(") in fillers, reversed(before))]
    return denies(" ".join(before[-len(near) - 1 :]), words) or is_denied_after(answer, end, words)


def is_unavailable(answer: Prose, sentence: Sentence, start: int, end: int, words: WordLists) -> bool:
    """Whether an action is denied, disabled, or in a list of what is not offered."""
    before = answer.text[sentence.start : start]
    return (
        denies(clause_before(before, words), words)
        or words.pattern("unavailable_before").search(before) is not None
        or words.regex(_UNAVAILABLE).match(answer.text, end) is not None
    )


def first_free(answer: Prose, places: Iterable[Span], is_denied: IsDenied, words: WordLists) -> Span | None:
    """The first of the places that is not denied, as offsets of the text as written."""
    for start, end in places:
        if not is_denied(answer, answer.sentence_at(start, words), start, end, words):
            return answer.written_span(start, end)
    return None


def is_word_denied(answer: Prose, sentence: Sentence, start: int, end: int, words: WordLists) -> bool:
    """Whether a word is denied before it, or asked for: "no problem", "without error"."""
    return sentence.is_question or denies(clause_before(answer.text[sentence.start : start], words), words)


def is_word_conditional(answer: Prose, sentence: Sentence, start: int, end: int, words: WordLists) -> bool:
    """Whether a word is denied, or under a condition in its clause: "if you can't find it"."""
    clause = clause_before(answer.text[sentence.start : start], words)
    return (
        sentence.is_question
        or denies(clause, words)
        or words.pattern("conditionals", "conditionals_elsewhere").search(clause) is not None
    )


def find_listed(text: str, name: str, words: WordLists, is_denied: IsDenied = is_word_denied) -> Span | None:
    """Where a listed word is and is not itself denied."""
    answer = prose(text)
    return first_free(answer, (match.span() for match in words.pattern(name).finditer(answer.text)), is_denied, words)


def is_denied_after(answer: Prose, end: int, words: WordLists) -> bool:
    return words.regex(_DENIED_AFTER).match(answer.text, end) is not None
