"""Whether an answer asks the user for something, or for a certain thing: a question or a listed request.

A closing courtesy asks for nothing. To name a thing, or not to need it, is not asking for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from karat.text.folding import Span
from karat.text.prose.sentences import (
    CLOSERS,
    Prose,
    Sentence,
    clause_before,
    denies,
    is_marker_denied,
    prose,
    sentences,
)
from karat.text.regexes import lazy
from karat.text.words import PUBLISHED, WordLists

MOST_TEXT: Final = 1 << 16
"""What is after so many characters is not looked at."""

_FENCED: Final = lazy.pattern(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)")
_ITEM: Final = lazy.regex(r"[^\S\n]*(?:[-*+•–▪◦]|\(?\w{1,2}[.)])[^\S\n]+")
_WORD: Final = lazy.regex(r"[\w'-]+")
_UNSPACED: Final = lazy.regex(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]")
_COURTESY: Final = r"\W*(?:«lead_ins»\W+)*«courtesy»"
_ENDINGS: Final = ("", "s", "es", "'s")


class _Answer(NamedTuple):
    """The prose of an answer and those of its sentences that ask."""

    prose: Prose
    asking: tuple[Sentence, ...]


def find_request(text: str, words: WordLists = PUBLISHED) -> Span | None:
    """Where the answer asks for something, as offsets of the text as written."""
    answer = _read(text[:MOST_TEXT], words)
    return answer.prose.written_span(answer.asking[0].start, answer.asking[0].end) if answer.asking else None


def find_request_for(text: str, things: Iterable[str], words: WordLists = PUBLISHED) -> Span | None:
    """Where the answer asks for one of these things."""
    answer = _read(text[:MOST_TEXT], words)
    for thing in things:
        parts = _parts(thing, words)
        for sentence in (*answer.asking, *_list_items(answer, words)) if parts else ():
            place = _place(sentence.text, parts)
            if place is None:
                continue
            start, end = sentence.start + place[0], sentence.start + place[1]
            clause = clause_before(sentence.text[: place[0]], words)
            is_known = words.pattern("known_things").search(clause) is not None
            if not is_known and not is_marker_denied(answer.prose, sentence, start, end, words):
                return answer.prose.written_span(start, end)
    return None


@lru_cache(maxsize=16)
def _read(text: str, words: WordLists) -> _Answer:
    answer = prose(text)
    code = [found.span() for found in _FENCED.finditer(text)] if "```" in text or "~~~" in text else []
    every = [one for one in sentences(answer, words) if not _is_within(answer.written_span(one.start, one.end), code)]
    courteous = [one for one in every if _is_courtesy(one, words)]
    weak = () if courteous else ("weak_request",)
    return _Answer(answer, tuple(one for one in every if one not in courteous and _asks(answer, one, weak, words)))


def _is_within(span: Span, code: list[Span]) -> bool:
    return any(start <= span[0] < end for start, end in code)


def _asks(answer: Prose, sentence: Sentence, weak: tuple[str, ...], words: WordLists) -> bool:
    if sentence.is_question and not _is_quoted(answer, sentence):
        return True
    said = words.pattern("no_request").sub(" ", sentence.text)
    if any(not denies(clause_before(said[: m.start()], words), words) for m in words.pattern("request").finditer(said)):
        return True
    if not weak or not words.pattern(*weak).search(said):
        return False
    return words.pattern("courtesy").search(said) is None


def _is_quoted(answer: Prose, sentence: Sentence) -> bool:
    """Whether the mark of a question is within quotation marks in its line: somebody else's words."""
    mark = sentence.start + len(sentence.text.rstrip(CLOSERS)) - 1
    start, end = answer.text.rfind("\n", 0, mark) + 1, answer.text.find("\n", mark)
    end = end if end >= 0 else len(answer.text)
    return answer.text.count('"', start, mark) % 2 == 1 and answer.text.find('"', mark, end) >= 0


def _is_courtesy(sentence: Sentence, words: WordLists) -> bool:
    if not sentence.is_question:
        return False
    said = sentence.text.rstrip(f"{CLOSERS}?!？؟")
    tagged = any(tag.end() == len(said) for tag in words.pattern("question_tags").finditer(said))
    return tagged or words.regex(_COURTESY).match(sentence.text) is not None


def _list_items(answer: _Answer, words: WordLists) -> Iterator[Sentence]:
    """The items of a list that a request leads to: they are asked for themselves."""
    leads, at = False, 0
    for line in answer.prose.text.split("\n"):
        end = at + len(line)
        if _ITEM.match(line):
            if leads:
                yield Sentence(line, at, is_question=False)
        elif line.strip():
            leads = line.rstrip("*_ ").endswith((":", "?")) and any(at <= one.start < end for one in answer.asking)
        at = end + 1


@lru_cache(maxsize=256)
def _parts(thing: str, words: WordLists) -> tuple[str, ...]:
    """The words of a thing that tell it from others, in small letters."""
    if _UNSPACED.search(thing):
        return (thing.strip().lower(),)
    every = tuple(_WORD.findall(thing.lower().replace("’", "'")))
    unnamed = words.entries("unnamed")
    return tuple(word for word in every if word not in unnamed) or every


def _place(text: str, parts: tuple[str, ...]) -> Span | None:
    """From the first to the last of the words of a thing, in whatever order they are."""
    if _UNSPACED.search(parts[0]):
        start = text.find(parts[0])
        return (start, start + len(parts[0])) if start >= 0 else None
    found = [(m.span(), part) for m in _WORD.finditer(text) for part in parts if _is_same(m[0], part)]
    if {part for _, part in found} != set(parts):
        return None
    return min(span[0] for span, _ in found), max(span[1] for span, _ in found)


def _is_same(word: str, part: str) -> bool:
    """Whether a word is this one, in the singular or plural."""
    longer, shorter = (word, part) if len(word) >= len(part) else (part, word)
    return (
        longer.startswith(shorter)
        and longer[len(shorter) :] in _ENDINGS
        and len(shorter) > (len(longer) > len(shorter))
    )
