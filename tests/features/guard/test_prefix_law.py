"""The prefix law: a guard refuses exactly where judging the conversation so far with that call finds something."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from msgspec import structs

from carob.features.guard.decision import decide
from carob.rules.clauses import AtMost, NeverAfter, Same
from carob.rules.contract import Contract
from carob.rules.events import ConversationEvent, RuleOutcome
from carob.rules.monitor import Monitor
from rules.test_monitor_laws import CONTRACTS, conversations

MOST_OPEN = 4
"""Of so many calls without a result, every way in which they may come out is tried."""


def findings(contract: Contract, events: Sequence[ConversationEvent]) -> tuple[int, RuleOutcome]:
    """At how many events the one rule of a contract is broken or in doubt, and how it came out."""
    monitor = Monitor(contract)
    for event in events:
        monitor.feed(event)
    [verdict] = monitor.verdicts()
    return sum(bool(finding.events) for finding in verdict.findings), verdict.outcome


def with_success(events: Sequence[ConversationEvent], call: ConversationEvent) -> list[ConversationEvent]:
    end = ConversationEvent(kind="result", index=call.index + 1, tool=call.tool, call=call.call, success=True)
    return [*events, call, end]


def possible_pasts(events: Sequence[ConversationEvent], rules: Contract) -> Iterator[list[ConversationEvent]]:
    """The same events where the calls that have no result yet succeeded, or did not."""
    ended = {event.call for event in events if event.kind in ("result", "cancelled")}
    waiting = [event for event in events if event.kind == "call" and event.call not in ended]
    each = rules.rules[0].each
    if not (each.at_end and rules.rules[0].clauses[0].clause is AtMost):
        waiting = []  # what only a result shows was not there when this call was requested
    for succeeds in product((False, True), repeat=min(len(waiting), MOST_OPEN)):
        spread = [structs.replace(event, index=event.index * 100) for event in events]
        for number, (call, success) in enumerate(zip(waiting, succeeds, strict=False)):
            about = {"tool": call.tool, "call": call.call, "success": success}
            spread.append(ConversationEvent(kind="result", index=spread[-1].index + 1 + number, **about))
        yield spread


def should_refuse(contract: Contract, events: Sequence[ConversationEvent], call: ConversationEvent) -> bool:
    """By judging alone: whether some way in which open calls may come out makes this call wrong or uncertain."""
    rule = contract.rules[0]
    if rule.is_known_afterwards:
        return False
    for past in possible_pasts(events, contract):
        last = past[-1].index if past else 0
        placed = structs.replace(call, index=last + 100)
        before, after = findings(contract, past), findings(contract, with_success(past, placed))
        if after[0] > before[0]:
            return True
    return hides_a_trigger(contract, events) and concerns_hidden(contract, call)


def hides_a_trigger(contract: Contract, events: Sequence[ConversationEvent]) -> bool:
    return any(0 in contract.find_hidden(event)[0] for event in events if event.kind == "gap" and not event.is_setup)


def concerns_hidden(contract: Contract, call: ConversationEvent) -> bool:
    """Whether an earlier trigger that was not seen would matter to this call."""
    rule, slots = contract.rules[0], contract.slots("call", call.tool)
    if any(plan.clause in (AtMost, Same) for plan in rule.clauses) and (slots.requested or slots.ended):
        monitor = Monitor(contract)
        for event in with_success([], call):
            monitor.feed(event)
        return monitor.verdicts()[0].outcome is not RuleOutcome.NOT_TRIGGERED
    return bool(slots.forbidden or slots.forbidden_ended) and any(p.clause is NeverAfter for p in rule.clauses)


def check(made: list[ConversationEvent]) -> int:
    decisions = 0
    for contract in CONTRACTS:
        for place in (number for number, event in enumerate(made) if event.kind == "call"):
            monitor = Monitor(contract)
            for event in made[:place]:
                monitor.feed(event)
            decision = decide(monitor.preview(made[place]), made[place], frozenset())
            expected = should_refuse(contract, made[:place], made[place])
            assert (not decision) is expected, (contract.rules[0], made[: place + 1], decision)
            decisions += 1
    return decisions


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(conversations())
def test_a_guard_refuses_exactly_what_judging_the_prefix_finds(made: list[ConversationEvent]) -> None:
    check(made)


@pytest.mark.thorough
@settings(max_examples=2_000, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(conversations())
def test_a_guard_refuses_exactly_what_judging_2000_prefixes_finds(made: list[ConversationEvent]) -> None:
    check(made)
