"""Whether an answer asks the user for something, or for a certain thing.

A closing courtesy asks for nothing. To name a thing, or not to need it, is not asking for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from carob.text.folding import Span
from carob.text.numbers.spelling import spelled_phrase
from carob.text.prose.sentences import (
    CLOSERS,
    Prose,
    Sentence,
    clause_before,
    denies,
    is_marker_denied,
    prose,
    sentences,
)
from carob.text.regexes import lazy
from carob.text.words import PUBLISHED, WordLists

REQUESTS: Final = (
    "request", "request_de", "request_es", "request_fr", "request_it", "request_ja", "request_nl", "request_pt",
    "request_ru", "request_zh",
)  # fmt: skip
MOST_TEXT: Final = 1 << 16
"""What is after so many characters is not looked at."""

_FENCED: Final = lazy.pattern(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)")
_ITEM: Final = lazy.regex(r"[^\S\n]*(?:[-*+•–▪◦]|\(?\w{1,2}[.)])[^\S\n]+")
_WORD: Final = lazy.regex(r"\d+(?:[.,:]\d+)+|[\w'-]+")
_UNSPACED: Final = lazy.regex(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]")
_CYRILLIC: Final = lazy.regex(r"\p{Cyrillic}{3}")
_RUSSIAN_ENDING: Final = lazy.regex(r"(?<=\w{3})(?:[ая]ми|[оеё][вйм]|[ая][мх]|[аяуюыиеоёьй])\Z")
_VALUE_AFTER: Final = lazy.pattern(
    r"[^\S\n]*(?:[#:]|no\.?|number|is)?[^\S\n]*(?:#[^\S\n]*)?(?=[\w-]*\d)[a-z]{0,4}-?\d[\w-]*"
)
"""The thing itself comes after its name: "order number A-17"."""
_NOT_AT_END: Final = r"«no_request_after»\W*\Z"
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


def find_request_for(text: str, items: Iterable[str], words: WordLists = PUBLISHED) -> Span | None:
    """Where the answer asks for one of these items."""
    items = tuple(items)
    answer = _read(text[:MOST_TEXT], words, any(map(spelled_phrase, items)))
    for item in items:
        parts = _parts(answer.prose.spell(item), words)
        for sentence in (*answer.asking, *_list_items(answer)) if parts else ():
            span = _find_parts(sentence.text, parts)
            if span is None:
                continue
            start, end = sentence.start + span[0], sentence.start + span[1]
            clause = clause_before(sentence.text[: span[0]], words)
            is_given = words.pattern("known_things").search(clause) is not None or _VALUE_AFTER.match(
                answer.prose.text, end
            )
            is_denied = is_marker_denied(answer.prose, sentence, start, end, words)
            if not is_given and (not is_denied or _is_lacking(sentence, span, words)):
                return answer.prose.written_span(start, end)
    return None


def _is_lacking(sentence: Sentence, span: Span, words: WordLists) -> bool:
    """Whether words are within a request, whose own "without" does not deny them."""
    requests = words.pattern(*REQUESTS).finditer(sentence.text)
    return any(request.start() <= span[0] and span[1] <= request.end() for request in requests)


@lru_cache(maxsize=16)
def _read(text: str, words: WordLists, by_number: bool = False) -> _Answer:
    answer = prose(text, ["1"] if by_number else ())
    code = [block.span() for block in _FENCED.finditer(text)] if "```" in text or "~~~" in text else []

    def is_code(sentence: Sentence) -> bool:
        offset = answer.written_span(sentence.start, sentence.end)[0] if code else 0
        return any(start <= offset < end for start, end in code)

    every = [sentence for sentence in sentences(answer, words) if not is_code(sentence)]
    courteous = [sentence for sentence in every if _is_courtesy(sentence, words)]
    asking = [
        sentence for sentence in every if sentence not in courteous and _asks(answer, sentence, not courteous, words)
    ]
    return _Answer(answer, tuple(asking))


def _asks(answer: Prose, sentence: Sentence, weakly: bool, words: WordLists) -> bool:
    """Whether a sentence asks; `weakly`: also by a weak request."""
    if sentence.is_question and not _is_quoted(answer, sentence):
        return True
    text = words.pattern("no_request").sub(" ", sentence.text)
    denial = words.regex(_NOT_AT_END).search(text)
    # "Ohne die Nummer kann ich das nicht" denies nothing that it asks for.
    requests = (m for m in words.pattern(*REQUESTS).finditer(text) if not denial or m.end() > denial.start())
    if any(not denies(clause_before(text[: request.start()], words), words) for request in requests):
        return True
    if not weakly or not words.pattern("weak_request").search(text):
        return False
    return words.pattern("courtesy").search(text) is None


def _is_quoted(answer: Prose, sentence: Sentence) -> bool:
    """Whether the mark of a question is within quotation marks in its line: somebody else's words."""
    mark = sentence.start + len(sentence.text.rstrip(CLOSERS)) - 1
    start, end = answer.text.rfind("\n", 0, mark) + 1, answer.text.find("\n", mark)
    end = end if end >= 0 else len(answer.text)
    return answer.text.count('"', start, mark) % 2 == 1 and answer.text.find('"', mark, end) >= 0


def _is_courtesy(sentence: Sentence, words: WordLists) -> bool:
    if not sentence.is_question:
        return False
    text = sentence.text.rstrip(f"{CLOSERS}?!？؟")
    tagged = any(tag.end() == len(text) for tag in words.pattern("question_tags").finditer(text))
    return tagged or words.regex(_COURTESY).match(sentence.text) is not None


def _list_items(answer: _Answer) -> Iterator[Sentence]:
    """The items of a list that a request leads to: they are asked for themselves."""
    leads, at = False, 0
    for line in answer.prose.text.split("\n"):
        end = at + len(line)
        if _ITEM.match(line):
            if leads:
                yield Sentence(line, at, is_question=False)
        elif line.strip():
            leads = line.rstrip("*_ ").endswith((":", "?")) and any(
                at <= sentence.start < end for sentence in answer.asking
            )
        at = end + 1


@lru_cache(maxsize=256)
def _parts(item: str, words: WordLists) -> tuple[str, ...]:
    """The words that tell an item from others, in small letters."""
    if _UNSPACED.search(item):
        return (item.strip().lower(),)
    every = tuple(_WORD.findall(item.lower().replace("’", "'")))
    unnamed = words.entries("unnamed")
    return tuple(word for word in every if word not in unnamed) or every


def _find_parts(text: str, parts: tuple[str, ...]) -> Span | None:
    """From the first to the last of the words of an item, in whatever order they are."""
    if _UNSPACED.search(parts[0]):
        start = text.find(parts[0])
        return (start, start + len(parts[0])) if start >= 0 else None
    matches = [(m.span(), part) for m in _WORD.finditer(text) for part in parts if _is_same(m[0], part)]
    if {part for _, part in matches} != set(parts):
        return None
    return matches[0][0][0], matches[-1][0][1]


def _is_same(word: str, part: str) -> bool:
    """Whether a word is this one, in the singular or plural."""
    if _CYRILLIC.match(part) and _CYRILLIC.match(word):
        return _RUSSIAN_ENDING.sub("", word) == _RUSSIAN_ENDING.sub("", part)
    longer, shorter = (word, part) if len(word) >= len(part) else (part, word)
    ending = longer[len(shorter) :]
    return longer.startswith(shorter) and ending in _ENDINGS and (not ending or len(shorter) > 1)
