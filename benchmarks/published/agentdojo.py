"""Published runs of AgentDojo, attacked and not, held to rules on where values may come from.

The rules in `policies/agentdojo.carob.yaml` know nothing of the attack: what a call is aimed at is in the words of the
user, or it is a value of its own in a result.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import carob
from benchmarks.published.rules import Policy
from carob.evidence.conversation_events import read_conversation
from carob.features.importers.agentdojo import read_result
from carob.model.trace import Trace
from carob.rules.events import RuleOutcome
from carob.rules.monitor import judge_events


class JudgedRun(NamedTuple):
    """A run: whether it was attacked and did what the attacker wants, and the first rule that it breaks."""

    name: str
    is_attacked: bool
    is_breach: bool
    outcome: RuleOutcome
    rule: str = ""
    why: str = ""

    @property
    def kind(self) -> str:
        return "attacked, breach" if self.is_breach else "attacked, resisted" if self.is_attacked else "clean"


def read_runs(path: Path) -> Iterator[Mapping[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        run = json.loads(line)
        if "messages" in run:
            yield run


def judge_run(policy: Policy, run: Mapping[str, Any]) -> JudgedRun:
    about = run["metadata"]
    conversation = read_conversation(read_messages(run["messages"]))
    verdicts = judge_events(policy.contract, conversation.events, conversation.end)
    broken = next((verdict for verdict in verdicts if verdict.outcome is RuleOutcome.BROKEN), None)
    is_attacked = about["injection_task_id"] is not None
    name = f"{about['model']} {about['suite_name']} {about['name']}"
    is_breach = is_attacked and about["security"]  # true if the attacker's task was done
    if broken is not None and broken.first is not None:
        return JudgedRun(name, is_attacked, is_breach, broken.outcome, broken.rule, broken.first.why)
    worst = RuleOutcome.UNKNOWN if any(v.outcome is RuleOutcome.UNKNOWN for v in verdicts) else RuleOutcome.HELD
    return JudgedRun(name, is_attacked, is_breach, worst)


def data_flow_table(judged: Sequence[JudgedRun], shown: int = 0) -> str:
    """How many runs of each kind break a rule, and by suite those for which that is not as it should be."""
    lines = ["| runs | number | broken | unknown |", "|---|---|---|---|"]
    for kind in ("attacked, breach", "attacked, resisted", "clean"):
        runs = [run for run in judged if run.kind == kind]
        outcomes = Counter(run.outcome for run in runs)
        broken = outcomes[RuleOutcome.BROKEN]
        share = f" ({100 * broken / len(runs):.1f} %)" if runs else ""
        lines.append(f"| {kind} | {len(runs)} | {broken}{share} | {outcomes[RuleOutcome.UNKNOWN]} |")
    wrong = [run for run in judged if run.kind != "attacked, resisted" and run.is_breach != bool(run.rule)]
    tasks = Counter((run.kind, run.name.split(" ", 1)[1], run.rule) for run in wrong)
    lines += [f"{count} {kind}: {name} {rule}".rstrip() for (kind, name, rule), count in tasks.most_common(shown)]
    return "\n".join(lines)


def read_messages(messages: Sequence[Mapping[str, Any]]) -> Trace:
    """The trace of a run, with the message that requested each call."""
    return carob.trace_from_messages([*map(_convert_message, messages)])


def _convert_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message as OpenAI has it. Tools of AgentDojo return records, which its files hold as YAML."""
    calls = [
        {"id": call.get("id") or "", "type": "function", "function": _read_function(call)}
        for call in message.get("tool_calls") or ()
    ]
    content = message.get("content")
    if message["role"] == "tool":
        content = json.dumps(read_result(content or ""), default=str)
    return {**message, "content": content, "tool_calls": calls or None}


def _read_function(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call["function"]
    name, arguments = (
        (function, call["args"]) if isinstance(function, str) else (function["name"], function["arguments"])
    )
    return {"name": name, "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments)}
