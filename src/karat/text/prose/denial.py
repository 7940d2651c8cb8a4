"""Whether words are denied in their clause: "has not been booked", "no slot was found", "Assumptions: none"."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import takewhile
from typing import Final

from karat.text.forms.offsets import Span
from karat.text.prose.sentences import Prose, Sentence, prose
from karat.text.regexes import lazy
from karat.text.words import WordLists

IsDenied = Callable[[Prose, Sentence, int, int, WordLists], bool]
"""Whether what is at a place of a sentence is denied."""
_NUMBER: Final = lazy.pattern(r"\bno\.?\s*(?=\d)")
_ASIDE: Final = lazy.pattern(r"\([^()\n]*\)")
_ALONE: Final = r"(?![\w'-]|[.,:%]\d|\.?[^\S\n]+\w)"
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


def clause_before(text: str, words: WordLists) -> str:
    """The part of a sentence that is in the same clause as what follows it, without asides in brackets."""
    text = clause = _ASIDE.sub(" ", text) if "(" in text else text
    if "," in text and words.pattern("conditionals", "clause_conditionals").match(text.lstrip()):
        text = clause = text.partition(",")[2]
    for found in words.regex(_BREAK).finditer(text):
        clause = text[found.end() :] if found["mark"] else text[found.start("word") :]
    return clause


def denies(clause: str, words: WordLists) -> bool:
    """Whether a clause holds a denial, phrases left out that only look like one."""
    pattern = words.pattern("denials")
    if pattern.search(clause) is None:
        return False
    return pattern.search(words.pattern("no_denials").sub(" ", _NUMBER.sub(" ", clause))) is not None


def is_marker_denied(prose: Prose, sentence: Sentence, start: int, end: int, words: WordLists) -> bool:
    """The same for a marker, which only a denial next to it denies: other words of its clause speak of other things."""
    before = clause_before(prose.text[sentence.start : start], words).split()
    fillers = words.entries("marker_fillers")
    near = [*takewhile(lambda word: word.strip("\"'(") in fillers, reversed(before))]
    return denies(" ".join(before[-len(near) - 1 :]), words) or is_denied_after(prose, end, words)


def is_unavailable(prose: Prose, sentence: Sentence, start: int, end: int, words: WordLists) -> bool:
    """Whether an action is denied, disabled, or in a list of what is not offered."""
    before = prose.text[sentence.start : start]
    return (
        denies(clause_before(before, words), words)
        or words.pattern("unavailable_before").search(before) is not None
        or words.regex(_UNAVAILABLE).match(prose.text, end) is not None
    )


def first_free(prose: Prose, places: Iterable[Span], is_denied: IsDenied, words: WordLists) -> Span | None:
    """The first of the places that is not denied, as offsets of the text as written."""
    for start, end in places:
        if not is_denied(prose, prose.sentence_at(start, words), start, end, words):
            return prose.written_span(start, end)
    return None


def is_word_denied(prose: Prose, sentence: Sentence, start: int, end: int, words: WordLists) -> bool:
    """Whether a word is denied before it, or asked for: "no problem", "without error"."""
    return sentence.is_question or denies(clause_before(prose.text[sentence.start : start], words), words)


def find_listed(text: str, name: str, words: WordLists, is_denied: IsDenied = is_word_denied) -> Span | None:
    """Where a listed word is and is not itself denied."""
    answer = prose(text)
    places = (found.span() for found in words.pattern(name).finditer(answer.text))
    return first_free(answer, places, is_denied, words)


def is_denied_after(prose: Prose, end: int, words: WordLists) -> bool:
    return words.regex(_DENIED_AFTER).match(prose.text, end) is not None
