"""Whether the final message owns up to what it assumes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal

from msgspec import Struct

from karat.checks.base import ANSWER, Check, CheckRequest, Phrases, blank, quoted
from karat.checks.sample_traces import says
from karat.model.check import CheckProblem, Example, Field
from karat.model.trace import Trace
from karat.model.verdict import CheckResult, Group, Status
from karat.text import phrases
from karat.text.forms.offsets import Span
from karat.text.prose.sentences import prose

MARKERS = (
    "assumption",
    "assumes",
    "assumed",
    "assuming",
    "uncertain",
    "uncertainty",
    "not certain",
    "unclear",
    "unverified",
    "not enough data",
    "insufficient data",
    "incomplete data",
    "missing data",
    "based on available data",
    "cannot verify",
    "could not verify",
    "cannot confirm",
    "may be stale",
    "might be stale",
    "may be incomplete",
    "might be incomplete",
    "low confidence",
    "medium confidence",
    "confidence: low",
    "confidence: medium",
)


class MustLabelAssumptions(Check, Struct, frozen=True):
    """A marker of assumption or uncertainty stands in the final message."""

    name: ClassVar = "must_label_assumptions"
    group: ClassVar = Group.UNCERTAINTY
    looks_at: ClassVar = ANSWER
    fields: ClassVar = (
        Field(
            "must_label_assumptions",
            Literal[True],
            "The final message names its assumptions or its uncertainty.",
            since="0.2",
        ),
        Field(
            "assumption_markers_any",
            Phrases,
            "One of these phrases counts as the label, in place of the built-in markers.",
            since="0.2",
        ),
    )
    companions: ClassVar = {"assumption_markers_any": "must_label_assumptions"}
    examples: ClassVar = (
        Example({}, says("Assumption: the sample is small."), Status.PASSED),
        Example({}, says("Without question, all is well."), Status.FAILED),
        Example({}, says("There is no assumption in it."), Status.FAILED),
        Example({"markers": ["ASSUMPTION 1:"]}, says("Assumption 1: one workspace."), Status.PASSED),
        Example({"markers": ["ASSUMPTION 1:"]}, says("Assuming one workspace."), Status.FAILED),
    )
    markers: tuple[str, ...] = ()

    @classmethod
    def read(cls, expected: Mapping[str, object]) -> Iterator[CheckRequest]:
        if "must_label_assumptions" in expected:
            yield CheckRequest({"markers": expected.get("assumption_markers_any", [])}, ("must_label_assumptions",))

    @property
    def wanted(self) -> str:
        return quoted(self.markers) if self.markers else "a marker of assumption or uncertainty"

    def flaws(self) -> Iterator[CheckProblem]:
        for flaw in blank(self.markers):
            yield flaw._replace(path=())

    def judge(self, trace: Trace) -> CheckResult:
        text = trace.final_message
        stands = phrases.find if self.markers else phrases.find_word
        for marker in self.markers or MARKERS:
            span = stands(text, marker)
            if span and (told := _told(text, marker, span, not self.markers)):
                return self.present(trace, told)
        return self.present(trace, None)


def _told(text: str, marker: str, span: Span, whole: bool) -> Span | None:
    """Where the marker stands and is not denied; markup in it is looked for as written, where nothing denies it."""
    from karat.text.prose.denial import denies_marker

    words = prose(text)
    places = words.places(marker, whole)
    if not places:
        return span
    return next((words.written(*place) for place in places if not denies_marker(words, *place)), None)
