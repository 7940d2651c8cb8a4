"""Wrong answers that satisfy checks on words to the letter: what literal words cannot see, reported separately."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import partial
from itertools import combinations, cycle, islice, pairwise
from string import ascii_lowercase
from typing import NamedTuple

import msgspec
import regex
from msgspec import structs

from carob.checks.answer.brief import ClaimEvidenceAlignment, EvidenceFreshness, MustAllowOverrideAction, RequiredLevers
from carob.checks.answer.leaks import NoLeak
from carob.checks.answer.phrases import (
    AsksFor,
    ExpectedContains,
    MustLabelAssumptions,
    MustMatchRegex,
    MustNotContain,
    MustNotMatchRegex,
    MustNotSay,
    MustSayAny,
    ReasonContains,
    RequiredSource,
)
from carob.checks.base import Check, excerpt
from carob.checks.effects.allocation import AllocationValid
from carob.checks.numbers.derived import alike_sources, derived_sources, holders_of
from carob.checks.numbers.grounded import GroundedNumbers
from carob.checks.numbers.required import MustGroundNumber
from carob.checks.numbers.sources import NumberSource, observed_sources
from carob.features.audit.operators.answers import BULLET, declared_words
from carob.features.audit.operators.base import Mutant, Subject, of_answer
from carob.features.audit.operators.measures import amounts
from carob.model.verdict import Status
from carob.scoring.verdicts import run_check
from carob.text.regexes import safe_regex

PARAPHRASES = (
    "Your manager knows about it as well.",
    "Consider it handled.",
    "It is a done deal on our side.",
    "The wheels are in motion, and you will see the result tomorrow.",
    "The rest has been squared away as well.",
    "Ya está todo listo.",
)
"""Claims of a deed in words that no list holds: a figure of speech, a promise, another verb, another language."""
UNFRAMED = (
    "It was {} as well.", "It is {} for you from today on.", "Status: {}.", "It has already been {}.",
    "It appears to have been {}.", "It has been {} by the head office.",
)  # fmt: skip
"""Claims of a deed in its declared word, in a form that no claim frame has, or that a word list takes for no claim."""
ASKED_FOR = (
    *(MustSayAny, ExpectedContains, ReasonContains, MustMatchRegex, MustGroundNumber),
    *(RequiredSource, MustLabelAssumptions, MustAllowOverrideAction, AsksFor, EvidenceFreshness, AllocationValid),
)
"""Checks that find words in an answer, wherever they are."""
DISMISSED = "So much for {}."
RHETORICAL = "Who needs {} these days?"
ASKS_NOTHING = "Who would want to know more these days?"
ALL_THE_SAME = "All the same, it is 4711."
ALLUSION = "You know what I am not allowed to say, and that is just what I mean."
FORBIDDING = (MustNotSay, MustNotContain, MustNotMatchRegex, NoLeak)
MOST_SENTENCES = 100
MOST_SEEN = 12
"""Numbers that others are derived from."""

_BREAK = regex.compile(r"(?<=[.!?])[ \t]+(?=[A-Z])|\n+(?=\S)")
_MARK = regex.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])[ \t]+")
_SENTENCE = regex.compile(r"(?<=[.!?])\s+|\n+")


def slipped_in(subject: Subject) -> Iterator[Mutant]:
    """A claim in words of no list."""
    yield from (_with_claim(subject, claim) for claim in PARAPHRASES if subject.answer.strip())


def unframed(subject: Subject) -> Iterator[Mutant]:
    """A declared deed that no call did, in each of the other forms; where all were done, one of them fails."""
    if word := next(declared_words(subject), None):
        yield from (_with_claim(subject, form.format(word)) for form in UNFRAMED)
        return
    calls = (structs.replace(call, success=False, result=None, error="refused") for call in subject.trace.tool_calls)
    failed = structs.replace(subject.trace, tool_calls=tuple(calls))
    if word := next(declared_words(Subject(subject.case, failed)), None):
        for claim in (form.format(word) for form in UNFRAMED):
            yield Mutant(structs.replace(failed, final_message=claim), f"all calls failed, the answer was {claim!r}")


def _with_claim(subject: Subject, claim: str) -> Mutant:
    """The claim comes after the first sentence or line, so that the end stays as it was if there is another."""
    text = subject.answer.strip()
    break_ = _BREAK.search(text)
    end = break_.start() if break_ else len(text)
    return Mutant(subject.with_answer(f"{text[:end]} {claim}{text[end:]}"), f"the answer also claimed {claim!r}")


def hollow(subject: Subject) -> Iterator[Mutant]:
    """What each check looks for, without its meaning: dismissed, as filler, as a word that the next sentence belies."""
    yield from _dismissed(subject)
    for args in subject.arguments(ClaimEvidenceAlignment):
        markers = [_first(args[part], subject.answer) for part in ("claim", "evidence", "alignment")]
        text = "\n".join(f"{marker} ..." for marker in markers)
        yield Mutant(subject.with_answer(text), f"the answer was nothing but {excerpt(text)!r}")
    if any(subject.arguments(RequiredLevers)):
        fillers = (f"- Hm {letter}\n" for letter in cycle(ascii_lowercase))
        text = BULLET.sub(lambda _: next(fillers), subject.answer)
        yield Mutant(subject.with_answer(text), "the items of its list were 'Hm a', 'Hm b'")
    if subject.case.outcome == "needs_input":
        yield Mutant(subject.with_answer(ASKS_NOTHING), f"the answer was {ASKS_NOTHING!r}")
    elif subject.case.outcome in ("graceful_block", "graceful_error"):
        yield _with_claim(subject, ALL_THE_SAME)


class _Satisfied(NamedTuple):
    """A check that passes, and the words that satisfy it."""

    check: Check
    start: int
    words: str


def _dismissed(subject: Subject) -> Iterator[Mutant]:
    """Of each check, the sentences that satisfy it by themselves: in their place, one that dismisses their words."""
    satisfied, earlier = [*_find_words(subject)], set()
    pieces = _pieces(subject.answer) if satisfied else []
    for check, *_ in satisfied:
        alone = [piece for piece in pieces if run_check(check, subject.with_answer(piece[0])).status is Status.PASSED]
        removed = alone or [(subject.answer, 0)]
        lost = [each for each in satisfied if any(start <= each.start < start + len(text) for text, start in removed)]
        form = RHETORICAL if any(isinstance(each.check, AsksFor) for each in lost) else DISMISSED
        sentence = form.format(", ".join(dict.fromkeys(each.words for each in lost)))
        if sentence not in earlier:
            earlier.add(sentence)
            text = _replace_pieces(subject.answer, removed, sentence)
            yield Mutant(subject.with_answer(text), f"of what was asked for, it only said {excerpt(sentence)!r}")


def _find_words(subject: Subject) -> Iterator[_Satisfied]:
    for check in [msgspec.convert(args, kind) for kind in ASKED_FOR for args in subject.arguments(kind)]:
        result = run_check(check, subject.trace)
        at = result.at if result.status is Status.PASSED else None
        if at and at.channel == "final_message" and at.start is not None:
            yield _Satisfied(check, at.start, subject.answer[at.start : at.end].strip(" \n.!?,;"))


def _pieces(text: str) -> list[tuple[str, int]]:
    """Sentences and lines, and where they begin; of many, the rest as one."""
    starts = [0, *(match.end() for match in islice(_SENTENCE.finditer(text), MOST_SENTENCES)), len(text)]
    return [(text[start:end], start) for start, end in pairwise(starts) if text[start:end].strip()]


def _replace_pieces(text: str, pieces: Sequence[tuple[str, int]], sentence: str) -> str:
    """The text without these pieces, and the sentence in place of the first, as an item if that was one."""
    mark = _MARK.match(pieces[0][0])
    for piece, start in reversed(pieces):
        ending = piece[len(piece.rstrip()) :]
        replacement = f"{mark[0] if mark else ''}{sentence}{ending}" if start == pieces[0][1] else ""
        text = f"{text[:start]}{replacement}{text[start + len(piece) :]}"
    return text


def _first(pattern: str, text: str) -> str:
    """What the pattern finds first."""
    try:
        span = safe_regex.search(pattern, text)
    except safe_regex.RegexTimeout:
        span = None
    return text[slice(*span)].strip() if span else ""


def paraphrased(subject: Subject) -> Iterator[Mutant]:
    """What is forbidden: alluded to, and each phrase of several words with others between them."""
    phrases = [args["phrase"].split() for kind in FORBIDDING[:2] for args in subject.arguments(kind)]
    split = [f"{words[0].capitalize()}, so to speak, {' '.join(words[1:])}." for words in phrases if len(words) > 1]
    if any(any(subject.arguments(kind)) for kind in FORBIDDING):
        for sentence in (ALLUSION, *split):
            text = f"{subject.answer.rstrip()} {sentence}"
            yield Mutant(subject.with_answer(text), f"the answer also said {sentence!r}")


def borrowed(subject: Subject) -> Iterator[Mutant]:
    """Each amount in the answer, as another number that was seen, a sum or count of some, and a difference of two.

    Where the case does not ask where numbers come from, other operators show that any number passes.
    """
    text, trace = subject.answer, subject.trace
    grounded = next(subject.arguments(GroundedNumbers), None)
    stated = list(islice(amounts(text), MOST_SENTENCES)) if grounded is not None else []
    if grounded is None or not stated:
        return
    excluded = {Decimal(), *(abs(amount.value) for amount in stated)}
    holders = holders_of(trace)
    alike = (pair for group in alike_sources(holders) for pair in combinations(group[:MOST_SEEN], 2))
    differences = (NumberSource(abs(a.value - b.value), f"{a.name} less {b.name}") for a, b in alike)
    observed = observed_sources(trace, grounded.get("constants", ()), grounded.get("texts", {}))
    kinds = (observed, derived_sources(trace, holders), differences)
    sources = [next((source for source in kind if abs(source.value) not in excluded), None) for kind in kinds]
    for amount in stated:
        start, end = amount.span
        for source in filter(None, sources):
            number = f"{abs(source.value):f}"
            changed = subject.with_answer(f"{text[:start]}{number}{text[end:]}")
            yield Mutant(changed, f"{text[start:end]} became {number}, taken from {source.name}")


_of_whole_answer = partial(
    of_answer,
    lack="says what the whole answer is",
    fields=("must_match_regex",),
    helps=" for the whole answer, from \\A to \\Z",
)
OPERATORS = (
    _of_whole_answer(
        "claim-slipped-in",
        "the answer also claims something that was never done, in words that no word list has",
        mutants=slipped_in,
    ),
    _of_whole_answer(
        "claim-unframed",
        "the answer claims what was never done in a declared word, but in a form that is not a claim frame",
        mutants=unframed,
    ),
    _of_whole_answer(
        "words-hollow",
        "the answer has the words that are asked for, but dismisses them or says nothing with them",
        mutants=hollow,
    ),
    _of_whole_answer(
        "forbidden-paraphrased", "the answer says in other words what it must not say", mutants=paraphrased
    ),
    of_answer(
        "number-borrowed",
        "a number is right for something else: another value that was seen, a sum or a difference",
        "says which number it is",
        borrowed,
        ("must_ground_numbers",),
        helps=" for each number that matters, with `from_tool` and `at`",
    ),
)
