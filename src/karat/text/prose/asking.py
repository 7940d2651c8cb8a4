"""Whether an answer asks for a certain thing, in a question or a request. To name it, or not to need it, is no asking.

A sentence asks for a thing if it holds its words and, where they stand, a way of asking: a question word that they go
with, somebody who is told to give it, somebody who needs it. `ways_of_asking` knows these ways in several languages.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice, pairwise
from typing import Final, NamedTuple

import regex

from karat.text.forms.offsets import Span
from karat.text.prose.questions import LONGEST_SENTENCE, MOST_TEXT, is_courtesy
from karat.text.prose.sentences import SOFT_END, Prose, prose
from karat.text.prose.ways_of_asking import (
    ASIDE,
    CANNOT,
    FRAGMENT_AFTER,
    FRAGMENT_BEFORE,
    LEADS_TO_LIST,
    NAMED_AFTER,
    NAMED_BEFORE,
    OTHER_LANGUAGES,
    QUESTION_BEFORE,
    QUESTION_WORD,
    REQUEST_AFTER,
    REQUEST_BEFORE,
    WITHOUT,
)
from karat.text.regexes import lazy

MOST_PLACES: Final = 64
"""Nobody asks for something that he names so often."""
FAR: Final = 120
LOOSE: Final = 3
"""How many other words may stand between those of a thing: `the number of your order`."""

_SENTENCE: Final = lazy.regex(r"[^.!?。！？؟\n]*+(?:[.](?=\w)[^.!?。！？؟\n]*+)*+[.!?。！？؟]*+[\"')\]»”]*+")
_WORD: Final = lazy.regex(r"[\w'’-]+")
_ITEM: Final = lazy.regex(r"[^\S\n]*(?:[-*+•–▪◦]|\(?\w{1,2}[.)])[^\S\n]+")
_UNSPACED: Final = lazy.regex(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]")
_ENDINGS: Final = ("", "s", "es", "n", "en", "e", "'s", "’s")
_COUNTED: Final = lazy.regex(r"(?i)\s*(?:the )?(?:number|amount|quantity) of (?P<what>.+)")
_UNCOUNTED: Final = lazy.regex(
    "an?|the|your|his|her|its|my|our|their|any|some|der|die|das|de[nm]|eine?n?|ihre?[nr]?|deinen?|le|la|les|une?|votre|vos"
    "|ton|ta|el|los|las|tu|su|il|lo|gli|os|as|seu|sua|het|uw|je"
)


class Sentence(NamedTuple):
    """A sentence of prose, where it begins, and whether it stands in a list of things that are asked for."""

    text: str
    start: int
    asked: bool = False


def asked_for_any(text: str, things: Iterable[str]) -> Span | None:
    """Where the answer asks for one of these things."""
    return next((span for thing in things if (span := asked_for(text, thing))), None)


@lru_cache(maxsize=64)
def asked_for(text: str, thing: str) -> Span | None:
    """Where the answer asks for a thing, as offsets of the text as written."""
    words = prose(text[:MOST_TEXT])
    counted = _COUNTED.match(thing)
    for parts in (_parts(thing), _parts(f"how many {counted['what']}") if counted else ()):
        for sentence in _sentences(words) if parts else ():
            for start, end in islice(_places(sentence.text, parts), MOST_PLACES):
                if _asks(sentence, start, end, parts):
                    return words.written(sentence.start + start, sentence.start + end)
    return None


def _asks(sentence: Sentence, start: int, end: int, parts: tuple[str, ...]) -> bool:
    before = sentence.text[max(0, start - LONGEST_SENTENCE) : start]
    after = sentence.text[end : end + LONGEST_SENTENCE]
    text = before + sentence.text[start:end] + after
    if before.count('"') % 2 and '"' in after:
        return False
    if sentence.asked:
        return NAMED_BEFORE.search(before) is None and NAMED_AFTER.match(after) is None
    if ASIDE.search(before):
        return False
    if (
        text.rstrip("\"')]»” ").endswith(("?", "？", "؟"))
        and not is_courtesy(text)
        and _questions(before, after, parts)
    ):
        return True
    return _requests(before, after) or any(language.asks(text, before) for language in OTHER_LANGUAGES)


def _questions(before: str, after: str, parts: tuple[str, ...]) -> bool:
    """Whether a question is for the words between: it begins with them, or has a question word that goes with them."""
    if QUESTION_WORD.fullmatch(parts[0]) or QUESTION_BEFORE.search(before):
        return True
    return FRAGMENT_BEFORE.fullmatch(before) is not None and FRAGMENT_AFTER.fullmatch(after) is not None


def _requests(before: str, after: str) -> bool:
    if WITHOUT.search(before):
        return CANNOT.search(before + after) is not None
    if NAMED_BEFORE.search(before):
        return False
    return REQUEST_BEFORE.search(before) is not None or REQUEST_AFTER.match(after) is not None


def _sentences(words: Prose) -> Iterator[Sentence]:
    """The sentences in order. Items of a list that a request leads to are asked for themselves."""
    leads, at = False, 0
    for line in words.text.split("\n"):
        item = _ITEM.match(line)
        blank = not line.strip()
        leading = LEADS_TO_LIST.search(line[-LONGEST_SENTENCE:]) is not None
        asked = leads and not blank and (item is not None or not leading)
        for found in _SENTENCE.finditer(line) if not blank else ():
            if found[0].strip():
                yield Sentence(found[0].replace(SOFT_END, " "), at + found.start(), asked)
        if not blank:
            leads = leading or (leads and item is not None)
        at += len(line) + 1


def _parts(thing: str) -> tuple[str, ...]:
    """The words of a thing that tell it from others, in small letters."""
    if _UNSPACED.search(thing):
        return (thing.strip().lower(),)
    every = tuple(_WORD.findall(thing.lower().replace("’", "'")))
    return tuple(word for word in every if not _UNCOUNTED.fullmatch(word)) or every


def _places(text: str, parts: tuple[str, ...]) -> Iterator[Span]:
    """Where the words of a thing stand together, in whatever order, with few others between."""
    if _UNSPACED.search(parts[0]):
        yield from ((m.start(), m.end()) for m in regex.finditer(regex.escape(parts[0]), text))
        return
    found = [(m.span(), part) for m in _WORD.finditer(text) for part in parts if _is(m[0], part)]
    for first in range(len(found)):
        window: dict[str, Span] = {}
        for span, part in islice(found, first, None):
            if span[0] - found[first][0][1] > FAR:
                break
            window.setdefault(part, span)
            if len(window) == len(set(parts)):
                spans = sorted(window.values())
                if all(len(_WORD.findall(text, one[1], two[0])) <= LOOSE for one, two in pairwise(spans)):
                    yield spans[0][0], spans[-1][1]
                break


def _is(word: str, part: str) -> bool:
    """Whether a word is this one, in the plural or in another case."""
    word = word.strip("'’-")
    if word == part or (word.startswith(part) and word[len(part) :] in _ENDINGS):
        return True
    if part.startswith(word) and part[len(word) :] in _ENDINGS:
        return len(word) > 2
    stem = max(4, len(part) - 2)  # languages that inflect their nouns are not written in ASCII
    return not part.isascii() and len(part) > 4 and word[:stem] == part[:stem] and abs(len(word) - len(part)) <= 2
