"""Whether a user agrees, by the words of an author or of a published list; words that the user denies do not count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from karat.text.folding import Span
from karat.text.prose.sentences import Prose, clause_before, denies, prose
from karat.text.words import PUBLISHED, WordLists

CONSENT, NO_CONSENT = "consent", "no_consent"


def gives_consent(
    text: str, phrases: Sequence[str] = (), lists: Sequence[str] = (), words: WordLists = PUBLISHED
) -> bool:
    """Whether one of the phrases, or of the entries of the lists, is in a text and is not denied there."""
    answer = prose(text)
    places = chain(_phrase_places(answer, phrases), _listed_places(answer, lists, words))
    return any(not _is_denied(answer, start, words) for start, _ in places)


def _phrase_places(answer: Prose, phrases: Sequence[str]) -> Iterator[Span]:
    for phrase in phrases:
        yield from answer.places(phrase)


def _listed_places(answer: Prose, lists: Sequence[str], words: WordLists) -> Iterator[Span]:
    idle: list[Span] | None = None
    for name in lists:
        for match in words.pattern(name).finditer(answer.text):
            start, end = match.span()
            if name == CONSENT and idle is None:
                idle = [match.span() for match in words.pattern(NO_CONSENT).finditer(answer.text)]
            if name != CONSENT or not any(first <= start and end <= last for first, last in idle or ()):
                yield start, end


def _is_denied(answer: Prose, start: int, words: WordLists) -> bool:
    if not any(words.pattern(name).search(answer.text, 0, start) for name in ("denials", "conditionals")):
        return False
    sentence = answer.sentence_at(start, words)
    before = answer.text[sentence.start : start]
    return denies(clause_before(before, words), words) or words.pattern("conditionals").search(before) is not None
