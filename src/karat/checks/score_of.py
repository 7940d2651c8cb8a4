"""Several checks that count together: enough of them must hold, each by its weight."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, Any, ClassVar, NotRequired, TypedDict, get_args

import msgspec
from msgspec import Meta, Struct

from karat.checks.base import Check, Phrase
from karat.checks.reading import read_each
from karat.checks.sample_traces import says
from karat.model.check import CheckProblem, Example, Field
from karat.model.trace import Channel, Trace
from karat.model.verdict import CheckResult, Group, Status

DIGITS = 9
"""Weights such as 0.1 are not exact in binary."""
TWO = [{"check": "answer_text", "args": {"contains": "a"}}, {"check": "answer_text", "args": {"contains": "b"}}]


class ScoredPart(TypedDict):
    """One of the checks, by its name and arguments."""

    check: Annotated[Phrase, Meta(description="The name of the check; docs/checks.md has them.")]
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
    fields: ClassVar = (
        Field(
            "score_of",
            Annotated[list[ScoreRule], Meta(min_length=1)],
            "Checks with weights; the weighted share that passes must reach `threshold`.",
            since="1",
        ),
    )
    examples: ClassVar = (
        Example({"threshold": 0.5, "of": TWO}, says("b"), Status.PASSED),
        Example({"threshold": 1.0, "of": TWO}, says("b"), Status.FAILED),
        Example({"threshold": 0.5, "of": [{**TWO[0], "weight": 3}, TWO[1]]}, says("b"), Status.FAILED),
        Example({"threshold": 0.5, "of": [TWO[0], {"check": "tool_calls_any", "args": {"tools": ["x"]}}]}, says("b"),
                Status.UNKNOWN),
    )  # fmt: skip
    threshold: float
    of: tuple[WeighedCheck, ...]

    read = read_each()

    @property
    def description(self) -> str:
        each = "; ".join(check.description for check in self._inner)
        return f"{self.threshold:g} of: {each}"

    @cached_property
    def _inner(self) -> tuple[Check, ...]:
        from karat.checks.catalog import BUILT_IN  # late: the catalog lists this class

        return tuple(msgspec.convert(part.args, BUILT_IN[part.check]) for part in self.of)

    def validate(self) -> Iterator[CheckProblem]:
        from karat.checks.catalog import BUILT_IN  # late: the catalog lists this class

        for index, part in enumerate(self.of):
            if part.check not in BUILT_IN:
                yield CheckProblem("unknown-check", f"no check is called {part.check!r}.", ("of", index, "check"))
                return
            try:
                check = msgspec.convert(part.args, BUILT_IN[part.check])
            except msgspec.ValidationError as error:
                yield CheckProblem("invalid-value", f"{part.check}: {error}.", ("of", index, "args"))
                return
            for flaw in check.validate():
                yield flaw._replace(path=("of", index, "args", *flaw.path))

    def judge(self, trace: Trace) -> CheckResult:
        held = lost = 0.0
        said = []
        for part, check in zip(self.of, self._inner, strict=True):
            if part.turn is not None and part.turn > len(trace.turns):
                return self.unknown(f"the trace has no turn {part.turn}")
            result = check.judge(trace if part.turn is None else trace.turns[part.turn - 1])
            held += part.weight * (result.status is Status.PASSED)
            lost += part.weight * (result.status is Status.FAILED)
            if result.status is not Status.PASSED:
                said.append(f"{result.status}: {result.expected}, found {result.found}")
        total = sum(part.weight for part in self.of)
        least, most = round(held / total, DIGITS), round((total - lost) / total, DIGITS)
        found = f"{least:g}{f'; {said[0]}' if said else ''}"
        if least >= round(self.threshold, DIGITS):
            return self.passed(found)
        return self.failed(found) if most < round(self.threshold, DIGITS) else self.unknown(found)
