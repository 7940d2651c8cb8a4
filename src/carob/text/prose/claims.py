"""Which deeds an answer claims, by the words that a suite declares for them (`effects`) and the published frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import regex
from msgspec import Struct

from carob.text.folding import Span
from carob.text.prose.sentences import Prose, Sentence, clause_before, denies, is_denied_after, prose
from carob.text.regexes import lazy
from carob.text.tool_names import ANY_EFFECT, NO_TOOL
from carob.text.views import join_words, wide_forms
from carob.text.words import PUBLISHED, WordLists, entry_pattern, is_unspaced, literal

_GAP: Final = r"[^\S\n]+"
_START: Final = r"\A(?:[^\w\n]|\d{1,3}[.)][^\S\n])*"
_END: Final = r"(?=[\"')\]*_]*(?:[^\S\n]*(?:[.!,;…]|:[^\S\n]|-[^\S\n]|\Z)))"
_HEADLINE_END: Final = r"(?=[\"')\]*_]*(?:[^\S\n]*(?:[.!,;…]|:[^\S\n]+(?=[^\W\d])|-[^\S\n]|\Z)))"
_NOUN: Final = r"[\w'#&/.-]+"
_ADVERBS: Final = rf"(?:{_GAP}«claim_adverbs»)*"
_DONE: Final = rf"(?:have|get)(?:{_GAP}(?!(?:i|we)\b)[\w'-]+){{1,3}}?"
_DIRECTLY: Final = rf"{_ADVERBS}(?:{_GAP}(?:be|have|have been|get|be able to|{_DONE}))?{_ADVERBS}[^\S\n]*\Z"
"""An entry before this is at the very end, or before `be` or `have`: "will be", "could have been", "will get it"."""
_MODAL, _RELATIVE = f"«modals»{_DIRECTLY}", f"«relatives»{_DIRECTLY}"
_ASIDE: Final = lazy.regex(r"(?<=\b(?:has|have)),[^\S\n][^,;.!?\n]{1,60},(?=[^\S\n]been\b)")
"""What may be between "has" and "been"."""
_DESCRIBES: Final = (
    rf"{_GAP}(?:[a-z'-]+{_GAP})?[a-z'-]*[a-rt-z'-]s{_GAP}(?!«verbless_after»)(?![\w-]*ly\b)[a-z'-]+(?![\w-])"
)
"""Nouns and a verb after a word at the start of a sentence: "Redirected parcels take a day longer"."""
_ROMANCE: Final = lazy.regex(r"(?:[oa]s?|[éíó]|ei|ou)\Z")
_FRAMES: Final = {
    "claim_frames": None,
    "claim_frames_de": None,
    "claim_frames_es": _ROMANCE,
    "claim_frames_fr": None,
    "claim_frames_pt": _ROMANCE,
}
"""The lists of frames, and how a word ends that they hold for: "he cancelado" is Spanish, "he cancelled" is not."""
_CONDITIONALS: Final = ("conditionals", "conditionals_elsewhere")
_INFLECTED: Final = {"o": ("a", "os", "as"), "é": ("ée", "és", "ées")}
"""How a participle may end in Spanish, Portuguese and French."""
_SHORTEST_INFLECTED: Final = len("pago")
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
    ending: regex.Pattern[str] | None = None


def claims(text: str, effects: Mapping[str, Sequence[str]], words: WordLists = PUBLISHED) -> list[Claim]:
    """Every claim of a declared deed, in order, whatever its letters look like."""
    found = {claim.span: claim for claim in _claims_as_written(text, effects, words)}
    for form in wide_forms(text, rendered=False):
        for claim in _claims_as_written(form.widened.text, effects, words):
            span = form.written_span(*claim.span)
            found.setdefault(span, claim._replace(span=span))
    closed = join_words(text)
    hidden = _hidden_wordings(text.lower(), closed.text.lower(), effects) if closed.offsets else {}
    for claim in _claims_as_written(closed.text, hidden, words) if hidden else ():
        span = closed.span(*claim.span)
        found.setdefault(span, claim._replace(span=span))
    return sorted(found.values(), key=lambda claim: claim.span)


def _hidden_wordings(text: str, closed: str, effects: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The wordings that only the text without signs within words holds, as they are there."""
    bare = {tool: [_join_words(wording) for wording in wordings] for tool, wordings in effects.items()}
    seen = [one for wordings in bare.values() for one in wordings if one in closed and one not in text]
    return bare if seen else {}


@lru_cache(maxsize=1024)
def _join_words(wording: str) -> str:
    return join_words(wording).text.lower()


