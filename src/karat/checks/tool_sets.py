"""The tools that were called, as a set: how much of what was expected, and how little else."""

from __future__ import annotations

from typing import Annotated, ClassVar, TypedDict

from msgspec import Meta, Struct

from karat.checks.base import CALLS, Check, Phrases
from karat.checks.reading import read_whole
from karat.checks.sample_traces import UNSEEN_TOOLS, calls
from karat.model.check import Example, Field
from karat.model.trace import Trace
from karat.model.verdict import CheckResult, Group, Status


class F1Rule(TypedDict):
    """Tools, and how well the set of those that were called fits them."""

    tools: Annotated[Phrases, Meta(description="The tools that are expected.")]
    threshold: Annotated[float, Meta(ge=0, le=1, description="The lowest F1 score.")]


class ToolCallF1(Check, Struct, frozen=True):
    """The set of tools that were called fits the expected one: its F1 score reaches a threshold."""

    name: ClassVar = "tool_call_f1"
    group: ClassVar = Group.TOOL_HYGIENE
    channels: ClassVar = CALLS
    fields: ClassVar = (
        Field(
            "tool_call_f1",
            F1Rule,
            "How well the set of tools that were called fits: the harmonic mean of precision and recall.",
            since="1",
        ),
    )
    examples: ClassVar = (
        Example({"tools": ["find", "book"], "threshold": 1.0}, calls("book find find"), Status.PASSED),
        Example({"tools": ["find", "book"], "threshold": 0.6}, calls("find"), Status.PASSED),
        Example({"tools": ["find", "book"], "threshold": 0.7}, calls("find"), Status.FAILED),
        Example({"tools": ["find"], "threshold": 1.0}, calls(""), Status.FAILED),
        Example({"tools": ["find"], "threshold": 1.0}, UNSEEN_TOOLS, Status.UNKNOWN),
    )
    tools: tuple[str, ...]
    threshold: float

    read = read_whole()

    @property
    def description(self) -> str:
        return f"an F1 score of {self.threshold:g} for the tools {', '.join(self.tools)}"

    def judge(self, trace: Trace) -> CheckResult:
        if why := trace.why_incomplete("tools"):
            return self.unknown(why)
        wanted, found = set(self.tools), {call.name for call in trace.tool_calls if call.called}
        both = len(wanted & found)
        score = 2 * both / (len(wanted) + len(found)) if wanted or found else 0.0
        said = f"{score:.3f}: {', '.join(sorted(found)) or 'no tool was called'}"
        return self.passed(said) if score >= self.threshold else self.failed(said)
