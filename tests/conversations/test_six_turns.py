"""Six turns with the two example agents, sound and with a bug that only the fourth turn shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import carob
from carob.model.run import CaseRecord
from carob.model.verdict import CaseStatus, Status
from carob.targets.config import TargetConfig
from evals.support import with_bug
from recordings import canvas, shipped

BOOKED = {"vehicle_id": 3, "test_type": "brake", "start_date": "2026-03-09"}
LAB = {
    "id": "books-step-by-step",
    "turns": [
        {
            "prompt": "Book a dyno.",
            "expected": {
                "outcome": "needs_input",
                "asks_for": ["vehicle", "test type", "date"],
                "tool_calls_none": ["auto_allocate_vehicle"],
            },
        },
        {"prompt": "Vehicle 3.", "expected": {"outcome": "needs_input", "asks_for": ["test type", "date"]}},
        {"prompt": "A brake test.", "expected": {"outcome": "needs_input", "asks_for": ["date"]}},
        {
            "prompt": "Next Monday.",
            "expected": {
                "outcome": "tool_success",
                "tool_calls": [{"tool": "auto_allocate_vehicle", "arguments": BOOKED, "success": True}],
                "must_say_any": ["DYNO-01"],
                "database": {"SELECT vehicle_id FROM allocations WHERE id = 22": [3]},
            },
        },
        {"prompt": "List the dynos.", "expected": {"outcome": "tool_success", "must_say_any": ["DYNO-02"]}},
        {"prompt": "What time is it?", "expected": {"outcome": "tool_success", "must_say_any": ["2026-03-02"]}},
    ],
    "expected": {"must_not_say": ["sorry"]},
}
ASKED_LAB = {
    "id": "answers-what-is-asked",
    "prompt": "Book a dyno.",
    "replies": [
        {"asks_for": ["vehicle"], "say": "Vehicle 3."},
        {"asks_for": ["test type"], "say": "A brake test."},
        {"asks_for": ["date"], "say": "Next Monday."},
    ],
    "expected": {"tool_calls": [{"tool": "auto_allocate_vehicle", "arguments": BOOKED, "success": True}]},
}
CANVAS = {
    "id": "builds-a-canvas",
    "turns": [
        {
            "prompt": "Add a Slack component",
            "expected": {
                "outcome": "needs_input",
                "asks_for": ["Slack component"],
                "ui": ["No new component is added"],
            },
        },
        {"prompt": "Mentions", "expected": {"ui": ["The card Slack Mentions is on the canvas."]}},
        {"prompt": "Add my GitHub activity", "expected": {"ui": ["The card GitHub My Activity is on the canvas."]}},
        {
            "prompt": "Move Slack mentions to the top",
            "expected": {
                "outcome": "tool_success",
                "ui": ["The card Slack Mentions is number 1 of 5 on the canvas."],
                "must_say_any": ["comes first"],
            },
        },
        {
            "prompt": "What is on my canvas?",
            "expected": {"must_say_any": ["Slack Mentions"], "tool_calls_none": ["add_component"]},
        },
        {"prompt": "Add PostHog signups", "expected": {"telemetry": ["tool.add_component result success:true"]}},
    ],
    "expected": {"tool_calls": [{"tool": "add_component", "success": True, "times": 3}]},
}
ASKED_CANVAS = {
    "id": "answers-the-picker",
    "prompt": "Add a Slack component",
    "replies": [{"asks_for": ["Slack component"], "say": "Mentions"}],
    "expected": {"ui": ["The card Slack Mentions is on the canvas."]},
}


def ran(target: TargetConfig, folder: Path, *cases: dict[str, Any]) -> list[CaseRecord]:
    result = carob.run({"carob": 1, "cases": [*cases]}, target, results_dir=folder, concurrency=2, timeout=120)
    return list(result.records)


def wrong(record: CaseRecord) -> set[int | None]:
    """The turns in which a check did not pass."""
    return {check.turn for check in record.verdict.checks if check.status is not Status.PASSED}


def test_the_dyno_agent(tmp_path: Path) -> None:
    by_turns, by_replies = ran(shipped("dyno"), tmp_path, LAB, ASKED_LAB)
    assert (by_turns.status, by_replies.status) == (CaseStatus.PASS, CaseStatus.PASS)
    assert len(by_turns.trace.turns) == 6
    assert [turn.input for turn in by_replies.trace.turns] == ["Book a dyno.", "Vehicle 3. A brake test. Next Monday."]


def test_a_bug_of_the_dyno_agent_that_the_fourth_turn_shows(tmp_path: Path) -> None:
    spec = f"{Path(__file__).with_name('forgetful.py')}:graph"
    (record,) = ran(structs.replace(shipped("dyno"), spec=spec), tmp_path, {**LAB, "expected": {"max_tool_calls": 6}})
    assert (record.status, wrong(record)) == (CaseStatus.FAIL, {4})
    assert len(record.trace.turns) == 6


@pytest.mark.thorough
def test_the_canvas_app(tmp_path: Path) -> None:
    by_turns, by_replies = ran(canvas(), tmp_path, CANVAS, ASKED_CANVAS)
    assert (by_turns.status, by_replies.status) == (CaseStatus.PASS, CaseStatus.PASS)
    assert [len(record.trace.turns) for record in (by_turns, by_replies)] == [6, 2]


@pytest.mark.thorough
@pytest.mark.limit(240)
def test_a_bug_of_the_canvas_app_that_the_fourth_turn_shows(tmp_path: Path) -> None:
    (record,) = ran(with_bug("deaf-canvas"), tmp_path, CANVAS)
    assert (record.status, wrong(record)) == (CaseStatus.FAIL, {4})
