"""What the telemetry of the turn must hold: events and lines of its log, and its spans."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Annotated, ClassVar, NamedTuple, TypedDict

import regex
from msgspec import Meta, Struct

from carob.checks.base import Check, Phrase, Phrases, excerpt, own_field, read_each, unfailable
from carob.checks.sample_traces import UNSEEN_TELEMETRY, logs, says
from carob.evidence.logs.events import Event, parse_all
from carob.model.check import CheckProblem, Example
from carob.model.trace import SpanNode, Trace
from carob.model.verdict import CheckResult, EvidenceLocation, Group, Status
from carob.text.regexes import lazy

SHORTHAND = lazy.regex(
    r"\s*(?:tool\.(?P<start>[\w.-]+)\s+start|tool\.(?P<result>[\w.-]+)\s+result\s+success:\s*(?P<success>true|false)"
    r"|success:\s*false\s+with\s+missing_?fields\s+containing\s+(?P<field>\S+))\s*",
    regex.I,
)

STARTED = {"source": "tool.book", "event": "start"}
BOOKED = {"event": "result", "source": "tool.book", "data": {"result": {"success": True}}}
LACKING = {"source": "tool.book", "event": "result", "success": False, "data": {"missingFields": ["date"]}}


class Pattern(NamedTuple):
    """One event, by what it must have."""

    source: str | None
    event: str | None
    success: bool | None
    field: str | None

    def fits(self, event: Event) -> bool:
        return (
            (self.source is None or event.source == self.source)
            and (self.event is None or event.event == self.event)
            and (self.success is None or event.success is self.success)
            and (self.field is None or self.field in event.missing_fields)
        )


@lru_cache(maxsize=4096)
def shorthand(entry: str) -> Pattern | None:
    """The event that a shorthand asks for; None where the entry is a plain string to search for."""
    m = SHORTHAND.fullmatch(entry)
    if m is None:
        return None
    if m["start"]:
        return Pattern(f"tool.{m['start']}", "start", None, None)
    if m["result"]:
        return Pattern(f"tool.{m['result']}", "result", m["success"].lower() == "true", None)
    return Pattern(None, None, False, m["field"])


class Telemetry(Check, Struct, frozen=True):
    """One event fits the shorthand, or the text is in the case's segment of the log."""

    name: ClassVar = "telemetry"
    description_format: ClassVar = "{self.entry}"
    group: ClassVar = Group.TOOL_HYGIENE
    channels: ClassVar = frozenset({"telemetry"})
    field: ClassVar = own_field(
        Phrases,
        "Events of the turn: `tool.<name> start`, `tool.<name> result success:true|false`, "
        "`success:false with missingFields containing <field>`, or any text to find in the log.",
        since="0.1",
    )
    examples: ClassVar = (
        Example({"entry": "tool.book start"}, logs(STARTED), Status.PASSED),
        Example(
            {"entry": "tool.book start"}, logs({**STARTED, "source": "tool.booking"}, "tool.book start"), Status.FAILED
        ),
        Example({"entry": "tool.book result success:true"}, logs(STARTED, BOOKED), Status.PASSED),
        Example({"entry": "tool.book result success:true"}, logs(STARTED, LACKING), Status.FAILED),
        Example({"entry": "tool.book result success:false"}, logs(STARTED, LACKING), Status.PASSED),
        Example({"entry": "tool.book result success:false"}, logs(STARTED, BOOKED), Status.FAILED),
        Example({"entry": "success:false with missingFields containing date"}, logs(LACKING), Status.PASSED),
        Example({"entry": "success:false with missingFields containing vin"}, logs(LACKING), Status.FAILED),
        Example({"entry": "cache MISS"}, logs("[12:00] Cache miss for 7"), Status.PASSED),
        Example({"entry": "cache MISS"}, logs("[12:00] cache hit"), Status.FAILED),
        Example({"entry": "cache MISS"}, UNSEEN_TELEMETRY, Status.UNKNOWN),
    )
    entry: str

    read = read_each("entry")

    def validate(self) -> Iterator[CheckProblem]:
        return unfailable(self.entry)

    def judge(self, trace: Trace) -> CheckResult:
        pattern = shorthand(self.entry)
        index = _event(trace, pattern) if pattern else _line(trace.telemetry, self.entry)
        if index is not None:
            return self.passed(excerpt(trace.telemetry[index]), EvidenceLocation("telemetry", index=index))
        return self.failed_unless(
            trace.why_unobserved("telemetry") or trace.cut("telemetry"), f"none of {len(trace.telemetry)} lines"
        )


def _event(trace: Trace, pattern: Pattern) -> int | None:
    events = parse_all(trace.telemetry, trace.dialect)
    fitting = (index for index, event in enumerate(events) if event is not None and pattern.fits(event))
    return next(fitting, None)


def _line(lines: tuple[str, ...], entry: str) -> int | None:
    """The line on which a fixed string begins: the segment is searched as written, letter case aside."""
    segment = "\n".join(lines).casefold()
    at = segment.find(entry.casefold())
    return None if at < 0 else segment.count("\n", 0, at)


MANY_SPANS = 100_000
DAY_MS = 86_400_000
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
    field: ClassVar = own_field(
        Annotated[list[SpanRule], Meta(min_length=1)], "Limits for the spans of the turn, by name, one check per entry."
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
        bounds = [f"{name} {bound:g}" for name in BOUNDS if (bound := getattr(self, name)) is not None]
        return f"spans {self.pattern!r}: {', '.join(bounds)}"

    def validate(self) -> Iterator[CheckProblem]:
        if all(getattr(self, name) is None for name in BOUNDS):
            yield CheckProblem("empty-expectation", f"it has no limit. Add one of {', '.join(BOUNDS)}.")

    @property
    def why_always_passes(self) -> str:
        reachable = (
            self.min or (self.max is not None and self.max < MANY_SPANS),
            self.max_ms is not None and self.max_ms < DAY_MS,
            self.max_errors is not None and self.max_errors < MANY_SPANS,
            self.max_error_percent is not None and self.max_error_percent < 100,
        )
        return "" if any(reachable) else "no turn comes near these limits. Set limits that a turn can break."

    def judge(self, trace: Trace) -> CheckResult:
        if not trace.spans:
            return self.unknown(NO_SPANS)
        spans = [span for span in trace.spans if fnmatchcase(span.name.lower(), self.pattern.lower())]
        open_spans = [span.name for span in spans if span.started_at is None or span.ended_at is None]
        if self.max_ms is not None and open_spans:
            return self.unknown(f"there are no times for {open_spans[0]!r}")
        wrong = list(self._wrong(spans))
        counted = f"{len(spans)} of {len(trace.spans)} spans"
        return self.failed("; ".join(wrong)) if wrong else self.passed(counted)

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
