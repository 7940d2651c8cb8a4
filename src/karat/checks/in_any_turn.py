"""Words that one answer of a conversation holds, whichever it is."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, TypedDict

import msgspec
from msgspec import Meta, Struct

from karat.checks.answers import AnswerEquals
from karat.checks.base import ALL_WORDS, Check, CheckRequest, Phrase, Phrases
from karat.checks.golden import ExpectedContains, MustNotContain, ReasonContains
from karat.checks.reading import keep_given
from karat.checks.sample_traces import says
from karat.checks.says import (
    AsksFor,
    MustLabelAssumptions,
    MustMatchRegex,
    MustNotMatchRegex,
    MustNotSay,
    MustSayAny,
    RequiredSource,
)
from karat.model.check import CheckProblem, Example, Expected, Field
from karat.model.trace import Trace
from karat.model.verdict import CheckResult, Group, Status

AUTHORS_WORDS: tuple[type[Check], ...] = (
    MustSayAny,
    MustMatchRegex,
    AnswerEquals,
    ExpectedContains,
    ReasonContains,
    AsksFor,
)
"""Checks by which an author says what an answer holds."""
WORD_CHECKS: tuple[type[Check], ...] = (
    *AUTHORS_WORDS,
    MustLabelAssumptions,
    MustNotSay,
    MustNotMatchRegex,
    MustNotContain,
    RequiredSource,
)

TWO_TURNS = Trace(case_id="example", turns=(says("The fee is 5 EUR."), says("Goodbye.")), final_message="Goodbye.")


class AnyTurn(TypedDict, total=False):
    """Word checks, each of which holds for at least one answer."""

    must_say_any: Annotated[Phrases, Meta(description="The answer contains at least one of these phrases.")]
    must_match_regex: Annotated[Phrases, Meta(description="The answer has a match; one check per entry.")]
    answer_equals: Annotated[Phrase, Meta(description="The answer is this text.")]
    expected_contains: Annotated[Phrases, Meta(description="The answer contains the phrase; one check per entry.")]
    reason_contains: Annotated[Phrases, Meta(description="The answer contains the phrase; one check per entry.")]
    asks_for: Annotated[
        list[Phrase | Phrases], Meta(min_length=1, description="The answer asks for it; one check per entry.")
    ]
    must_label_assumptions: Annotated[Literal[True], Meta(description="The answer names its assumptions.")]
    required_sources: Annotated[Phrases, Meta(description="The answer names the source; one check per entry.")]
    must_not_say: Annotated[Phrases, Meta(description="The answer lacks the phrase; one check per entry.")]
    must_not_match_regex: Annotated[Phrases, Meta(description="The answer has no match; one check per entry.")]
    must_not_contain: Annotated[Phrases, Meta(description="The answer lacks the phrase; one check per entry.")]


def checks_of(expected: Expected, kinds: tuple[type[Check], ...]) -> tuple[Check, ...]:
    """The checks of these kinds that a part of `expected` asks for."""
    return tuple(msgspec.convert(reading.args, kind) for kind in kinds for reading in kind.read(expected))


class InAnyTurn(Check, Struct, frozen=True, dict=True):
    """The word check holds for at least one answer of the conversation."""

    name: ClassVar = "in_any_turn"
    group: ClassVar = Group.FORMATTING
    channels: ClassVar = ALL_WORDS
    fields: ClassVar = (
        Field(
            "in_any_turn",
            Annotated[AnyTurn, Meta(min_length=1)],
            "Word checks, each of which must pass for at least one answer of the conversation.",
            since="1",
        ),
    )
    examples: ClassVar = (
        Example({"check": "must_say_any", "args": {"phrases": ["5 EUR"]}}, TWO_TURNS, Status.PASSED),
        Example({"check": "must_say_any", "args": {"phrases": ["6 EUR"]}}, TWO_TURNS, Status.FAILED),
        Example({"check": "must_not_say", "args": {"phrase": "Goodbye"}}, TWO_TURNS, Status.PASSED),
        Example(
            {"check": "must_say_any", "args": {"phrases": ["5 EUR"]}},
            says("", unobserved={"final_message": "the page moved on"}),
            Status.UNKNOWN,
        ),
    )
    check: str
    args: dict[str, Any]

    @classmethod
    def read(cls, expected: Expected) -> Iterator[CheckRequest]:
        asked = {**expected.get("in_any_turn", {}), **keep_given(expected, "words")}
        for kind in WORD_CHECKS:
            for reading in kind.read(asked):
                yield CheckRequest({"check": kind.name, "args": reading.args}, ("in_any_turn", *reading.path))

    @cached_property
    def inner(self) -> Check:
        kind = next(kind for kind in WORD_CHECKS if kind.name == self.check)
        return msgspec.convert(self.args, kind)

    @property
    def description(self) -> str:
        return f"in one answer: {self.inner.description}"

    def validate(self) -> Iterator[CheckProblem]:
        return self.inner.validate()

    def judge(self, trace: Trace) -> CheckResult:
        doubt = None
        for number, turn in enumerate(trace.turns or (*trace.earlier, trace), 1):
            result = self.inner.judge(turn)
            if result.status is Status.PASSED:
                return self.passed(f"turn {number}: {result.found}".rstrip(": "))
            doubt = doubt or (result.found if result.status is Status.UNKNOWN else None)
        return self.unknown(doubt) if doubt else self.failed("in no answer")
