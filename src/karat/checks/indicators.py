"""Words of success and of failure in an answer: the longest at a place counts, and a denied success is a failure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import regex

from karat.text.forms.offsets import Span
from karat.text.prose.claims import is_open
from karat.text.prose.denial import clause_before, denies, is_denied_after
from karat.text.prose.sentences import prose
from karat.text.words import WordLists, any_of, literal


class Indicators(NamedTuple):
    """The first word of success and of failure; the first success that is denied, or open."""

    success: Span | None
    failure: Span | None
    denied: Span | None
    open: Span | None


def indicators(text: str, success: Sequence[str], failure: Sequence[str], words: WordLists) -> Indicators:
    """What the answer says of success and failure.

    Lists of a case, `success` and `failure`, are words as they are written; without them the word lists hold.
    """
    answer = prose(text)
    neutral = words.pattern("neutral_indicator")
    first: dict[str, Span] = {}
    for found in _alternatives(tuple(success), tuple(failure), words).finditer(answer.text):
        kind = str(found.lastgroup)
        if kind == "success":
            sentence = answer.sentence_at(found.start(), words)
            clause = clause_before(answer.text[sentence.start : found.start()], words)
            if denies(neutral.sub(" ", clause), words) or is_denied_after(answer, found.end(), words):
                kind = "denied"
            elif is_open(answer, sentence, found.start(), found.end(), words):
                kind = "open"
        first.setdefault(kind, answer.written(*found.span()))
    return Indicators(first.get("success"), first.get("failure"), first.get("denied"), first.get("open"))


@lru_cache(maxsize=256)
def _alternatives(
    success: tuple[str, ...], failure: tuple[str, ...], words: WordLists
) -> re.Pattern[str] | regex.Pattern[str]:
    kinds = {
        "neutral": any_of(words.entries("neutral_indicator")),
        "failure": literal(failure) if failure else any_of(words.entries("failure_indicator")),
        "success": literal(success) if success else any_of(words.entries("success_indicator")),
    }
    source = "|".join(f"(?P<{kind}>{source})" for kind, source in kinds.items())
    # The published lists are in an order in which the longest comes first; of words of a case that is not known.
    return regex.compile(source, regex.POSIX) if success or failure else re.compile(source)
