"""The rules that Carob and invariant-ai can both say, on random conversations: every difference has a reason."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import carob
from carob.evidence.conversation_events import read_conversation
from carob.rules.contract import Contract
from carob.rules.events import RuleOutcome
from carob.rules.monitor import judge_events
from carob.rules.reading import read_rules
from counterparts.environments import python_with

COUNT = 500
PEER = Path(__file__).parent / "invariant_peer.py"
AS, SAME = {"arguments": {"id": {"$as": "id"}}}, {"arguments": {"id": {"$same": "id"}}}
RULES = [
    {"id": "pay-after-receipt", "each": {"call": "receipt", **AS}, "forbids": {"after": {"call": "pay", **SAME}}},
    {"id": "anything-after-transfer", "each": {"call": "transfer"}, "forbids": {"after": {"call": "*"}}},
    {"id": "too-much", "each": {"call": "pay"}, "where": "each.arguments.amount <= 100"},
    {"id": "never-delete", "each": {"call": "delete"}, "at_most": 0},
    {"id": "find-before-cancel", "each": {"call": "cancel"}, "forbids": {"before": {"call": "find"}}},
]
TOOLS = ("find", "pay", "receipt", "transfer", "delete", "cancel", "list", "list", "find", "pay")


def write_conversation(chance: random.Random) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Please."}]
    number = 0
    for _ in range(chance.randint(1, 5)):
        calls = []
        for _ in range(chance.choice((1, 1, 1, 2))):
            number += 1
            arguments = {"id": chance.choice("AB"), "amount": chance.choice((1, 100, 101, 100.5))}
            function = {"name": chance.choice(TOOLS), "arguments": arguments}
            calls.append({"id": f"c{number}", "type": "function", "function": function})
        messages.append({"role": "assistant", "content": "", "tool_calls": calls})
        messages += [{"role": "tool", "tool_call_id": call["id"], "content": '{"ok": true}'} for call in calls]
    return messages


def find_broken(messages: list[dict[str, Any]]) -> set[str]:
    rules, problems = read_rules(RULES)
    assert not problems
    read = [
        {**m, "tool_calls": [_with_text(call) for call in m["tool_calls"]]} if "tool_calls" in m else m
        for m in messages
    ]
    conversation = read_conversation(carob.trace_from_messages(read))
    verdicts = judge_events(Contract(rules), conversation.events, conversation.end)
    assert not [verdict for verdict in verdicts if verdict.outcome is RuleOutcome.UNKNOWN]
    return {verdict.rule for verdict in verdicts if verdict.outcome is RuleOutcome.BROKEN}


def _with_text(call: dict[str, Any]) -> dict[str, Any]:
    """A call as OpenAI has it, with its arguments as text; invariant-ai takes them as an object."""
    function = call["function"]
    return {**call, "function": {**function, "arguments": json.dumps(function["arguments"])}}


def split_messages(messages: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The same calls, each in a message of its own."""
    for message in messages:
        for call in message.get("tool_calls", ()):
            yield {**message, "tool_calls": [call]}
        if "tool_calls" not in message:
            yield message


def test_rules_agree_with_invariant_on_random_conversations() -> None:
    """They differ where one message requests two calls: for invariant-ai the second comes after the first."""
    python = str(python_with("invariant", "invariant-ai==0.3.5"))
    chance = random.Random(13)
    conversations = [write_conversation(chance) for _ in range(COUNT)]
    sent = "\n".join(map(json.dumps, conversations))
    done = subprocess.run([python, str(PEER)], input=sent, capture_output=True, text=True, check=True)
    theirs = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(theirs) == COUNT
    gave_up = same = siblings = 0
    for messages, their in zip(conversations, theirs, strict=True):
        ours, apart = find_broken(messages), find_broken([*split_messages(messages)])
        for rule, is_broken in their.items():
            if is_broken is None:
                gave_up += 1
            elif is_broken is (rule in ours):
                same += 1
            else:
                assert is_broken is (rule in apart), (rule, is_broken, messages)
                siblings += 1
    assert same > siblings * 4
    assert gave_up < COUNT * len(RULES) / 10
    assert all(any(their[rule["id"]] for their in theirs) for rule in RULES), "a rule that nothing breaks"
    print(f"{same} of {COUNT * len(RULES)} verdicts agree, {siblings} of calls of one message, {gave_up} without one")
