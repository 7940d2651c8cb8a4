"""Published conversations changed so that they break a rule of their policy, and so that they must not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec import Struct, field, structs

from benchmarks.published.rules import Policy
from carob.evidence.conversation_events import read_conversation
from carob.evidence.merge import merge_turns
from carob.features.audit.operators.rules import break_rule
from carob.model.trace import ToolCall, Trace
from carob.rules.events import RuleOutcome
from carob.rules.monitor import judge_events

MOST_CONVERSATIONS = 10
"""So many conversations in which a rule holds are broken for it."""
BETWEEN = ToolCall("think", {"thought": "…"}, result="", success=True, message="between", with_words=False)
"""A call that changes nothing, and that no rule speaks of."""

READS = ("get_", "list_", "search_", "calculate")
"""Tools of both desks whose names begin so only read."""


class AuditedRules(Struct):
    """How many wrong conversations were made for each rule, and how many of them it noticed, alone or with others."""

    made: Counter[str] = field(default_factory=Counter)
    killed: Counter[str] = field(default_factory=Counter)
    alone: Counter[str] = field(default_factory=Counter)
    tried: Counter[str] = field(default_factory=Counter)
    equivalents: int = 0
    false_alarms: int = 0


def audit_rules(policy: Policy, traces: Iterable[Trace]) -> AuditedRules:
    audited = AuditedRules()
    for trace in traces:
        outcomes = _judge(policy, trace)
        broken = _broken(outcomes)
        for number, rule in enumerate(policy.rules):
            if outcomes[rule] is not RuleOutcome.HELD or audited.tried[rule] >= MOST_CONVERSATIONS:
                continue
            audited.tried[rule] += 1
            for mutant in break_rule(policy.contract, number, trace):
                newly_broken = _broken(_judge(policy, mutant.trace)) - broken
                audited.made[rule] += 1
                audited.killed[rule] += rule in newly_broken
                audited.alone[rule] += newly_broken == {rule}
        for equivalent in _equivalents(trace):
            audited.equivalents += 1
            audited.false_alarms += bool(_broken(_judge(policy, equivalent)) - broken)
    return audited


def audit_table(policy: Policy, audited: AuditedRules) -> str:
    made, killed = sum(audited.made.values()), sum(audited.killed.values())
    shown = ", ".join(rule for rule in policy.rules if audited.made[rule] and not audited.alone[rule])
    return "\n".join(
        [
            f"\n### {policy.domain}: {killed} of {made} wrong conversations noticed by the rule that they are for",
            f"each rule by itself at least {min(_rates(policy.rules, audited), default=0):.2f}",
            f"no conversation for: {', '.join(rule for rule in policy.rules if not audited.made[rule]) or 'none'}",
            f"never noticed by the rule alone: {shown or 'none'}",
            f"{audited.false_alarms} of {audited.equivalents} conversations with a call between, or with two reads "
            "in another order, break a rule more",
        ]
    )


def _rates(rules: Sequence[str], audited: AuditedRules) -> Iterator[float]:
    return (audited.killed[rule] / audited.made[rule] for rule in rules if audited.made[rule])


def _judge(policy: Policy, trace: Trace) -> dict[str, RuleOutcome]:
    conversation = read_conversation(trace)
    verdicts = judge_events(policy.contract, conversation.events, conversation.end)
    return {verdict.rule: verdict.outcome for verdict in verdicts}


def _broken(outcomes: dict[str, RuleOutcome]) -> set[str]:
    return {rule for rule, outcome in outcomes.items() if outcome is RuleOutcome.BROKEN}


def _equivalents(trace: Trace) -> Iterator[Trace]:
    """The trace with a call more, before each of its calls in turn, and with two reads in a row swapped."""
    for number, turn in enumerate(trace.turns):
        for place in range(len(turn.tool_calls)):
            calls = (*turn.tool_calls[:place], BETWEEN, *turn.tool_calls[place:])
            turns = [*trace.turns]
            turns[number] = structs.replace(turn, tool_calls=calls)
            yield merge_turns(turns)
        for place, (first, second) in enumerate(pairwise(turn.tool_calls)):
            if _are_independent(first, second):
                calls = (*turn.tool_calls[:place], second, first, *turn.tool_calls[place + 2 :])
                turns = [*trace.turns]
                turns[number] = structs.replace(turn, tool_calls=calls)
                yield merge_turns(turns)


def _are_independent(first: ToolCall, second: ToolCall) -> bool:
    """Whether two calls read different things, by messages of their own: their order means nothing."""
    are_reads = first.name.startswith(READS) and second.name.startswith(READS)
    return are_reads and first.name != second.name and first.message != second.message
