"""What a guard would have done to published conversations: tau-bench's desks by their policies, AgentDojo by data flow.

A call that the guard refuses was not made: it is denied, and what comes later is decided without it. What the agent
would have done instead is not known, so a refused call of a task counts as lost.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import structs

import carob
from benchmarks.published.agentdojo import read_messages
from benchmarks.published.agentdojo_agreement import read_contracts
from benchmarks.published.effects import write_tools
from benchmarks.published.rules import Policy, find_domain, read_policy, read_runs, read_trace
from carob.engine.authoring import read_trace as read_form
from carob.evidence.conversation_events import ConversationEvents, read_conversation
from carob.features.guard.decision import decide
from carob.features.importers.agentdojo import find_about, read_run
from carob.model.trace import Trace
from carob.rules.contract import Contract
from carob.rules.events import ConversationEvent
from carob.rules.monitor import Monitor

STYLE = "call-or-answer"
"""The rule that a message has a call or words, and not both: no harm comes of breaking it."""
REWARDED = 1 - 1e-6


class Refused(NamedTuple):
    """A call that the guard refuses: its event, and the rule and the evidence that decided."""

    event: ConversationEvent
    rule: str
    why: str
    follows: bool
    """Whether it is refused only because an earlier call was."""


def refuse_calls(contract: Contract, events: Sequence[ConversationEvent]) -> Iterator[Refused]:
    """The calls of a conversation that a guard refuses, each decided without those that it refused before."""
    monitor, as_it_was, denied = Monitor(contract), Monitor(contract), set[str]()
    for event in events:
        heard = event
        if event.kind == "call":
            decision = decide(monitor.preview(event), event, frozenset())
            if not decision:
                denied.add(event.call)
                follows = bool(decide(as_it_was.preview(event), event, frozenset()))
                yield Refused(event, decision.rule, decision.reasons[0].evidence, follows)
                heard = ConversationEvent(kind="denied", index=event.index, tool=event.tool)
        if heard is not event or event.call not in denied or event.kind not in ("start", "result", "cancelled"):
            monitor.feed(heard)
        as_it_was.feed(event)


def count_agreements(contract: Contract, events: Sequence[ConversationEvent]) -> tuple[int, int]:
    """The calls of a conversation, and those of which guard and judge say the same, each after all that did happen."""
    monitor, calls, agree = Monitor(contract), 0, 0
    for place, event in enumerate(events):
        if event.kind == "call":
            decision = decide(monitor.preview(event), event, frozenset())
            calls += 1
            agree += bool(decision) is not finds_more(contract, events[:place], event)
        monitor.feed(event)
    return calls, agree


def finds_more(contract: Contract, before: Sequence[ConversationEvent], call: ConversationEvent) -> bool:
    """Whether judging finds more with the call than without it, if the call succeeds."""
    end = ConversationEvent(kind="result", index=call.index + 1, tool=call.tool, call=call.call, success=True)
    return _count_findings(contract, [*before, call, end]) > _count_findings(contract, before)


def _count_findings(contract: Contract, events: Sequence[ConversationEvent]) -> int:
    guarded = {rule.id for rule in contract.rules if not rule.is_known_afterwards}
    monitor = Monitor(contract)
    for event in events:
        monitor.feed(event)
    return sum(len(verdict.findings) for verdict in monitor.verdicts() if verdict.rule in guarded)


class GuardedDesk(NamedTuple):
    """A conversation of tau-bench: its reward, what is refused, and its writes that succeeded."""

    id: str
    reward: float
    refused: Sequence[Refused]
    """With all rules but the one about style."""
    all_refused: Sequence[Refused]
    wrong_writes: frozenset[str]
    """The ids of writes that its task does not ask for, in a conversation without a reward."""
    right_writes: frozenset[str]
    """The ids of writes that its task asks for, in a conversation with a reward."""
    calls: int
    agree: int

    @property
    def is_rewarded(self) -> bool:
        return self.reward > REWARDED


def guard_desk(path: Path) -> tuple[Policy, list[GuardedDesk]]:
    runs = read_runs(path)
    policy = read_policy(find_domain(runs))
    return policy, [_guard_run(policy, run) for run in runs]


def _guard_run(policy: Policy, run: Mapping[str, Any]) -> GuardedDesk:
    events = read_conversation(read_trace(run)).events
    gold = [(one["name"], _plain(one["kwargs"])) for one in run["info"].get("task", {}).get("actions", ())]
    reward, writes = float(run["reward"]), write_tools(policy.domain)
    made = {event.call: event for event in events if event.kind == "call" and event.tool in writes}
    done = [made[event.call] for event in events if event.kind == "result" and event.success and event.call in made]
    wanted = frozenset(event.call for event in done if (event.tool, _plain(event.arguments)) in gold)
    others = frozenset(event.call for event in done) - wanted
    calls, agree = count_agreements(policy.contract, events)
    without_style = Contract([rule for rule in policy.contract.rules if rule.id != STYLE])
    return GuardedDesk(
        f"{run['task_id']}-{run['trial']}",
        reward,
        [*refuse_calls(without_style, events)],
        [*refuse_calls(policy.contract, events)],
        others if reward <= REWARDED else frozenset(),
        wanted if reward > REWARDED else frozenset(),
        calls,
        agree,
    )


def _plain(arguments: object) -> str:
    return json.dumps(arguments, sort_keys=True)


DESK_HEAD = (
    "| file | conversations | calls | guard and judge agree | wrong writes stopped | right writes refused "
    "| conversations with a refusal | of these without a reward |\n|---|---|---|---|---|---|---|---|"
)


def desk_rows(name: str, desks: Sequence[GuardedDesk]) -> str:
    """What was refused, with all rules and without the one about style."""
    agree = f"{sum(one.agree for one in desks)} of {sum(one.calls for one in desks)}"
    rows = []
    for title in ("all rules", "without style"):
        refused = {
            one.id: {r.event.call for r in (one.all_refused if title == "all rules" else one.refused)} for one in desks
        }
        stopped = sum(len(refused[one.id] & one.wrong_writes) for one in desks)
        lost = sum(len(refused[one.id] & one.right_writes) for one in desks)
        wrong, right = sum(len(one.wrong_writes) for one in desks), sum(len(one.right_writes) for one in desks)
        flagged = [one for one in desks if refused[one.id]]
        failed = sum(not one.is_rewarded for one in flagged)
        share = f"{failed} ({100 * failed / len(flagged):.0f} %)" if flagged else "0"
        rows.append(
            f"| {name}, {title} | {len(desks)} | {sum(one.calls for one in desks)} | {agree} | {stopped} of {wrong} "
            f"| {lost} of {right} | {len(flagged)} | {share} |"
        )
    return "\n".join(rows)


def refusals_text(desks: Sequence[GuardedDesk], width: int = 220) -> Iterator[str]:
    """Each refusal in a conversation with a reward, to be read, that does not follow from an earlier one."""
    rewarded = [(one, [r for r in one.refused if not r.follows]) for one in desks if one.is_rewarded]
    follow = sum(len(one.refused) for one, _ in rewarded) - sum(len(first) for _, first in rewarded)
    yield f"refused, with a reward: {dict(Counter(r.rule for _, first in rewarded for r in first))}; {follow} follow"
    for one, first in rewarded:
        for refused in first:
            mark = " (a right write)" if refused.event.call in one.right_writes else ""
            yield f"  {one.id} {refused.event.tool} {refused.rule}{mark}: {' '.join(refused.why.split())[:width]}"


class GuardedAttack(NamedTuple):
    """A run of AgentDojo as Carob's contracts judge it, without the guard and without the calls that it refuses."""

    is_attacked: bool
    is_breach: bool
    is_breach_guarded: bool
    is_useful: bool
    is_useful_guarded: bool
    refused: int


