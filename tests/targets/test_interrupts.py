"""What an interrupt asks, and what a prompt that answers it is sent as."""

from __future__ import annotations

from typing import Any

import pytest

from carob.targets.interrupts import Interrupt, decisions, interrupt_text, resume

PLAIN = [Interrupt("a", "How many?")]
PAY = {"name": "pay", "args": {"room": "Blue"}, "description": "Pay Blue?"}
APPROVAL = [Interrupt("a", {"action_requests": [PAY, PAY]})]
EACH = [Interrupt("a", {"type": "tool_approval", **PAY}), Interrupt("b", "Sure?")]
NO = {"type": "reject", "message": "no"}


@pytest.mark.parametrize(
    ("value", "asks"),
    [
        ("Sign A?", "Sign A?"),
        ({"question": "Sign A?", "paper": "A"}, "Sign A?"),
        ({"action_requests": [PAY, {"name": "book", "args": {}, "description": "Book?"}]}, "Pay Blue?\nBook?"),
        ([{"action_request": {"action": "pay"}, "description": "Pay Blue?"}], "Pay Blue?"),
        ({"a": 1}, '{"a":1}'),
        (3, "3"),
    ],
)
def test_asked_by(value: object, asks: str) -> None:
    assert interrupt_text(value) == asks


@pytest.mark.parametrize(
    ("prompt", "waiting", "sent"),
    [
        ("three rooms", PLAIN, "three rooms"),
        ("3", PLAIN, 3),
        ("-2.5", PLAIN, -2.5),
        ("3 rooms", PLAIN, "3 rooms"),
        ("007", PLAIN, "007"),
        ("2026-01-05", PLAIN, "2026-01-05"),
        ("true", PLAIN, True),
        ("false", PLAIN, False),
        ("true story", PLAIN, "true story"),
        ('"3"', PLAIN, "3"),
        ('"so" he said', PLAIN, '"so" he said'),
        ('{"n": 3}', PLAIN, {"n": 3}),
        ("yes", APPROVAL, {"decisions": [{"type": "approve"}] * 2}),
        ("true", APPROVAL, {"decisions": [{"type": "approve"}] * 2}),
        ("false", APPROVAL, {"decisions": [{"type": "reject"}] * 2}),
        ('["yes", "no"]', APPROVAL, {"decisions": [{"type": "approve"}, NO]}),
        ("no", EACH, {"a": NO, "b": "no"}),
        ('{"a": "yes", "b": 3}', EACH, {"a": {"type": "approve"}, "b": 3}),
    ],
)
def test_resume(prompt: str, waiting: list[Interrupt], sent: Any) -> None:
    assert resume(prompt, waiting) == sent


def test_decisions_are_paired_with_the_calls_that_waited() -> None:
    both = [(PAY, {"type": "approve"}), (PAY, NO)]
    assert list(decisions(APPROVAL, {"decisions": [{"type": "approve"}, NO]})) == both
    assert list(decisions(EACH, {"a": NO, "b": "no"})) == [(EACH[0].value, NO)]
    assert list(decisions(PLAIN, "three")) == []
