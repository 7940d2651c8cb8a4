"""Whether the user agrees: a word of consent counts unless it is denied, asked, conditional, or taken back later."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from carob.text.folding import Span
from carob.text.prose.sentences import CLOSERS, Prose, clause_before, denies, prose
from carob.text.words import PUBLISHED, WordLists

LANGUAGES: Final = ("de", "es", "fr", "it", "ja", "nl", "pt", "zh")
"""Those that have lists of consent and dissent, next to English."""
CONSENT: Final = ("consent", *(f"consent_{language}" for language in LANGUAGES))
DISSENT: Final = ("dissent", *(f"dissent_{language}" for language in LANGUAGES))
LISTS: Final = frozenset(
    (
        *CONSENT, *DISSENT, "no_consent", "plain_no", "consent_denials", "consent_denied_before",
        "consent_denied_after", "retractions", "consent_conditions", "consent_limits", "no_conditions",
        "consent_reports", "consent_noted", "question_openings", "consent_fillers",
    )
)  # fmt: skip
"""The word lists that decide whether a user agrees."""

_DENIED_BEFORE: Final = r"(?:«consent_denied_before»\s*|\b(?:not|never)\W+(?:a|an|the)\s+)\Z"
_REACHES: Final = (
    r"(?:«denials»|«denials_elsewhere»|n't)\W*(?:\Z|\b(?:under|in|at|by|for|ever|i repeat|repeat|on|unter|en|sous)\b)"
)
"""A denial that goes on after a comma: "Do not, under any circumstances, proceed"."""
_DENIED_AFTER: Final = r"\s*(?:«consent_denied_after»|[\s,、，]*«consent_noted»)"
_ENDS_CLAUSE: Final = r"(?=[^\S\n]*(?:[,.;:!?…、。，！？\v\n\"')*_]|-\s|\Z))"
_BEGINS_CLAUSE: Final = (
    r"(?:\A|[,.;:!?…、。，！？\n\v]|-\s|\b(?:but|and|oh|no|aber|nein|pero|mais|ma|mas|maar|nee)\b)[\s\"'(]*"
)
_NO_TO_ITSELF: Final = (
    rf"(?:[\s,?…;、，？\"'*_]|\.\.+|-\s)*(?:«{'»|«'.join(DISSENT)}»)(?: thanks| thank you| way)?{_ENDS_CLAUSE}"
)
"""A refusal as a whole clause directly after a word of consent: "go ahead? no"."""
_CONDITION_BEFORE: Final = r"(?:«consent_conditions»|«conditionals»|«conditionals_elsewhere»)(?![^\S\n]*[,;:])"
_CONDITION_AFTER: Final = (
    r"[\s,;、，-]*(?:\b«consent_limits»\s*)*"
    r"(?:[^,.;:!?\n\v…、。，！？]*?(?<![\w'-]))??«consent_conditions»"
)
_ASKED_ALONG: Final = (
    r"(?:\s*(?:please|bitte)?\s*«question_openings»"
    r"|[^,;:、，]*[,;:、，][\s¿]*(?!or\b|oder\b|ou\b|o\b|of\b)(?:(?:[\w'-]+\W+){2}[\w'-]+|\w*[\p{Han}\p{Hiragana}\p{Katakana}]{4}))"
)
"""After a yes at the beginning of a question: the question is about something else."""


def gives_consent(
    text: str, phrases: Sequence[str] = (), lists: Sequence[str] = (), words: WordLists = PUBLISHED
) -> bool:
    """Whether one of the phrases, or of the entries of the lists, is in a text and holds to its end."""
    answer = prose(text, phrases)
    refusals = [phrase for phrase in phrases if _is_refusal(phrase.lower(), words)]
    if any(not _is_denied(answer, start, words) for start, _ in _phrase_places(answer, refusals)):
        return True
    named = [name for name in lists if name not in CONSENT]
    if any(not _is_denied(answer, start, words) for start, _ in _listed_places(answer, named, words)):
        return True
    agreeing = [phrase for phrase in phrases if phrase not in refusals]
    consents = [name for name in lists if name in CONSENT]
    places = sorted(chain(_phrase_places(answer, agreeing), _listed_places(answer, consents, words)))
    given = (start for start, end in reversed(places) if _is_given(answer, start, end, words))
    latest = next(given, -1)
    return latest >= 0 and latest > _find_retraction(answer, places, words)


def _is_refusal(phrase: str, words: WordLists) -> bool:
    """Whether an author's words are themselves a refusal, which is not weighed as a yes is."""
    refusals = words.pattern("denials", "denials_elsewhere", *DISSENT)
    return refusals.search(words.pattern("no_denials").sub(" ", phrase)) is not None


