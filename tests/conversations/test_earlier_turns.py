"""What a turn may rest on: what was said and done in the turns before it, and in no other."""

from __future__ import annotations

from typing import Any

import pytest

import carob
from carob.model.verdict import CaseStatus

VERIFIED = {"name": "verify", "success": True, "result": {"points": 3}}
PAID = {"name": "pay", "success": True, "result": {"status": "ok"}}


def ran(second: dict[str, Any], *answers: tuple[str, list[dict[str, Any]]]) -> CaseStatus:
    """How two turns come out of which the second expects this."""
    given = iter(answers)

    def agent(prompt: str) -> dict[str, Any]:
        text, calls = next(given)
        return {"final_message": text, "tool_calls": calls}

    turns = [{"prompt": "My budget is 500."}, {"prompt": "Go on.", "expected": second}]
    (record,) = carob.run({"carob": 1, "cases": [{"id": "A", "turns": turns}]}, agent).records
    return record.status


@pytest.mark.parametrize(
    ("expected", "first", "second", "status"),
    [
        pytest.param({"tool_requires": {"pay": ["verify"]}}, [VERIFIED], [PAID], CaseStatus.PASS, id="verified-before"),
        pytest.param(
            {"tool_requires": {"pay": ["verify"]}}, [], [PAID, VERIFIED], CaseStatus.FAIL, id="verified-after"
        ),
        pytest.param({"tool_order": ["verify", "pay"]}, [VERIFIED], [PAID], CaseStatus.FAIL, id="order-of-one-turn"),
        pytest.param({"tool_calls_none": ["verify"]}, [VERIFIED], [PAID], CaseStatus.PASS, id="calls-of-one-turn"),
    ],
)
def test_calls(expected: dict[str, Any], first: list[Any], second: list[Any], status: CaseStatus) -> None:
    assert ran(expected, ("Hm.", first), ("Done.", second)) is status


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        pytest.param("That is within your 500.", CaseStatus.PASS, id="the-users-words"),
        pytest.param("You have 3 points.", CaseStatus.PASS, id="a-result"),
        pytest.param("You have 4 points.", CaseStatus.FAIL, id="nothing"),
    ],
)
def test_numbers(answer: str, status: CaseStatus) -> None:
    assert ran({"grounded_numbers": True}, ("Hm.", [VERIFIED]), (answer, [])) is status
