"""Words of success and of failure in an answer: the longest at a place counts, and a denied success is a failure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from karat.text.folding import Span
from karat.text.prose.claims import is_open
from karat.text.prose.sentences import Prose, clause_before, denies, is_denied_after, prose
from karat.text.words import WordLists, any_of, literal

Patterns = Mapping[str, re.Pattern[str]]
"""What finds an indicator of each kind, and of any."""


class Indicators(NamedTuple):
    """The first word of success and of failure; the first success that is denied, or open."""

    success: Span | None
    failure: Span | None
    denied: Span | None
    open: Span | None


def indicators(text: str, success: Sequence[str], failure: Sequence[str], words: WordLists, wanted: bool) -> Indicators:
    """What the answer says of success and failure, as far as it takes to see that it is not what is `wanted`.

    Lists of a case, `success` and `failure`, are words as they are written; without them the word lists hold.
    """
    answer = prose(text)
    first: dict[str, Span] = {}
    for kind, span in _find_indicators(answer.text, _patterns(tuple(success), tuple(failure), words)):
        said = _judge_success(answer, *span, words) if kind == "success" else kind
        first.setdefault(said, answer.written_span(*span))
        if said in (("failure", "denied") if wanted else ("success",)):
            break
    return Indicators(first.get("success"), first.get("failure"), first.get("denied"), first.get("open"))


def _judge_success(answer: Prose, start: int, end: int, words: WordLists) -> str:
    """Whether a word of success is one, or is denied or open."""
    sentence = answer.sentence_at(start, words)
    clause = clause_before(answer.text[sentence.start : start], words)
    if denies(words.pattern("neutral_indicator").sub(" ", clause), words) or is_denied_after(answer, end, words):
        return "denied"
    return "open" if is_open(answer, sentence, start, words) else "success"


def _find_indicators(text: str, patterns: Patterns) -> Iterator[tuple[str, Span]]:
    """Every indicator with its kind: of several at a place the longest."""
    found = patterns["any"].search(text)
    while found:
        start = found.start()
        here = {kind: one for kind, pattern in patterns.items() if (one := pattern.match(text, start))}
        kind = max((kind for kind in here if kind != "any"), key=lambda kind: here[kind].end())
        yield kind, here[kind].span()
        found = patterns["any"].search(text, here[kind].end())


@lru_cache(maxsize=256)
def _patterns(success: tuple[str, ...], failure: tuple[str, ...], words: WordLists) -> Patterns:
    kinds = {
        "neutral": any_of(words.entries("neutral_indicator")),
        "failure": literal(failure) if failure else any_of(words.entries("failure_indicator")),
        "success": literal(success) if success else any_of(words.entries("success_indicator")),
    }
    return {kind: re.compile(source) for kind, source in {**kinds, "any": "|".join(kinds.values())}.items()}
