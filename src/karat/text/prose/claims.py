"""Which deeds an answer claims, by the words that a suite declares for them (`effects`) and the published frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import regex
from msgspec import Struct

from karat.text.folding import Span
from karat.text.prose.sentences import Prose, Sentence, clause_before, denies, is_denied_after, prose
from karat.text.regexes import lazy
from karat.text.tool_names import ANY_EFFECT, NO_TOOL
from karat.text.words import PUBLISHED, WordLists, entry_pattern, literal

_GAP: Final = r"[^\S\n]+"
_START: Final = r"\A(?:[^\w\n]|\d{1,3}[.)][^\S\n])*"
_END: Final = r"(?=[\"')\]*_]*(?:[^\S\n]*(?:[.!,;…]|:[^\S\n]|-[^\S\n]|\Z)))"
_HEADLINE_END: Final = r"(?=[\"')\]*_]*(?:[^\S\n]*(?:[.!,;…]|:[^\S\n]+(?=[^\W\d])|-[^\S\n]|\Z)))"
_NOUN: Final = r"[\w'#&/.-]+"
_ADVERBS: Final = rf"(?:{_GAP}«claim_adverbs»)*"
_DIRECTLY: Final = rf"{_ADVERBS}(?:{_GAP}(?:be|have|have been|get|be able to))?{_ADVERBS}[^\S\n]*\Z"
"""An entry before this is at the very end, or before `be` or `have`: "will be", "could have been"."""
_MODAL, _RELATIVE = f"«modals»{_DIRECTLY}", f"«relatives»{_DIRECTLY}"
_NO_CLAIM_AFTER: Final = rf"(?:{_GAP}[\w'-]+){{0,3}}{_GAP}«no_claim_after»"
_BY_OTHERS: Final = rf"(?<!\w)(?<!(?:ed|en){_GAP})by{_GAP}(?!\d|«done_by»)"
"""A `by` of somebody else; one directly after another participle ("caused by the delay") belongs to that."""
_CLAUSE_END: Final = lazy.regex(r"[;:,]|[^\S\n]-[^\S\n]")


class Claim(NamedTuple):
    """A deed that the answer claims: the wording, the tools that it is declared for, and where it is."""

    wording: str
    tools: tuple[str, ...]
    span: Span


class _Frame(Struct, frozen=True):
    """What must be before a word and after it; whether the frame begins a sentence, and whether with `I` or `we`."""

    before: regex.Pattern[str]
    after: regex.Pattern[str]
    starts: bool
    is_own: bool


def claims(text: str, effects: Mapping[str, Sequence[str]], words: WordLists = PUBLISHED) -> list[Claim]:
    """Every claim of a declared deed, in order."""
    pattern, tools = _read_declared(tuple((tool, tuple(wordings)) for tool, wordings in effects.items()))
    answer = prose(text)
    excluded = [m.span() for m in words.pattern("not_claims").finditer(answer.text)] if words.replaced else []
    return [
        Claim(wording, tools[wording], answer.written_span(*match.span()))
        for match in pattern.finditer(answer.text)
        if not any(start <= match.start() and match.end() <= end for start, end in excluded)
        if _claims(answer, match, wording := " ".join(match[0].split()), words)
    ]


def _claims(answer: Prose, match: regex.Match[str], wording: str, words: WordLists) -> bool:
    sentence = answer.sentence_at(match.start(), words)
    if sentence.is_question:
        return False
    before = answer.text[sentence.start : match.start()]
    after = answer.text[match.end() : sentence.end]
    if " " in wording:
        return not _is_no_claim(answer, before, after, match.end(), words)
    for frame in _frames(words):
        opening = frame.before.search(before)
        if opening is None or frame.after.match(after) is None:
            continue
        if frame.starts and words.regex(_NO_CLAIM_AFTER).match(after):
            continue
        outside = before[: opening.start()]
        is_described = not frame.is_own and words.regex(_RELATIVE).search(outside) is not None
        is_finite = words.pattern("finite_verbs").match(before, opening.start()) is not None
        if not is_described and (is_finite or not words.regex(_MODAL).search(outside)):
            return not _is_no_claim(answer, before, after, match.end(), words)
    return False


def is_open(answer: Prose, sentence: Sentence, start: int, words: WordLists) -> bool:
    """Whether a word is asked for, to come, or under a condition."""
    before = answer.text[sentence.start : start]
    return (
        sentence.is_question
        or words.regex(_MODAL).search(before) is not None
        or words.pattern("conditionals").search(before) is not None
        or words.pattern("clause_conditionals").search(clause_before(before, words)) is not None
    )


def _is_no_claim(answer: Prose, before: str, after: str, end: int, words: WordLists) -> bool:
    """Whether it is denied, under a condition, somebody else's deed, or of an earlier time."""
    if words.pattern("conditionals").search(before):
        return True
    clause = clause_before(before, words)
    clause_after = _CLAUSE_END.split(after, maxsplit=1)[0]
    return (
        words.pattern("clause_conditionals", "earlier").search(clause) is not None
        or words.pattern("earlier").search(clause_after) is not None
        or denies(clause, words)
        or is_denied_after(answer, end, words)
        or words.regex(_BY_OTHERS).search(clause_after) is not None
    )


@lru_cache(maxsize=256)
def _read_declared(
    effects: tuple[tuple[str, tuple[str, ...]], ...],
) -> tuple[regex.Pattern[str], Mapping[str, tuple[str, ...]]]:
    """What finds a declared wording, and the tools of each."""
    every = tuple(tool for tool, _ in effects if tool not in (ANY_EFFECT, NO_TOOL))
    tools: dict[str, tuple[str, ...]] = {}
    for tool, wordings in effects:
        claimed = every if tool == ANY_EFFECT else () if tool == NO_TOOL else (tool,)
        for wording in wordings:
            key = " ".join(wording.lower().replace("’", "'").split())
            tools[key] = tuple(dict.fromkeys((*tools.get(key, ()), *claimed)))
    return regex.compile(rf"{literal(tools)}(?!-\w)"), tools


@lru_cache(maxsize=64)
def _frames(words: WordLists) -> tuple[_Frame, ...]:
    return tuple(_frame(entry, words) for entry in words.entries("claim_frames"))


def _frame(entry: str, words: WordLists) -> _Frame:
    adverbs = f"(?:«claim_adverbs»{_GAP})*"
    parts = {
        "START": rf"{_START}(?:«lead_ins»[^\w\n]+)*",
        "NOUN": rf"(?:your|the|this|new)?[^\S\n]*(?:(?!«no_headline»){_NOUN}{_GAP}){{1,4}}",
        # The sentence is cut out already: a full stop within it is that of a number or of an abbreviation.
        "REST": r"(?:(?!«other_subjects»)(?:[^!?;:\n]|:(?=\S)))*?",
    }
    opening, _, ending = f" {entry} ".partition(" X ")
    tokens = opening.split()
    before = "".join(parts[token] if token in parts else entry_pattern(token) + _GAP + adverbs for token in tokens)
    if tokens[-1:] in (["START"], ["NOUN"]):
        before += adverbs
    end = _HEADLINE_END if "NOUN" in tokens else _END
    after = ending.strip()
    after = end if after == "END" else _GAP + entry_pattern(after) if after else ""
    return _Frame(words.regex(before + r"\Z"), words.regex(after), "START" in tokens, entry.startswith("(i|we)"))