def _claims_as_written(text: str, effects: Mapping[str, Sequence[str]], words: WordLists) -> list[Claim]:
    answer = prose(text, (wording for wordings in effects.values() for wording in wordings))
    pattern, tools = _read_declared(
        tuple((tool, tuple(map(answer.spell, wordings))) for tool, wordings in effects.items())
    )
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
    before = _drop_aside(answer.text[sentence.start : match.start()], words)
    after = answer.text[match.end() : sentence.end]
    if is_unspaced(wording) and words.regex(r"\A«claim_openings_ja»").match(after):
        return False
    if " " in wording or is_unspaced(wording):
        is_open = words.regex(_MODAL).search(before) is not None
        return not is_open and not _is_no_claim(answer, before, after, match.end(), words)
    for frame in _frames(words):
        if frame.ending is not None and not frame.ending.search(wording):
            continue
        opening = frame.before.search(before)
        if opening is None or frame.after.match(after) is None:
            continue
        if frame.starts and any(words.regex(source).match(after) for source in (_NO_CLAIM_AFTER, _DESCRIBES)):
            continue
        outside = before[: opening.start()]
        is_described = not frame.is_own and words.regex(_RELATIVE).search(outside) is not None
        is_finite = words.pattern("finite_verbs").match(before, opening.start()) is not None
        if not is_described and (is_finite or not words.regex(_MODAL).search(outside)):
            return not _is_no_claim(answer, before, after, match.end(), words)
    return False


def _drop_aside(before: str, words: WordLists) -> str:
    """What is before a word, without "after an error" in "has, after an error, been"."""
    aside = _ASIDE.search(before) if before.endswith("been ") else None
    return before if aside is None or denies(aside[0], words) else before[: aside.start()] + before[aside.end() :]


def is_open(answer: Prose, sentence: Sentence, start: int, words: WordLists) -> bool:
    """Whether a word is asked for, to come, or under a condition."""
    before = answer.text[sentence.start : start]
    return (
        sentence.is_question
        or words.regex(_MODAL).search(before) is not None
        or words.pattern(*_CONDITIONALS).search(before) is not None
        or words.pattern("clause_conditionals").search(clause_before(before, words)) is not None
    )


def _is_no_claim(answer: Prose, before: str, after: str, end: int, words: WordLists) -> bool:
    """Whether it is denied, under a condition, somebody else's deed, or of an earlier time."""
    if words.pattern(*_CONDITIONALS).search(before):
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
            for form in _forms(key):
                tools[form] = tuple(dict.fromkeys((*tools.get(form, ()), *claimed)))
    return regex.compile(rf"{literal(tools)}(?!-\w)"), tools


def _forms(wording: str) -> tuple[str, ...]:
    """A wording, and with its other endings if it may be a participle of a Romance language."""
    is_participle = " " not in wording and len(wording) >= _SHORTEST_INFLECTED
    endings = _INFLECTED.get(wording[-1:], ()) if is_participle else ()
    return (wording, *(wording[:-1] + ending for ending in endings))


@lru_cache(maxsize=64)
def _frames(words: WordLists) -> tuple[_Frame, ...]:
    return tuple(_frame(entry, ending, words) for name, ending in _FRAMES.items() for entry in words.entries(name))


def _frame(entry: str, ending_of_word: regex.Pattern[str] | None, words: WordLists) -> _Frame:
    adverbs = f"(?:«claim_adverbs»{_GAP})*"
    parts = {
        "START": rf"{_START}(?:«lead_ins»[^\w\n]+)*",
        "NOUN": rf"(?:your|the|this|new)?[^\S\n]*(?:(?!«no_headline»|«no_headline_elsewhere»){_NOUN}{_GAP}){{1,4}}",
        "FEW": rf"(?:{_NOUN},?{_GAP}){{0,6}}?",
        # The sentence is cut out already: a full stop within it is that of a number or of an abbreviation.
        "REST": r"(?:(?!«other_subjects»)(?:[^!?;:\n]|:(?=\S)))*?",
    }
    opening, _, ending = f" {entry} ".partition(" X ")
    tokens = opening.split()
    before = "".join(parts.get(token) or entry_pattern(token) + _GAP + adverbs for token in tokens)
    if tokens[-1:] in (["START"], ["NOUN"]):
        before += adverbs
    end = _HEADLINE_END if "NOUN" in tokens else _END
    after = ending.strip()
    after = end if after == "END" else _GAP + entry_pattern(after) if after else ""
    is_own = entry.startswith("(i|we)")
    return _Frame(words.regex(before + r"\Z"), words.regex(after), "START" in tokens, is_own, ending_of_word)
