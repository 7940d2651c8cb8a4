"""What the answer says of the world: its numbers, sources, assumptions and ages."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence

import regex

from karat.analysis.audit.operators.answers import REPORT
from karat.analysis.audit.operators.base import Mutant, Operator, Subject
from karat.checks.answer.brief import EvidenceFreshness
from karat.checks.answer.phrases import MustLabelAssumptions, RequiredSource
from karat.text import phrases
from karat.text.ages.stated import Age, ages_by, stated_ages
from karat.text.prose.sentences import prose
from karat.text.regexes import safe_regex
from karat.text.tool_results import parse_result
from karat.text.words import PUBLISHED

NUMBER = regex.compile(
    r"(?<![\w.,:/-])(?:\d{4}-\d\d-\d\d(?![\w-])|\d{1,2}:\d\d(?![\w:])|"
    r"\d+(?:,\d{3})*(?:\.\d+)?(?!st\b|nd\b|rd\b|th\b)(?=[a-z%°]{0,3}(?![\w-]|[.,:/]\d)))"
)
ITEM = regex.compile(r"^[ \t]*\d{1,3}[.)](?=[ \t])", regex.M)
LABEL = regex.compile(r"^[ \t]*(?:[-*+•]\s+)?(?:\*\*|__)?([A-Z][\w ]{1,24}?)(?:\*\*|__)?:(?:\*\*|__)?[ \t]*\S", regex.M)
SENTENCE = regex.compile(r"(?<=[.!?])\s+")
STATED = regex.compile(r"\s*(?:ago|old)\b", regex.I)
DIGITS = regex.compile(r"\d+")
STALE = "400 days"
STALE_MINUTES = "576000"
HOUR = 60
MOST_MARKERS = 50

Span = tuple[int, int]


def numbers_changed(subject: Subject) -> Iterator[Mutant]:
    """Each number that does not number an item, everywhere it occurs."""
    text = subject.answer
    items = {m.end() - 1 for m in ITEM.finditer(text)}
    found = [m for m in NUMBER.finditer(text) if m.end() not in items]
    for number in dict.fromkeys(m[0] for m in found):
        other = _other(number)
        spans = [m.span() for m in found if m[0] == number]
        yield Mutant(
            subject.with_answer(_replace_spans(text, spans, other)),
            f"{number} became {other}",
            _grounding(subject, number),
        )


def _grounding(subject: Subject, number: str) -> dict[str, object]:
    """Where the number comes from: the place of a tool's result that holds it, if one does."""
    for call in subject.trace.tool_calls:
        for key, value in result.items() if isinstance(result := parse_result(call.result), dict) else ():
            if not isinstance(value, bool) and isinstance(value, int | float) and f"{value}" == number.replace(",", ""):
                return {"must_ground_numbers": [{"label": key, "from_tool": call.name, "at": f"$[{json.dumps(key)}]"}]}
    return {}


def source_removed(subject: Subject) -> Iterator[Mutant]:
    """What the answer says of each source: of those that labels name, and of those that the case asks for.

    The case's own phrases for a source may be too common to prove anything, so its label counts as well.
    """
    text = subject.answer
    labels = list(dict.fromkeys(m[1] for m in LABEL.finditer(text)))
    sources = [(label, [label]) for label in labels if len(labels) > 1]
    sources += [(args["source"], args["phrases"]) for args in subject.arguments(RequiredSource)]
    done = set()
    for source, spelled in sources:
        left = _without(text, spelled)
        if left.strip() and left not in done:
            done.add(left)
            yield Mutant(subject.with_answer(left), f"nothing was said of {source}", {"required_sources": [source]})


def assumptions_removed(subject: Subject) -> Iterator[Mutant]:
    text = subject.answer
    own = [marker for args in subject.arguments(MustLabelAssumptions) for marker in args.get("markers", ())]
    spans = [span for marker in own for span in phrases.word_spans(text, marker)]
    answer = prose(text)
    spans += [answer.written_span(*found.span()) for found in PUBLISHED.pattern("assumption").finditer(answer.text)]
    left = _replace_spans(text, spans, "")
    for _ in range(MOST_MARKERS):
        found = phrases.find_any(left, own)
        if found is None:
            break
        left = _replace_spans(left, [found], "")
    if left.strip() and phrases.find_any(left, own) is None:
        change = "its assumptions and doubts were not marked"
        yield Mutant(subject.with_answer(left), change, {"must_label_assumptions": True})


