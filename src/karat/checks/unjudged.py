"""What a suite expects and no check of Karat can judge: it needs a model, or another tool does it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from karat.checks.base import Check, CheckRequest, Phrase, each
from karat.checks.sample_traces import says
from karat.model.check import Example, Expected, Field
from karat.model.suite import UNJUDGED
from karat.model.trace import Trace
from karat.model.verdict import CheckResult, Group, Status


class Unjudged(Check, Struct, frozen=True):
    """An expectation that only another tool can judge: counted and reported, never a pass and never a failure."""

    name: ClassVar = UNJUDGED
    group: ClassVar = Group.QA
    shows: ClassVar = frozenset({Status.UNJUDGED})
    fields: ClassVar = (
        Field(
            "unjudged",
            Annotated[list[Phrase], Meta(min_length=1)],
            "Something that only another tool can judge, such as a rubric: reported as not judged, one per entry.",
            since="1",
        ),
    )
    examples: ClassVar = (Example({"what": "llm-rubric: is polite"}, says("Gladly."), Status.UNJUDGED),)
    what: str

    @classmethod
    def read(cls, expected: Expected) -> Iterator[CheckRequest]:
        return each("unjudged", "what", expected)

    @property
    def description(self) -> str:
        return self.what

    def judge(self, trace: Trace) -> CheckResult:
        return CheckResult(self.name, self.group, Status.UNJUDGED, self.what)
