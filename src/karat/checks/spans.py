"""The spans of a turn by their names: how many, how long, how many with an error."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, ClassVar, TypedDict

from msgspec import Meta, Struct

from karat.checks.base import Check, Phrase
from karat.checks.reading import read_each
from karat.checks.sample_traces import says
from karat.model.check import CheckProblem, Example, Field
from karat.model.trace import SpanNode, Trace
from karat.model.verdict import CheckResult, Group, Status

BOUNDS = ("min", "max", "max_ms", "max_errors", "max_error_percent")
NO_SPANS = "the target gave no spans: send them with OpenTelemetry"
CHAT = (
    SpanNode("1", "chat gpt", started_at=0.0, ended_at=0.2),
    SpanNode("2", "chat gpt", started_at=0.2, ended_at=1.2, error="timeout"),
)


class SpanRule(TypedDict, total=False):
    """Spans whose name fits a pattern, and what bounds them."""

    pattern: Annotated[Phrase, Meta(description="Their names; * and ? are wildcards, and letter case is ignored.")]
    min: Annotated[int, Meta(ge=0, description="The minimum number of such spans.")]
    max: Annotated[int, Meta(ge=0, description="The maximum number of such spans.")]
    max_ms: Annotated[float, Meta(ge=0, description="The maximum time for each of them, or for `percentile`.")]
    percentile: Annotated[float, Meta(gt=0, le=100, description="The share of them that must be within `max_ms`.")]
    max_errors: Annotated[int, Meta(ge=0, description="The maximum number with an error.")]
    max_error_percent: Annotated[float, Meta(ge=0, le=100, description="The maximum share with an error.")]


class Spans(Check, Struct, frozen=True):
    """The spans of the turn whose names fit a pattern are within bounds."""

    name: ClassVar = "spans"
    group: ClassVar = Group.TOOL_HYGIENE
    channels: ClassVar = frozenset({"spans"})
    fields: ClassVar = (
        Field(
            "spans",
            Annotated[list[SpanRule], Meta(min_length=1)],
            "Limits for the spans of the turn, by name, one check per entry.",
            since="1",
        ),
    )
    examples: ClassVar = (
        Example({"pattern": "CHAT*", "min": 2}, says("Hi", spans=CHAT), Status.PASSED),
        Example({"pattern": "chat*", "max": 1}, says("Hi", spans=CHAT), Status.FAILED),
        Example({"pattern": "chat*", "max_ms": 500}, says("Hi", spans=CHAT), Status.FAILED),
        Example({"pattern": "chat*", "max_ms": 500, "percentile": 50}, says("Hi", spans=CHAT), Status.PASSED),
        Example({"max_errors": 0}, says("Hi", spans=CHAT), Status.FAILED),
        Example({"max_error_percent": 50}, says("Hi", spans=CHAT), Status.PASSED),
        Example({"max_errors": 0}, says("Hi"), Status.UNKNOWN),
    )
    pattern: str = "*"
    min: int | None = None
    max: int | None = None
    max_ms: float | None = None
    percentile: float = 100
    max_errors: int | None = None
    max_error_percent: float | None = None

    read = read_each()

    @property
    def description(self) -> str:
        bounds = [f"{name} {given:g}" for name in BOUNDS if (given := getattr(self, name)) is not None]
        return f"spans {self.pattern!r}: {', '.join(bounds)}"

    def validate(self) -> Iterator[CheckProblem]:
        if all(getattr(self, name) is None for name in BOUNDS):
            yield CheckProblem("empty-expectation", f"it has no limit. Add one of {', '.join(BOUNDS)}.")

    def judge(self, trace: Trace) -> CheckResult:
        if not trace.spans:
            return self.unknown(NO_SPANS)
        spans = [span for span in trace.spans if fnmatchcase(span.name.lower(), self.pattern.lower())]
        open_spans = [span.name for span in spans if span.started_at is None or span.ended_at is None]
        if self.max_ms is not None and open_spans:
            return self.unknown(f"there are no times for {open_spans[0]!r}")
        wrong = list(self._wrong(spans))
        found = f"{len(spans)} of {len(trace.spans)} spans"
        return self.failed("; ".join(wrong)) if wrong else self.passed(found)

    def _wrong(self, spans: Sequence[SpanNode]) -> Iterator[str]:
        count, errors = len(spans), sum(span.error is not None for span in spans)
        if (self.min is not None and count < self.min) or (self.max is not None and count > self.max):
            yield f"{count} spans"
        if self.max_errors is not None and errors > self.max_errors:
            yield f"{errors} with an error"
        if self.max_error_percent is not None and spans and 100 * errors / count > self.max_error_percent:
            yield f"{100 * errors / count:.1f} % with an error"
        if self.max_ms is not None and spans:
            times = sorted(((span.ended_at or 0) - (span.started_at or 0)) * 1000 for span in spans)
            slowest = times[max(math.ceil(len(times) * self.percentile / 100) - 1, 0)]
            if slowest > self.max_ms:
                yield f"{slowest:.0f} ms"