def ages_stale(subject: Subject) -> Iterator[Mutant]:
    """Every age that the answer states, as it is stated or as a regex of the case finds it."""
    text = subject.answer
    asked = next(subject.arguments(EvidenceFreshness), None)
    pattern = asked.get("regex", "") if asked else ""
    stated = stated_ages(text)
    if asked is None or pattern:
        # Not every span of time is an age: the answer must say so, if the case does not take it for one.
        stated = [age for age in stated if STATED.match(text, age.span[1])]
    ways = [(stated, [age.span for age in stated], STALE)]
    if pattern:
        found = _find_ages(pattern, text)
        ways.append((found, [_first_number(text, age.span) for age in found], STALE_MINUTES))
    for aged, spans, stale in ways:
        if spans:
            bound = max(HOUR, math.ceil(max(age.minutes for age in aged) / HOUR) * HOUR)
            change = "every age that it states became 400 days"
            fix = {"evidence_freshness_max_age_minutes": bound}
            yield Mutant(subject.with_answer(_replace_spans(text, spans, stale)), change, fix)


def _find_ages(pattern: str, text: str) -> list[Age]:
    try:
        return ages_by(pattern, text)
    except safe_regex.RegexTimeout:
        return []


def _other(number: str) -> str:
    """Another number of the same look."""
    return number[:-1] + str((int(number[-1]) + 3) % 10)


def _first_number(text: str, span: Span) -> Span:
    number = DIGITS.search(text, *span)
    return number.span() if number else span


def _replace_spans(text: str, spans: Iterable[Span], other: str) -> str:
    """The text with other words at these places; of places that overlap, the first counts."""
    parts, end = [], 0
    for start, stop in sorted(spans):
        if start >= end:
            parts += [text[end:start], other]
            end = stop
    return "".join((*parts, text[end:]))


def _without(text: str, spelled: Sequence[str]) -> str:
    """The text without the sentences that hold one of these phrases."""
    kept = []
    for line in text.split("\n"):
        sentences = SENTENCE.split(line)
        left = [sentence for sentence in sentences if phrases.find_any_word(sentence, spelled) is None]
        if left or not line.strip():
            kept.append(line if len(left) == len(sentences) else " ".join(left))
    return "\n".join(kept)


OPERATORS = (
    Operator(
        name="number-changed",
        about="a number is wrong",
        nothing="looks at numbers",
        mutants=numbers_changed,
        kills={
            "must_ground_numbers": ["12"],
            "must_match_regex": [r"GitHub:\s*12\b"],
            "must_say_any": ["12 commits"],
            "expected_contains": ["12 commits"],
            "reason_contains": ["12 commits"],
        },
        trace=REPORT,
        of_answer=True,
    ),
    Operator(
        name="source-removed",
        about="a source is not mentioned",
        nothing="requires the source",
        mutants=source_removed,
        kills={
            "required_sources": ["Slack"],
            "must_ground_numbers": ["4"],
            "must_match_regex": [r"Slack:\s*\d"],
            "must_say_any": ["4 mentions"],
            "expected_contains": ["4 mentions"],
            "reason_contains": ["4 mentions"],
            "required_levers": 2,
        },
        trace=REPORT,
        of_answer=True,
    ),
    Operator(
        name="assumptions-removed",
        about="no assumption or doubt is marked",
        nothing="requires marked assumptions",
        mutants=assumptions_removed,
        kills={
            "must_label_assumptions": True,
            "must_match_regex": [r"^Assumption:"],
            "must_say_any": ["Assumption:"],
            "expected_contains": ["Assumption:"],
            "reason_contains": ["Assumption:"],
        },
        trace=REPORT,
        of_answer=True,
    ),
    Operator(
        name="ages-stale",
        about="the evidence is stale",
        nothing="looks at the age of the evidence",
        mutants=ages_stale,
        kills={
            "evidence_freshness_max_age_minutes": 60,
            "must_ground_numbers": ["30 minutes"],
            "must_match_regex": [r"\b30\s+min"],
            "must_say_any": ["30 minutes ago"],
            "expected_contains": ["30 minutes ago"],
            "reason_contains": ["30 minutes ago"],
            "must_not_match_regex": [r"\d+\s+days\s+ago"],
        },
        trace=REPORT,
        of_answer=True,
    ),
)
