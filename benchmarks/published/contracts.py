"""What a task asks for, as a contract: its gold writes one to one, no other write, and the words that it wants.

tau-bench rewards a database that equals the one after the gold actions, and answers that hold the outputs. Reads, and
writes that were refused, change nothing: the contract is about writes that succeeded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from benchmarks.published.conversations import Conversation
from benchmarks.published.effects import DOMAINS, write_tools
from carob.features.importers.tau.contracts import Action, expect_writes, number_regex

NUMBER = re.compile(r"\d+(\.\d+)?")


def agreement_suite(
    conversations: Sequence[Conversation], domain: str, *, only_effects: bool = False
) -> dict[str, Any]:
    """One case per conversation. `only_effects`: other writes may not even be tried."""
    cases = [_case(one, domain, only_effects) for one in conversations]
    return _suite(f"tau-bench {domain}: gold writes and outputs", domain, cases)


def words_suite(conversations: Sequence[Conversation], domain: str, policy: str) -> dict[str, Any]:
    """Every answer in words is held to claim nothing that was not done, and to state no number that nothing holds."""
    expected = {"no_false_success": True, "grounded_numbers": True, "grounded_in": [policy]}
    cases = [
        {"id": one.id, "turns": [_turn(turn.prompt, expected if turn.answer else None) for turn in one.turns]}
        for one in conversations
    ]
    return _suite(f"tau-bench {domain}: words", domain, cases)


def last_turn_suite(conversations: Sequence[Conversation], domain: str) -> dict[str, Any]:
    """Only the last answer of each is held to claim nothing that was not done."""
    cases = []
    for one in conversations:
        turns = [_turn(turn.prompt, None) for turn in one.turns]
        turns[-1]["expected"] = {"no_false_success": True}
        cases.append({"id": one.id, "turns": turns})
    return _suite(f"tau-bench {domain}: writes forced to fail", domain, cases)


def _suite(name: str, domain: str, cases: list[dict[str, Any]]) -> dict[str, Any]:
    return {"carob": 1, "name": name, "effects": DOMAINS[domain], "cases": cases}


def _turn(prompt: str, expected: dict[str, Any] | None) -> dict[str, Any]:
    return {"prompt": prompt, "expected": expected} if expected else {"prompt": prompt}


def _case(one: Conversation, domain: str, only_effects: bool) -> dict[str, Any]:
    tools = write_tools(domain)
    expected: dict[str, Any] = {
        "tool_calls": expect_writes([Action(*action[:2]) for action in one.task.writes(tools)], tools),
        "outcome": "completed",
    }
    if only_effects:
        expected["only_effects"] = sorted({action.name for action in one.task.writes(tools)})
    turns = [_turn(turn.prompt, None) for turn in one.turns]
    for output in one.task.outputs:
        place = expected.setdefault("in_any_turn", {})
        if NUMBER.fullmatch(output):
            place.setdefault("must_match_regex", []).append(number_regex(output))
        else:
            place.setdefault("expected_contains", []).append(output)
    return {"id": one.id, "turns": turns, "expected": expected}
