"""Laws of the monitor: judged event by event or at once, with less evidence, as a preview of the next call."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from carob.rules.events import BY_ITSELF, ConversationEvent, RuleOutcome
from carob.rules.monitor import Monitor, judge_events
from rules.lines import contract, events
from rules.test_forms import TABLE

RULES = [rule for number, (rule, _, _) in enumerate(TABLE) if rule not in [r for r, _, _ in TABLE[:number]]]
CONTRACTS = [contract(rule) for rule in RULES]
TOGETHER = contract(*RULES)
TOOLS = ("get", "pay", "cancel", "verify", "open", "close", "transfer", "list", "get_a", "book")
SEEN = settings(max_examples=60, deadline=None, derandomize=True)


@st.composite
def conversations(draw: st.DrawFn) -> list[ConversationEvent]:
    """Calls of a few tools with few values, in messages of one or two, and words of the user between them."""
    lines = []
    for _ in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(("call", "call", "call", "two", "user", "gap")))
        if kind == "user":
            lines.append(draw(st.sampled_from(("user: yes", "user: no", "user: send it to A"))))
        elif kind == "gap":
            lines.append(draw(st.sampled_from(("gap: call", "gap: user", "gap: call get"))))
        else:
            lines.append(" & ".join(_call(draw) for _ in range(1 + (kind == "two"))))
    return events(*lines)


def _call(draw: st.DrawFn) -> str:
    tool, value = draw(st.sampled_from(TOOLS)), draw(st.sampled_from("AB"))
    mark = draw(st.sampled_from(("", "", "", "!", "?", "...", "~")))
    given = f"{tool}(id={value}, t={value}, to={value}, user={value}, total={draw(st.integers(0, 8))}){mark}"
    return f'{given} -> {{"t": "{value}", "user": "{value}", "total": 3, "iban": "{value}"}}' if not mark else given


@SEEN
@given(conversations())
def test_judged_event_by_event_or_at_once_the_verdict_is_the_same(made: list[ConversationEvent]) -> None:
    for rules in CONTRACTS:
        monitor = Monitor(rules)
        broken_since = None
        for event in made:
            monitor.feed(event)
            [verdict] = monitor.verdicts()
            if broken_since is not None:
                assert verdict.outcome is RuleOutcome.BROKEN, "once broken, broken"
            elif verdict.outcome is RuleOutcome.BROKEN:
                broken_since = event.index
        monitor.finish()
        assert monitor.verdicts() == judge_events(rules, made)


@SEEN
@given(conversations())
def test_rules_judged_together_are_judged_as_if_alone(made: list[ConversationEvent]) -> None:
    together = judge_events(TOGETHER, made)
    for verdict, rules in zip(together, CONTRACTS, strict=True):
        [alone] = judge_events(rules, made)
        assert structs.replace(verdict, rule="r0") == alone


@SEEN
@given(conversations(), st.randoms(use_true_random=False))
def test_less_evidence_never_makes_held(made: list[ConversationEvent], chance: random.Random) -> None:
    """An event that is hidden, and leaves a gap behind, takes no breach away but into UNKNOWN."""
    places = [n for n, event in enumerate(made) if event.kind in ("call", "user", "result")]
    if not places:
        return
    place = chance.choice(places)
    hidden = made[place]
    left: list[ConversationEvent] = []
    for event in made:
        if hidden.kind == "call" and event.call == hidden.call:
            if event is hidden:
                left.append(ConversationEvent(kind="gap", index=event.index, hides="call", text="hidden"))
        elif event is not hidden:
            left.append(event)
        elif hidden.kind == "user":
            left.append(ConversationEvent(kind="gap", index=event.index, hides="user", text="hidden"))
        else:
            left.append(structs.replace(event, success=None, result=None))
    for rules in CONTRACTS:
        [before], [after] = judge_events(rules, made), judge_events(rules, left)
        if after.outcome is RuleOutcome.HELD:
            assert before.outcome in (RuleOutcome.HELD, RuleOutcome.NOT_TRIGGERED), (rules.rules, before, after)


@SEEN
@given(conversations())
def test_a_preview_says_what_the_call_would_do(made: list[ConversationEvent]) -> None:
    """Judging the next call as if it succeeds, and calls that have not ended as possible successes."""
    calls = [n for n, event in enumerate(made) if event.kind == "call"]
    for rule, rules in zip(RULES, CONTRACTS, strict=True):
        for place in calls:
            monitor = Monitor(rules)
            for event in made[:place]:
                monitor.feed(event)
            [before] = monitor.verdicts()
            if before.outcome in (RuleOutcome.BROKEN, RuleOutcome.UNKNOWN):
                break
            call = made[place]
            foreseen = monitor.preview(call)
            assert monitor.verdicts() == [before], "a preview changes nothing"
            monitor.feed(call)
            if not rules.rules[0].is_known_afterwards:
                end = {"kind": "result", "tool": call.tool, "call": call.call, "success": True}
                monitor.feed(ConversationEvent(index=call.index + 1, **end))
            [after] = monitor.verdicts()
            if after.outcome is RuleOutcome.BROKEN:
                assert any(one.finding.broken for one in foreseen), (rule, after)
            elif after.outcome is RuleOutcome.UNKNOWN:
                assert foreseen, (rule, after)
            else:
                assert not any(one.finding.broken for one in foreseen), (rule, foreseen)


def test_indexes_must_grow() -> None:
    monitor = Monitor(contract(RULES[0]))
    monitor.feed(ConversationEvent(kind="user", index=3, text="hi"))
    with pytest.raises(ValueError, match="indexes must grow"):
        monitor.feed(ConversationEvent(kind="user", index=3, text="hi"))


def test_the_work_of_an_event_does_not_grow_with_the_conversation() -> None:
    """Counted in lines of Python that run, which no busy machine changes."""
    short, long = _steps(40), _steps(4000)
    assert long <= short * 1.2, (short, long)


def test_rules_that_nothing_triggers_cost_nothing() -> None:
    """A contract of two hundred more rules, about tools that are never called."""
    idle = [{**rule, "id": f"idle-{n}", "each": {"call": f"idle_{n}"}} for n, rule in enumerate([IDLE] * 200)]
    few, many = _steps(10), _steps(10, *idle)
    assert many <= few * 1.01, (few, many)


IDLE = {"needs": {"before": {"call": "get", "success": True}}}


def _steps(turns: int, *more: dict) -> int:
    """The lines that run for ten more turns after so many."""
    import sys

    monitor = Monitor(contract(*(rule for rule in RULES if "'where'" not in str(rule)), *more))
    made = events(*[line for n in range(turns + 10) for line in ("user: yes", f"get(id={n})", f"pay(id={n}, to={n})")])
    last = len(made) - 10 * 5
    for event in made[:last]:
        monitor.feed(event)
    count = 0

    def trace(frame: object, kind: str, argument: object) -> object:
        nonlocal count
        count += 1
        return trace

    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        for event in made[last:]:
            monitor.feed(event)
    finally:
        sys.settrace(None)
    return count


def test_every_conversation_of_the_table_is_judged_the_same_in_halves() -> None:
    for rule, lines, outcome in TABLE:
        made = events(*lines)
        for first, second in pairwise(range(0, len(made) + 1, max(1, len(made) // 2))):
            monitor = Monitor(contract(rule))
            for event in (*made[:first], *made[first:second], *made[second:]):
                monitor.feed(event)
            monitor.finish(BY_ITSELF)
            assert monitor.verdicts()[0].outcome == outcome
