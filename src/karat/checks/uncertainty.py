"""Whether the final message owns up to what it assumes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal

from msgspec import Struct

from karat.checks.base import ANSWER, Check, CheckRequest, Phrases, quoted
from karat.checks.sample_traces import says
from karat.checks.says import unfailable
from karat.model.check import CheckProblem, Example, Field
from karat.model.trace import Trace
from karat.model.verdict import CheckResult, Group, Status
from karat.text import phrases
from karat.text.forms.offsets import Span
from karat.text.prose.denial import find_listed, first_free, is_marker_denied
from karat.text.prose.sentences import prose
from karat.text.words import WordLists


class MustLabelAssumptions(Check, Struct, frozen=True):
    """A marker of assumption or uncertainty is in the final message."""

    name: ClassVar = "must_label_assumptions"
    failure: ClassVar = ("", "did not say ")
    group: ClassVar = Group.UNCERTAINTY
    channels: ClassVar = ANSWER
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
    words: dict[str, tuple[str, ...]] = {}

    @classmethod
    def read(cls, expected: Mapping[str, object]) -> Iterator[CheckRequest]:
        if "must_label_assumptions" in expected:
            args = {"markers": expected.get("assumption_markers_any", [])}
            yield CheckRequest(
                args | ({"words": expected["words"]} if "words" in expected else {}), ("must_label_assumptions",)
            )

    @property
    def description(self) -> str:
        return quoted(self.markers) if self.markers else "a marker of assumption or uncertainty"

    def validate(self) -> Iterator[CheckProblem]:
        return unfailable(*self.markers)

    def judge(self, trace: Trace) -> CheckResult:
        text, words = trace.final_message, WordLists.of(self.words)
        if not self.markers:
            return self.present(trace, find_listed(text, "assumption", words, is_marker_denied))
        found = ((marker, span) for marker in self.markers if (span := phrases.find(text, marker)))
        spans = (_place_of(text, marker, span, words) for marker, span in found)
        return self.present(trace, next(filter(None, spans), None))


def _place_of(text: str, marker: str, span: Span, words: WordLists) -> Span | None:
    """Where the marker is and is not denied; markup in it is looked for as written, where nothing denies it."""
    answer = prose(text)
    places = answer.places(marker, whole=False)
    return first_free(answer, places, is_marker_denied, words) if places else span
