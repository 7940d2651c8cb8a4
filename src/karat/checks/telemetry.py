"""What the telemetry of the turn must hold."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar, NamedTuple

import regex
from msgspec import Struct

from karat.checks.base import Check, Phrases, excerpt
from karat.checks.reading import read_each
from karat.checks.sample_traces import UNSEEN_TELEMETRY, logs
from karat.checks.says import unfailable
from karat.evidence.logs.events import Event, parse_all
from karat.model.check import CheckProblem, Example, Field
from karat.model.trace import Trace
from karat.model.verdict import CheckResult, EvidenceLocation, Group, Status
from karat.text.regexes import lazy

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
    group: ClassVar = Group.TOOL_HYGIENE
    channels: ClassVar = frozenset({"telemetry"})
    fields: ClassVar = (
        Field(
            "telemetry",
            Phrases,
            "Events of the turn: `tool.<name> start`, `tool.<name> result success:true|false`, "
            "`success:false with missingFields containing <field>`, or any text to find in the log.",
        ),
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

    @property
    def description(self) -> str:
        return self.entry

    def validate(self) -> Iterator[CheckProblem]:
        return unfailable(self.entry)

    def judge(self, trace: Trace) -> CheckResult:
        pattern = shorthand(self.entry)
        index = _event(trace, pattern) if pattern else _line(trace.telemetry, self.entry)
        if index is not None:
            return self.passed(excerpt(trace.telemetry[index]), EvidenceLocation("telemetry", index=index))
        why = trace.why_unobserved("telemetry") or trace.cut("telemetry")
        return self.unknown(why) if why else self.failed(f"none of {len(trace.telemetry)} lines")


def _event(trace: Trace, pattern: Pattern) -> int | None:
    events = parse_all(trace.telemetry, trace.dialect)
    fitting = (index for index, event in enumerate(events) if event is not None and pattern.fits(event))
    return next(fitting, None)


def _line(lines: tuple[str, ...], entry: str) -> int | None:
    """The line on which a fixed string begins: the segment is searched as written, letter case aside."""
    segment = "\n".join(lines).casefold()
    at = segment.find(entry.casefold())
    return None if at < 0 else segment.count("\n", 0, at)