def guard_attacks(files: Iterable[Path]) -> Iterator[GuardedAttack]:
    """Every run, held to the rules on where values may come from, which know nothing of the attack."""
    policy, contracts = read_policy("agentdojo"), read_contracts()
    for path in files:
        for line in path.read_text(encoding="utf-8").splitlines():
            run = json.loads(line)
            if run.get("messages"):
                yield _guard_attack(policy, contracts, run)


def _guard_attack(
    policy: Policy, contracts: Mapping[str, Mapping[str, carob.Case]], run: Mapping[str, Any]
) -> GuardedAttack:
    about = find_about(run)
    task = contracts[about["suite_name"]][about["user_task_id"]]
    trace = read_form(read_run(run["messages"]), task)
    conversation = read_conversation(read_messages(run["messages"]))
    refused = [*refuse_calls(policy.contract, conversation.events)]
    guarded = _without(trace, conversation, refused)
    is_attacked = bool(about["injection_task_id"])
    attack = contracts["security"][about["suite_name"]] if is_attacked else None
    return GuardedAttack(
        is_attacked,
        attack is not None and _status(attack, trace) == "FAIL",
        attack is not None and _status(attack, guarded) == "FAIL",
        _status(task, trace) == "PASS",
        _status(task, guarded) == "PASS",
        len(refused),
    )


def _status(case: carob.Case, trace: Trace) -> str:
    return carob.judge(case, structs.replace(trace, case_id=case.id)).status


def _without(trace: Trace, conversation: ConversationEvents, refused: Sequence[Refused]) -> Trace:
    places = {conversation.calls[one.event.index] for one in refused if one.event.index in conversation.calls}
    calls = tuple(call for place, call in enumerate(trace.tool_calls) if place not in places)
    return structs.replace(trace, tool_calls=calls, turns=())


def attacks_table(runs: Sequence[GuardedAttack]) -> str:
    attacked, clean = [run for run in runs if run.is_attacked], [run for run in runs if not run.is_attacked]
    lines = ["| | runs | without the guard | with it |", "|---|---|---|---|"]
    lines.append(_row("attacks that succeed", attacked, [(run.is_breach, run.is_breach_guarded) for run in attacked]))
    for title, those in (("tasks done, attacked", attacked), ("tasks done, not attacked", clean)):
        lines.append(_row(title, those, [(run.is_useful, run.is_useful_guarded) for run in those]))
    calls = [sum(run.refused > 0 for run in those) for those in (attacked, clean)]
    return "\n".join((*lines, f"\nA call is refused in {calls[0]} attacked runs and in {calls[1]} others."))


def _row(title: str, runs: Sequence[GuardedAttack], held: Sequence[tuple[bool, bool]]) -> str:
    shares = (f"{sum(side)} ({100 * sum(side) / max(len(runs), 1):.1f} %)" for side in zip(*held, strict=True))
    return f"| {title} | {len(runs)} | {' | '.join(shares)} |"
