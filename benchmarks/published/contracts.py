"""What a task asks for, as a contract: its gold writes one to one, no other write, and the words that it wants.

tau-bench rewards a database that equals the one after the gold actions, and answers that hold the outputs. Reads, and
writes that were refused, change nothing: the contract is about writes that succeeded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.published.conversations import Call, Conversation
from benchmarks.published.effects import DOMAINS, write_tools

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
    return {"karat": 1, "name": name, "effects": DOMAINS[domain], "cases": cases}


def _turn(prompt: str, expected: dict[str, Any] | None) -> dict[str, Any]:
    return {"prompt": prompt, "expected": expected} if expected else {"prompt": prompt}


def _case(one: Conversation, domain: str, only_effects: bool) -> dict[str, Any]:
    tools = write_tools(domain)
    expected: dict[str, Any] = {
        "tool_calls": [*_wanted(one.task.writes(tools)), *_unwanted(one, tools)],
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


def number_regex(number: str) -> str:
    """A number as an answer may write it: with separators of thousands, with a sign, not inside a longer number."""
    whole, dot, decimals = number.partition(".")
    zeros = "0*" if dot else r"(?:\.0+)?"
    return rf"(?<!\d)(?<!\d[.,]){',?'.join(whole)}{re.escape(dot)}{decimals}{zeros}(?![.,]?\d)"


def _wanted(writes: Sequence[Call]) -> Iterator[dict[str, Any]]:
    for action in _distinct(writes):
        yield {
            "tool": action.name,
            "arguments": {"$eq": action.arguments},
            "success": True,
            "times": writes.count(action),
        }


def _unwanted(one: Conversation, tools: Sequence[str]) -> Iterator[dict[str, Any]]:
    for tool in tools:
        others = [{"$ne": action.arguments} for action in _distinct(one.task.writes([tool]))]
        arguments = {"arguments": {"$all": others}} if others else {}
        yield {"tool": tool, **arguments, "success": True, "never": True}


def _distinct(writes: Sequence[Call]) -> list[Call]:
    return [action for index, action in enumerate(writes) if action not in writes[:index]]