def _phrase_places(answer: Prose, phrases: Sequence[str]) -> Iterator[Span]:
    for phrase in phrases:
        yield from answer.places(phrase)


def _listed_places(answer: Prose, lists: Sequence[str], words: WordLists) -> Iterator[Span]:
    if not lists:
        return
    idle = [match.span() for match in words.pattern("no_consent").finditer(answer.text)] if lists[0] in CONSENT else []
    for name in lists:
        for match in words.pattern(name).finditer(answer.text):
            start, end = match.span()
            if not any(first <= start and end <= last for first, last in idle):
                yield start, end


def _is_given(answer: Prose, start: int, end: int, words: WordLists) -> bool:
    """Whether a word of consent is neither denied, nor asked, nor conditional in its sentence."""
    sentence = answer.sentence_at(start, words)
    before, after = answer.text[sentence.start : start], answer.text[end : sentence.end]
    if _is_denied(answer, start, words) or words.regex(_DENIED_BEFORE).search(before):
        return False
    idle = words.pattern("no_denials")
    if words.regex(_DENIED_AFTER).match(after) and not idle.match(after.lstrip()):
        return False
    if words.regex(_NO_TO_ITSELF).match(answer.text, end):
        return False
    opening = words.regex(r"[\W]*«question_openings»").match(sentence.text) is not None
    if (opening or sentence.is_question) and not _is_asked_along(before, after, words):
        return False
    return (
        words.regex(_CONDITION_AFTER).match(
            words.pattern("consent_reports").sub(" ; ", _without_idle_conditions(after, words))
        )
        is None
    )


def _is_denied(answer: Prose, start: int, words: WordLists) -> bool:
    """Whether words are denied or made conditional before them."""
    before = answer.text[answer.sentence_at(start, words).start : start]
    if not before.strip():
        return False
    clause = clause_before(before, words)
    *earlier, own = re.split("[,、，]", clause)
    if (
        denies(own, words)
        or words.pattern("consent_denials").search(own)
        or any(_reaches_on(part, words) for part in earlier)
    ):
        return True
    breaks = [match.end() for match in words.pattern("clause_breaks").finditer(before) if match[0] == "but"]
    return (
        words.regex(_CONDITION_BEFORE).search(_without_idle_conditions(before[max(breaks, default=0) :], words))
        is not None
    )


def _reaches_on(part: str, words: WordLists) -> bool:
    return words.regex(_REACHES).search(words.pattern("no_denials").sub(" ", part)) is not None


def _without_idle_conditions(text: str, words: WordLists) -> str:
    return words.pattern("no_conditions").sub(" ", text)


def _is_asked_along(before: str, after: str, words: WordLists) -> bool:
    """Whether a question follows that is not about the yes before it: "Yes, and can you also …?"."""
    if words.regex(rf"(?:\W|«consent_fillers»|«{'»|«'.join(CONSENT)}»)*").fullmatch(before) is None:
        return False
    return words.regex(_ASKED_ALONG).match(after.rstrip(f"{CLOSERS}?!？！")) is not None


def _find_retraction(answer: Prose, places: Sequence[Span], words: WordLists) -> int:
    """Where the latest words are that take a yes back; -1: there are none."""
    text = answer.text
    found = [
        match.end()
        for match in words.pattern("retractions").finditer(text)
        if not _is_kept(answer, match.start(), words)
    ]
    refusal = words.regex(rf"{_BEGINS_CLAUSE}(?P<no>«{'»|«'.join(DISSENT)}»){_ENDS_CLAUSE}")
    plain = words.entries("plain_no")
    found += [match.end() for match in refusal.finditer(text) if match["no"] not in plain]
    found += [match.end() for _, end in places if (match := words.regex(_NO_TO_ITSELF).match(text, end))]
    return max(found, default=-1)


def _is_kept(answer: Prose, start: int, words: WordLists) -> bool:
    """Whether a retraction is itself denied: "I haven't changed my mind"."""
    return denies(clause_before(answer.text[answer.sentence_at(start, words).start : start], words), words)
