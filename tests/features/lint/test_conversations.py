"""Smells of conversations: replies that are never said, and expectations of a turn that prove little."""

from __future__ import annotations

from typing import Any

import pytest

import carob

REPLY = {"asks_for": ["order number"], "say": "It is A-17."}
EXPECTED = {"tool_calls": [{"tool": "pay"}]}


def smells(**case: Any) -> list[tuple[str, str]]:
    suite = {"carob": 1, "cases": [{"id": "A", "expected": EXPECTED, **case}]}
    return [(smell.path, smell.slug) for smell in carob.lint(suite).smells]


@pytest.mark.parametrize(
    ("case", "found"),
    [
        pytest.param({"replies": [REPLY]}, [], id="sound"),
        pytest.param({"replies": [REPLY], "max_turns": 1}, ["cases[0].replies[0]"], id="no-turn-for-it"),
        pytest.param({"replies": [REPLY] * 3, "max_turns": 3}, ["cases[0].replies[2]"], id="too-many-to-one-thing"),
        pytest.param(
            {"replies": [REPLY, {**REPLY, "asks_for": ["reason"]}], "max_turns": 2}, [], id="two-things-at-once"
        ),
    ],
)
def test_replies_that_are_never_said(case: dict[str, Any], found: list[str]) -> None:
    assert smells(prompt="Pay me.", **case) == [(path, "unreachable-reply") for path in found]


def test_a_turn_that_the_prompt_satisfies() -> None:
    turns = [
        {"prompt": "Hello.", "expected": {"must_say_any": ["welcome"]}},
        {"prompt": "Say banana.", "expected": {"must_say_any": ["banana"]}},
    ]
    assert smells(turns=turns) == [("cases[0].turns[1].expected.must_say_any[0]", "prompt-satisfies")]


def test_a_group_that_only_a_turn_judges_is_judged() -> None:
    turns = [{"prompt": "Hello.", "expected": {"must_say_any": ["welcome"]}}]
    assert smells(turns=turns, scoring={"hard_fail": ["formatting"]}) == []


def test_conversations_that_begin_alike_are_not_the_same() -> None:
    turns = [{"prompt": "Hello.", "expected": {"must_say_any": ["welcome"]}}]
    cases = [
        {"id": "A", "turns": turns},
        {"id": "B", "turns": [*turns, {"prompt": "Bye.", "expected": {"must_say_any": ["farewell"]}}]},
        {"id": "C", "prompt": "Hello.", "replies": [REPLY], "expected": EXPECTED},
    ]
    assert [smell.slug for smell in carob.lint({"carob": 1, "cases": cases}).smells] == []
