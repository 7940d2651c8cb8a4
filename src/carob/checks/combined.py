"""Checks that are made of others: in any turn, and several by weight."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, NotRequired, TypedDict, get_args

import msgspec
from msgspec import Meta, Struct

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
from carob.checks.answer.text import AnswerEquals
from carob.checks.base import ALL_WORDS, Check, CheckRequest, Phrase, Phrases, keep_given, own_field, read_each
from carob.checks.sample_traces import says
from carob.model.check import CheckProblem, Example, Expected
from carob.model.trace import Channel, Trace
from carob.model.verdict import CheckResult, Group, Status

AUTHORS_WORDS: tuple[type[Check], ...] = (
    MustSayAny, MustMatchRegex, AnswerEquals, ExpectedContains, ReasonContains, AsksFor,
)  # fmt: skip
"""Checks by which an author says what an answer holds."""
WORD_CHECKS: tuple[type[Check], ...] = (
    *AUTHORS_WORDS, MustLabelAssumptions, MustNotSay, MustNotMatchRegex, MustNotContain, RequiredSource,
)  # fmt: skip

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
    field: ClassVar = own_field(
        Annotated[AnyTurn, Meta(min_length=1)],
        "Word checks, each of which must pass for at least one answer of the conversation.",
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
        words_expected = {**expected.get("in_any_turn", {}), **keep_given(expected, "words")}
        for kind in WORD_CHECKS:
            for reading in kind.read(words_expected):
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


DIGITS = 9
"""Weights such as 0.1 are not exact in binary."""
TWO = [{"check": "answer_text", "args": {"contains": "a"}}, {"check": "answer_text", "args": {"contains": "b"}}]


class ScoredPart(TypedDict):
    """One of the checks, by its name and arguments."""

    check: Annotated[Phrase, Meta(description="The name of the check; `carob help checks` has them.")]
    args: Annotated[dict[str, Any], Meta(description="Its arguments.")]
    weight: NotRequired[Annotated[float, Meta(gt=0, description="How much it counts; 1 if not given.")]]
    turn: NotRequired[Annotated[int, Meta(ge=1, description="The turn of the conversation that it judges.")]]


class ScoreRule(TypedDict):
    """Checks of which enough must hold."""

    threshold: Annotated[float, Meta(gt=0, le=1, description="The weighted share that must pass.")]
    of: Annotated[list[ScoredPart], Meta(min_length=1, description="The checks.")]


class WeighedCheck(Struct, frozen=True):
    """One of the checks."""

    check: str
    args: dict[str, Any]
    weight: float = 1.0
    turn: int | None = None


class ScoreOf(Check, Struct, frozen=True, dict=True):
    """Enough of several checks hold, each by its weight."""

    name: ClassVar = "score_of"
    group: ClassVar = Group.QA
    channels: ClassVar = frozenset(get_args(Channel))  # those of its parts, which differ from case to case
    field: ClassVar = own_field(
        Annotated[list[ScoreRule], Meta(min_length=1)],
        "Checks with weights; the weighted share that passes must reach `threshold`.",
    )
    examples: ClassVar = (
        Example({"threshold": 0.5, "of": TWO}, says("b"), Status.PASSED),
        Example({"threshold": 1.0, "of": TWO}, says("b"), Status.FAILED),
        Example({"threshold": 0.5, "of": [{**TWO[0], "weight": 3}, TWO[1]]}, says("b"), Status.FAILED),
        Example({"threshold": 0.5, "of": [TWO[0], {"check": "tool_calls_any", "args": {"tools": ["x"]}}]}, says("b"),
                Status.UNKNOWN),
    )  # fmt: skip
    classes: ClassVar[Mapping[str, type[Check]]]
    """The checks that it may name. The catalog gives them to it: it is one of them."""
    threshold: float
    of: tuple[WeighedCheck, ...]

    read = read_each()

    @property
    def description(self) -> str:
        each = "; ".join(check.description for check in self._inner)
        return f"{self.threshold:g} of: {each}"

    @cached_property
    def _inner(self) -> tuple[Check, ...]:
        return tuple(msgspec.convert(part.args, self.classes[part.check]) for part in self.of)

    def validate(self) -> Iterator[CheckProblem]:
        for index, part in enumerate(self.of):
            if part.check not in self.classes:
                yield CheckProblem("unknown-check", f"no check is called {part.check!r}.", ("of", index, "check"))
                return
            try:
                check = msgspec.convert(part.args, self.classes[part.check])
            except msgspec.ValidationError as error:
                yield CheckProblem("invalid-value", f"{part.check}: {error}.", ("of", index, "args"))
                return
            for problem in check.validate():
                yield problem._replace(path=("of", index, "args", *problem.path))

    def judge(self, trace: Trace) -> CheckResult:
        passed = failed = 0.0
        details = []
        for part, check in zip(self.of, self._inner, strict=True):
            if part.turn is not None and part.turn > len(trace.turns):
                return self.unknown(f"the trace has no turn {part.turn}")
            result = check.judge(trace if part.turn is None else trace.turns[part.turn - 1])
            passed += part.weight * (result.status is Status.PASSED)
            failed += part.weight * (result.status is Status.FAILED)
            if result.status is not Status.PASSED:
                details.append(f"{result.status}: {result.expected}, found {result.found}")
        total = sum(part.weight for part in self.of)
        least, most = round(passed / total, DIGITS), round((total - failed) / total, DIGITS)
        summary = f"{least:g}{f'; {details[0]}' if details else ''}"
        if least >= round(self.threshold, DIGITS):
            return self.passed(summary)
        return self.failed(summary) if most < round(self.threshold, DIGITS) else self.unknown(summary)
