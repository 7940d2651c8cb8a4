"""A rule of a contract, judged over the whole conversation of a case."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from msgspec import Struct

from carob.checks.base import Check, CheckRequest
from carob.checks.sample_traces import calls, says
from carob.errors import CarobError
from carob.matchers.values import format_value
from carob.model.check import CheckProblem, Example, Expected
from carob.model.trace import Channel, Trace
from carob.model.verdict import (
    OWN_RULE,
    SHARED_RULE,
    CheckResult,
    EvidenceLocation,
    Group,
    RuleTimeline,
    Status,
    TimelineEntry,
)
from carob.rules.contract import Contract
from carob.rules.events import ConversationEvent, Facts, RuleFinding, RuleOutcome, RuleVerdict
from carob.rules.monitor import judge_events
from carob.rules.patterns import Occurrence
from carob.rules.reading import Surroundings, read_rule
from carob.text.tool_reading import ToolReading
from carob.text.wording import pluralize

if TYPE_CHECKING:
    from carob.evidence.conversation_events import ConversationEvents
    from carob.model.run import CaseRecord

SEEN: frozenset[Channel] = frozenset(
    ("tools", "tool_results", "telemetry", "input", "messages", "final_message", "ended_by", "metadata", "processes")
)
LOOK_FIRST = {
    "id": "look-first",
    "why": "Look an order up before you touch it.",
    "each": {"call": "pay"},
    "needs": {"before": {"call": "find", "success": True}},
}
SAY_SO = {"id": "say-so", "each": {"call": "pay"}, "needs": {"last_user": ["yes"]}}
NOTHING_TRIGGERED = "nothing in the conversation triggers it"
MOST_SHOWN = 8
"""So many events of a conversation are shown with a rule that it breaks."""


class RuleHolds(Check, Struct, frozen=True, dict=True):
    """The rule holds wherever something in the conversation triggers it."""

    name: ClassVar = OWN_RULE
    group: ClassVar = Group.RULES
    channels: ClassVar = SEEN
    fields: ClassVar = ()
    prohibits: ClassVar = True
    shows: ClassVar = frozenset({Status.PASSED, Status.FAILED, Status.UNKNOWN, Status.NOT_TRIGGERED})
    examples: ClassVar = (
        Example({"rule": SAY_SO}, calls("pay:ok", input="Yes, pay."), Status.PASSED),
        Example({"rule": SAY_SO}, calls("pay:ok", input="Wait."), Status.FAILED),
        Example({"rule": LOOK_FIRST}, calls("pay:ok"), Status.FAILED),
        Example({"rule": LOOK_FIRST}, calls("find:ok pay:ok"), Status.UNKNOWN),
        Example({"rule": LOOK_FIRST}, calls("find:ok"), Status.NOT_TRIGGERED),
        Example({"rule": LOOK_FIRST}, says("Paid.", unobserved={"tools": "not captured"}), Status.UNKNOWN),
    )
    rule: dict[str, Any]
    tools: dict[str, list[str]] = {}
    """Groups of tools that it names."""
    words: dict[str, list[str]] = {}
    reading: ToolReading = ToolReading()
    """How its file says that calls are read."""

    @classmethod
    def read(cls, expected: Expected) -> Iterator[CheckRequest]:
        return iter(())

    @property
    def description(self) -> str:
        name, why = self.rule.get("id", ""), self.rule.get("why", "")
        return f"{name}: {why}" if why else str(name)

    @classmethod
    def describe_failure(cls, expected: str) -> str:
        return f"broke the rule {expected}"

    @property
    def _around(self) -> Surroundings:
        return Surroundings(self.tools, self.words, self.reading)

    def validate(self) -> Iterator[CheckProblem]:
        _, problems = read_rule(self.rule, self._around)
        return iter(problems)

    @cached_property
    def contract(self) -> Contract:
        rule, problems = read_rule(self.rule, self._around)
        if rule is None:
            raise ValueError(f"the rule cannot be read: {problems[0].message}")
        return Contract([rule])

    def timeline(self, trace: Trace) -> RuleTimeline:
        """The events that broke the rule in a trace, or left it open."""
        conversation = _events_of(trace)
        [verdict] = judge_events(self.contract, conversation.events, conversation.end, Facts(metadata=trace.metadata))
        evidence = verdict.first.events if verdict.first else ()
        return RuleTimeline(_describe_events(conversation.events, evidence), verdict.triggered)

    def judge(self, trace: Trace) -> CheckResult:
        conversation = _events_of(trace)
        facts = Facts(metadata=trace.metadata)
        [verdict] = judge_events(self.contract, conversation.events, conversation.end, facts)
        return report_rule(self.name, self.description, verdict, conversation)


def report_rule(name: str, description: str, verdict: RuleVerdict, conversation: ConversationEvents) -> CheckResult:
    """How a rule came out, as the result of the check of this name."""
    if verdict.outcome is RuleOutcome.HELD:
        held = f"held at {pluralize(verdict.triggered, 'event')}"
        return CheckResult(name, Group.RULES, Status.PASSED, description, held)
    if verdict.outcome is RuleOutcome.NOT_TRIGGERED:
        return CheckResult(name, Group.RULES, Status.NOT_TRIGGERED, description, NOTHING_TRIGGERED)
    finding = verdict.first or RuleFinding(False, "")
    more = len(verdict.findings) - 1
    found = f"{finding.why}; {pluralize(more, 'finding')} more" if more > 0 else finding.why
    at = next((conversation.calls[index] for index in reversed(finding.events) if index in conversation.calls), None)
    location = None if at is None else EvidenceLocation("tool_calls", index=at)
    status = Status.FAILED if verdict.outcome is RuleOutcome.BROKEN else Status.UNKNOWN
    return CheckResult(name, Group.RULES, status, description, found, location)


class SharedRuleHolds(RuleHolds, frozen=True):
    """A rule that carob.toml has for every suite; where nothing triggers one, a run is not untested for that."""

    name: ClassVar = SHARED_RULE


def _describe_events(events: Sequence[ConversationEvent], evidence: Collection[int]) -> tuple[TimelineEntry, ...]:
    last = max(evidence, default=-1)
    said = [event.index for event in events if event.kind == "user" and event.index < last]
    shown = sorted({*evidence, *said[-1:]})[-MOST_SHOWN:]
    by_index = {event.index: event for event in events}
    return tuple(TimelineEntry(index, _describe_event(by_index[index]), index in evidence) for index in shown)


def _describe_event(event: ConversationEvent) -> str:
    if event.kind == "result":
        gave = event.error if event.error is not None else event.result
        return f"{event.tool} gave {format_value(gave)}"
    return str(Occurrence(event, event.index)).partition(": ")[2]


class _Latest:
    """The events of the trace that was judged last: all rules of a case judge the same one."""

    __slots__ = ("pair",)

    def __init__(self) -> None:
        self.pair: tuple[Trace, ConversationEvents] | None = None


_latest = _Latest()


def find_timelines(record: CaseRecord) -> dict[str, RuleTimeline]:
    """For each rule that a recorded conversation broke or left open, by its id, the events that did."""
    timelines = {}
    for (_, spec), result in zip(record.case.all_checks, record.verdict.checks, strict=False):
        if result.rule_id and result.status in (Status.FAILED, Status.UNKNOWN):
            # An older journal may hold a rule that cannot be read any more, or one that needs what is not installed.
            with suppress(CarobError, ValueError, msgspec.MsgspecError):
                timelines[result.rule_id] = msgspec.json.decode(spec.args, type=RuleHolds).timeline(record.trace)
    return timelines


def _events_of(trace: Trace) -> ConversationEvents:
    pair = _latest.pair
    if pair is None or pair[0] is not trace:
        from carob.evidence.conversation_events import read_conversation  # a guard reads rules, and no trace

        pair = _latest.pair = trace, read_conversation(trace)
    return pair[1]
