"""The answer letter by letter, as most other tools compare it: nothing is folded, nothing is left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, TypedDict

from msgspec import Meta, Struct

from karat.checks.base import (
    ANSWER,
    Check,
    Phrase,
    Phrases,
    excerpt,
    quote_answer,
    unreadable,
)
from karat.checks.json_paths import path_problems, values_at
from karat.checks.reading import read_each
from karat.checks.sample_traces import says
from karat.matchers.values import format_value
from karat.model.check import CheckProblem, Example, Field
from karat.model.trace import TextLoss, Trace
from karat.model.verdict import CheckResult, EvidenceLocation, Group, Status
from karat.text.json_answers import json_answer
from karat.text.phrases import distance_within
from karat.text.regexes.safe_regex import RegexTimeout, find_javascript, why_bad_javascript

TESTS = ("contains", "contains_any", "contains_all", "starts_with", "equals", "regex", "near", "min_words", "max_words")
CUT = says("Total", cuts={"final_message": TextLoss("only a part was kept")})


class TextRule(TypedDict, total=False):
    """One thing that holds for the text of the answer, letter by letter."""

    contains: Annotated[Phrase, Meta(description="The answer contains this text.")]
    contains_any: Annotated[Phrases, Meta(description="The answer contains at least one of these.")]
    contains_all: Annotated[Phrases, Meta(description="The answer contains all of these.")]
    starts_with: Annotated[Phrase, Meta(description="The answer begins with this text.")]
    equals: Annotated[str, Meta(description="The answer is this text.")]
    regex: Annotated[Phrase, Meta(description="A JavaScript regex without flags that is found in the answer.")]
    near: Annotated[str, Meta(description="The answer is at most `distance` edits away from this text.")]
    distance: Annotated[int, Meta(ge=0, le=10_000, description="Letters added, removed or changed; 5 if not given.")]
    min_words: Annotated[int, Meta(ge=0, description="The minimum number of words, separated by white space.")]
    max_words: Annotated[int, Meta(ge=0, description="The maximum number of words, separated by white space.")]
    at: Annotated[Phrase, Meta(description="A JSONPath: check this value of the answer's JSON, not the whole answer.")]
    ignore_case: Annotated[Literal[True], Meta(description="Ignore letter case.")]
    negated: Annotated[Literal[True], Meta(description="Invert the check: it must fail.")]


class AnswerText(Check, Struct, frozen=True):
    """The text of the answer holds something, or is something, letter by letter."""

    name: ClassVar = "answer_text"
    group: ClassVar = Group.FORMATTING
    channels: ClassVar = ANSWER
    fields: ClassVar = (
        Field(
            "answer_text",
            Annotated[list[TextRule], Meta(min_length=1)],
            "Text in the answer, one check per entry; letter case, white space and punctuation must match.",
            since="1",
        ),
    )
    examples: ClassVar = (
        Example({"contains": "Paris"}, says("It is Paris."), Status.PASSED),
        Example({"contains": "Paris"}, says("It is paris."), Status.FAILED),
        Example({"contains": "PARIS", "ignore_case": True}, says("It is paris."), Status.PASSED),
        Example({"contains": "Paris", "negated": True}, says("It is Paris."), Status.FAILED),
        Example({"contains_any": ["Rome", "Paris"]}, says("Paris"), Status.PASSED),
        Example({"contains_all": ["Rome", "Paris"]}, says("Paris"), Status.FAILED),
        Example({"starts_with": "Dear"}, says("Dear Ann"), Status.PASSED),
        Example({"equals": "4"}, says("4 "), Status.FAILED),
        Example({"regex": r"^\d+$"}, says("42"), Status.PASSED),
        Example({"regex": r"^\d+$"}, says("42\n"), Status.FAILED),
        Example({"near": "kitten", "distance": 3}, says("sitting"), Status.PASSED),
        Example({"near": "kitten", "distance": 2}, says("sitting"), Status.FAILED),
        Example({"min_words": 2, "max_words": 3}, says("It is - so"), Status.FAILED),
        Example({"contains": "Rome", "at": "$.city"}, says('{"city": "Rome"}'), Status.PASSED),
        Example({"contains": "Rome", "at": "$.town"}, says('{"city": "Rome"}'), Status.FAILED),
        Example({"contains": "Rome"}, CUT, Status.UNKNOWN),
    )
    contains: str | None = None
    contains_any: tuple[str, ...] = ()
    contains_all: tuple[str, ...] = ()
    starts_with: str | None = None
    equals: str | None = None
    regex: str | None = None
    near: str | None = None
    distance: int = 5
    min_words: int | None = None
    max_words: int | None = None
    at: str = ""
    ignore_case: bool = False
    negated: bool = False

    read = read_each()

    @property
    def description(self) -> str:
        what = ", ".join(
            f"{test} {format_value(given)}" for test in self._given if (given := getattr(self, test)) is not None
        )
        near = f" within {self.distance} edits" if self.near is not None else ""
        case = ", whatever the letter case" if self.ignore_case else ""
        return f"{'not: ' if self.negated else ''}{what}{near}{case}{f' at {self.at}' if self.at else ''}"

    @property
    def _given(self) -> tuple[str, ...]:
        return tuple(test for test in TESTS if getattr(self, test) not in (None, ()))

    def validate(self) -> Iterator[CheckProblem]:
        if len(self._given) != 1 and set(self._given) != {"min_words", "max_words"}:
            yield CheckProblem("invalid-value", f"expected one of {', '.join(TESTS)}, found {len(self._given)}.")
        if self.regex is not None and (why := why_bad_javascript(self.regex)):
            yield CheckProblem("bad-regex", f"{why}.", ("regex",))
        if self.at:
            yield from path_problems(self.at)

    def judge(self, trace: Trace) -> CheckResult:
        text, lacks = self._text(trace)
        if text is None:
            why = unreadable(trace)
            return self.unknown(why) if why else self._result(False, trace, lacks)
        try:
            holds, span = self._holds(text)
        except RegexTimeout as error:
            return self.unknown(str(error))
        if why := unreadable(trace):
            # What is there stays there, whatever is missing; all else may be in the part that is not known.
            whole = span is None or not holds or bool(trace.why_uncertain("final_message", *span))
            if whole:
                return self.unknown(why)
        return self._result(holds, trace, span=None if self.at else span)

    def _result(self, holds: bool, trace: Trace, lacks: str = "", span: tuple[int, int] | None = None) -> CheckResult:
        found = excerpt(trace.final_message[slice(*span)]) if span else lacks or quote_answer(trace)
        at = EvidenceLocation("final_message", *span) if span else None
        return self.passed(found, at) if holds is not self.negated else self.failed(found, at)

    def _text(self, trace: Trace) -> tuple[str | None, str]:
        """The text that is judged, or what the answer lacks."""
        if not self.at:
            return trace.final_message, ""
        answer = json_answer(trace.final_message)
        if answer.why_not:
            return None, answer.why_not
        found = values_at(self.at, answer.value)
        return (as_text(found[0][1]), "") if found else (None, f"nothing at {self.at}")

    def _holds(self, text: str) -> tuple[bool, tuple[int, int] | None]:
        """Whether the answer is so, and where that shows."""
        fold = str.lower if self.ignore_case else str
        if self.regex is not None:
            span = find_javascript(self.regex, text, ignore_case=self.ignore_case)
            return span is not None, span
        held = fold(text)
        if self.equals is not None:
            return held == fold(self.equals), None
        if self.near is not None:
            return distance_within(held, fold(self.near), self.distance), None
        if self.starts_with is not None:
            return held.startswith(fold(self.starts_with)), (0, len(self.starts_with))
        if self.min_words is not None or self.max_words is not None:
            count = len(text.split())
            return (self.min_words or 0) <= count and (self.max_words is None or count <= self.max_words), None
        wanted = (self.contains,) if self.contains is not None else self.contains_any or self.contains_all
        places = [(held.find(fold(one)), len(one)) for one in wanted]
        there = [place for place in places if place[0] >= 0]
        enough = len(there) == len(places) if self.contains_all else bool(there)
        # Lower case may be longer than what it is of, and then the place is not known.
        span = (there[0][0], sum(there[0])) if there and len(held) == len(text) else None
        return enough, span


def as_text(value: object) -> str:
    """A value as its tool would print it: a text as it is, all else as JSON."""
    return value if isinstance(value, str) else format_value(value)
