"""Audits of conversations: each turn is made wrong by itself, and judged with all of them."""

from __future__ import annotations

from msgspec import structs

import carob
from carob.features.audit.case_audit import everywhere, parts
from carob.features.audit.operators.base import Subject

from . import desk
from .test_refund_desk import SUITE

LOOSE = {
    "carob": 1,
    "cases": [
        {
            "id": "loose",
            "turns": [
                {"prompt": "I want my money back.", "expected": {"asks_for": ["order number"]}},
                {"prompt": "It is order A-17.", "expected": {"outcome": "response_only"}},
            ],
        }
    ],
}


def test_each_turn_is_made_wrong() -> None:
    result = carob.run(SUITE, desk.remembers)
    report = carob.audit(result.journal)
    assert (report.summary.audited, report.summary.controls) == (3, 0)
    operators = report.cases[0].operators
    for name in ("tool-dropped", "tool-renamed", "answer-missing"):
        killed, tried = operators.get(name, (1, 1))
        assert killed == tried, name
    assert operators["tool-dropped"][1] == 3


def test_a_turn_that_nothing_looks_at_is_reported() -> None:
    result = carob.run(LOOSE, desk.remembers)
    report = carob.audit(result.journal)
    (case,) = report.cases
    assert case.survivors
    assert {survivor.change.partition(":")[0] for survivor in case.survivors} <= {"turn 1", "turn 2"}
    assert any(survivor.change.startswith("turn 2: ") for survivor in case.survivors)


def test_a_turn_is_replaced_within_its_conversation() -> None:
    (record, *_) = carob.run(SUITE, desk.remembers).records
    first, second = parts(Subject(record.case, record.trace))
    assert (first.turn, second.turn) == (1, 2)
    changed = second.within(structs.replace(second.subject.trace, final_message="x", tool_calls=()))
    assert (changed.final_message, changed.tool_calls, changed.turns[0]) == ("x", (), record.trace.turns[0])
    silent = everywhere(record.trace, lambda turn: structs.replace(turn, final_message=""))
    assert [turn.final_message for turn in (*silent.turns, silent)] == ["", "", ""]
