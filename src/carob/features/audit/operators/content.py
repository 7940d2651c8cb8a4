"""What the answer says of the world: its numbers, sources, assumptions and ages."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence

import regex

from carob.checks.answer.brief import EvidenceFreshness
from carob.checks.answer.phrases import MustLabelAssumptions, RequiredSource
from carob.features.audit.operators.answers import SPOKEN
from carob.features.audit.operators.base import Mutant, Subject, of_answer
from carob.text import phrases
from carob.text.ages.stated import Age, ages_by, stated_ages
from carob.text.prose.sentences import prose
from carob.text.regexes import safe_regex
from carob.text.tool_results import parse_result
from carob.text.words import PUBLISHED

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
    matches = [m for m in NUMBER.finditer(text) if m.end() not in items]
    for number in dict.fromkeys(m[0] for m in matches):
        changed = number[:-1] + str((int(number[-1]) + 3) % 10)  # another number of the same look
        answer = _replace_spans(text, [m.span() for m in matches if m[0] == number], changed)
        yield Mutant(subject.with_answer(answer), f"{number} became {changed}", _grounding(subject, number))


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
    earlier = set()
    for source, names in sources:
        shorter = _without(text, names)
        if shorter.strip() and shorter not in earlier:
            earlier.add(shorter)
            yield Mutant(subject.with_answer(shorter), f"nothing was said of {source}", {"required_sources": [source]})


def assumptions_removed(subject: Subject) -> Iterator[Mutant]:
    text = subject.answer
    markers = [marker for args in subject.arguments(MustLabelAssumptions) for marker in args.get("markers", ())]
    spans = [span for marker in markers for span in phrases.word_spans(text, marker)]
    answer = prose(text)
    spans += [answer.written_span(*match.span()) for match in PUBLISHED.pattern("assumption").finditer(answer.text)]
    shorter = _replace_spans(text, spans, "")
    for _ in range(MOST_MARKERS):
        span = phrases.find_any(shorter, markers)
        if span is None:
            break
        shorter = _replace_spans(shorter, [span], "")
    if shorter.strip() and phrases.find_any(shorter, markers) is None:
        change = "its assumptions and doubts were not marked"
        yield Mutant(subject.with_answer(shorter), change, {"must_label_assumptions": True})


def ages_stale(subject: Subject) -> Iterator[Mutant]:
    """Every age that the answer states, as it is stated or as a regex of the case finds it."""
    text = subject.answer
    freshness = next(subject.arguments(EvidenceFreshness), None)
    pattern = freshness.get("regex", "") if freshness else ""
    stated = stated_ages(text)
    if freshness is None or pattern:
        # Not every span of time is an age: the answer must say so, if the case does not take it for one.
        stated = [age for age in stated if STATED.match(text, age.span[1])]
    replacements = [(stated, [age.span for age in stated], STALE)]
    if pattern:
        matches = _find_ages(pattern, text)
        replacements.append((matches, [_first_number(text, age.span) for age in matches], STALE_MINUTES))
    for ages, spans, stale in replacements:
        if spans:
            bound = max(HOUR, math.ceil(max(age.minutes for age in ages) / HOUR) * HOUR)
            change = "every age that it states became 400 days"
            fix = {"evidence_freshness_max_age_minutes": bound}
            yield Mutant(subject.with_answer(_replace_spans(text, spans, stale)), change, fix)


def _find_ages(pattern: str, text: str) -> list[Age]:
    try:
        return ages_by(pattern, text)
    except safe_regex.RegexTimeout:
        return []


def _first_number(text: str, span: Span) -> Span:
    number = DIGITS.search(text, *span)
    return number.span() if number else span


def _replace_spans(text: str, spans: Iterable[Span], replacement: str) -> str:
    """The text with other words at these places; of places that overlap, the first counts."""
    parts, end = [], 0
    for start, stop in sorted(spans):
        if start >= end:
            parts += [text[end:start], replacement]
            end = stop
    return "".join((*parts, text[end:]))


def _without(text: str, names: Sequence[str]) -> str:
    """The text without the sentences that hold one of these phrases."""
    lines = []
    for line in text.split("\n"):
        sentences = SENTENCE.split(line)
        remaining = [sentence for sentence in sentences if phrases.find_any_word(sentence, names) is None]
        if remaining or not line.strip():
            lines.append(line if len(remaining) == len(sentences) else " ".join(remaining))
    return "\n".join(lines)


OPERATORS = (
    of_answer(
        "number-changed",
        "a number is wrong",
        "looks at numbers",
        numbers_changed,
        ("must_ground_numbers", "must_match_regex", *SPOKEN),
    ),
    of_answer(
        "source-removed",
        "a source is not mentioned",
        "requires the source",
        source_removed,
        ("required_sources", "must_ground_numbers", "must_match_regex", *SPOKEN, "required_levers"),
    ),
    of_answer(
        "assumptions-removed",
        "no assumption or doubt is marked",
        "requires marked assumptions",
        assumptions_removed,
        ("must_label_assumptions", "must_match_regex", *SPOKEN),
    ),
    of_answer(
        "ages-stale",
        "the evidence is stale",
        "looks at the age of the evidence",
        ages_stale,
        (
            "evidence_freshness_max_age_minutes",
            "must_ground_numbers",
            "must_match_regex",
            *SPOKEN,
            "must_not_match_regex",
        ),
    ),
)
