"""Published conversations of tau-bench held to the written policies of its two desks, as contracts in `policies/`."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from msgspec import structs

import carob
from carob.evidence.conversation_events import ConversationEvents, read_conversation
from carob.model.trace import ToolCall, Trace
from carob.rules.contract import Contract
from carob.rules.events import RuleFinding, RuleOutcome
from carob.rules.monitor import judge_events
from carob.rules.reading import Surroundings, read_rules

POLICIES = Path(__file__).parent / "policies"
REPEATS = 7
"""So often all conversations are judged; the shortest time counts."""
SHOWN = 6
"""So many events before an alarm are shown with it."""


class Policy(NamedTuple):
    """A policy as a contract, and what each rule is about."""

    domain: str
    contract: Contract
    rules: tuple[str, ...]


class JudgedConversation(NamedTuple):
    """A conversation, its reward, and each finding of each rule that is broken or not known to hold."""

    id: str
    reward: float
    events: ConversationEvents
    outcomes: Mapping[str, RuleOutcome]
    findings: Mapping[str, Sequence[RuleFinding]]


class Timing(NamedTuple):
    """Milliseconds of CPU time for one conversation."""

    judging: float
    reading: float


def read_policy(domain: str) -> Policy:
    """The contract of a desk. Raises ValueError if it has a rule that cannot be read."""
    tree = yaml.safe_load((POLICIES / f"{domain}.carob.yaml").read_text(encoding="utf-8"))
    rules, problems = read_rules(tree["rules"], Surroundings(tree.get("tools", {})))
    if problems:
        raise ValueError(problems[0].message)
    return Policy(domain, Contract(rules), tuple(rule.id for rule in rules))


def find_domain(runs: Sequence[Mapping[str, Any]]) -> str:
    """The desk that the conversations of a file are about, by the tools of its tasks."""
    actions = {action["name"] for run in runs for action in run["info"].get("task", {}).get("actions", ())}
    return "airline" if any("reservation" in name for name in actions) else "retail"


def read_runs(path: Path) -> list[Mapping[str, Any]]:
    """The runs of a file in which something was said."""
    return [run for run in json.loads(path.read_text(encoding="utf-8")) if run["traj"]]


def read_trace(run: Mapping[str, Any]) -> Trace:
    """The trace of a run. Tools of tau-bench that fail answer `Error: ...`, so other plain text is no failure."""
    trace = carob.trace_from_messages(run["traj"])
    turns = tuple(structs.replace(turn, tool_calls=_trust_texts(turn.tool_calls)) for turn in trace.turns)
    return structs.replace(trace, tool_calls=_trust_texts(trace.tool_calls), turns=turns)


def _trust_texts(calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    return tuple(
        structs.replace(call, success=True) if call.has_unknown_outcome and isinstance(call.result, str) else call
        for call in calls
    )


def judge_runs(policy: Policy, runs: Sequence[Mapping[str, Any]]) -> Iterator[JudgedConversation]:
    for run in runs:
        events = read_conversation(read_trace(run))
        verdicts = judge_events(policy.contract, events.events, events.end)
        yield JudgedConversation(
            f"{run['task_id']}-{run['trial']}",
            float(run["reward"]),
            events,
            {verdict.rule: verdict.outcome for verdict in verdicts},
            {verdict.rule: verdict.findings for verdict in verdicts},
        )


def measure(policy: Policy, runs: Sequence[Mapping[str, Any]]) -> Timing:
    """How long the rules take, and how long it takes to make events of messages."""
    traces = [*map(read_trace, runs)]
    judging, reading = [], []
    for _ in range(REPEATS):
        start = time.process_time()
        conversations = [read_conversation(trace) for trace in traces]
        read = time.process_time()
        for conversation in conversations:
            judge_events(policy.contract, conversation.events, conversation.end)
        reading.append(read - start)
        judging.append(time.process_time() - read)
    return Timing(1e3 * min(judging) / len(runs), 1e3 * min(reading) / len(runs))


def rules_table(title: str, policy: Policy, judged: Sequence[JudgedConversation], timing: Timing) -> str:
    lines = [
        f"\n### {title}: {len(judged)} conversations",
        f"judged in {timing.judging:.3f} ms each, read in {timing.reading:.3f} ms (CPU time)\n",
        "| rule | triggered | held | broken | unknown | broken and rewarded |",
        "|---|---|---|---|---|---|",
    ]
    for rule in policy.rules:
        counts = Counter(conversation.outcomes[rule] for conversation in judged)
        broken = [conversation for conversation in judged if conversation.outcomes[rule] is RuleOutcome.BROKEN]
        rewarded = sum(conversation.reward > 1 - 1e-6 for conversation in broken)
        triggered = len(judged) - counts[RuleOutcome.NOT_TRIGGERED]
        held, unknown = counts[RuleOutcome.HELD], counts[RuleOutcome.UNKNOWN]
        lines.append(f"| {rule} | {triggered} | {held} | {len(broken)} | {unknown} | {rewarded} |")
    return "\n".join(lines)


def alarms_text(judged: Sequence[JudgedConversation], rules: Sequence[str], width: int = 300) -> Iterator[str]:
    """Every conversation that breaks one of these rules, with the events that broke it and those just before."""
    for conversation in judged:
        for rule in rules:
            if conversation.outcomes.get(rule) is not RuleOutcome.BROKEN:
                continue
            finding = next(finding for finding in conversation.findings[rule] if finding.broken)
            yield f"\n== {conversation.id} (reward {conversation.reward:g}) {rule}: {finding.why[: 2 * width]}"
            last = finding.events[-1]
            for event in conversation.events.events:
                if event.index in finding.events or last - SHOWN <= event.index <= last:
                    values = (event.text, event.arguments, event.result)
                    text = " ".join(str(value) for value in values if value)
                    yield f"   {event.index} {event.kind} {event.tool} {' '.join(text.split())[:width]}"
