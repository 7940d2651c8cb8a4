"""Gold calls of tau-bench with lists of ids: their order is free where nothing pairs with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import carob


def status(folder: Path, gold: dict[str, Any], called: dict[str, Any]) -> str:
    task = {
        "user_id": "u",
        "instruction": "Return them.",
        "actions": [{"name": "return_items", "kwargs": gold}],
        "outputs": [],
    }
    path = folder / "tasks.json"
    path.write_text(json.dumps([task]))
    (case,) = carob.load_suite(path).cases
    call = carob.ToolCall("return_items", called, success=True, result="ok")
    trace = carob.Trace(case_id=case.id, final_message="Done.", tool_calls=(call,), ended_by="itself")
    return str(carob.judge(case, trace).status)


@pytest.mark.parametrize(
    ("called", "expected"),
    [
        ({"order": "A", "ids": ["1", "2"]}, "PASS"),
        ({"order": "A", "ids": ["2", "1"]}, "PASS"),
        ({"order": "A", "ids": ["1", "3"]}, "FAIL"),
        ({"order": "A", "ids": ["1"]}, "FAIL"),
        ({"order": "B", "ids": ["1", "2"]}, "FAIL"),
        ({"order": "A", "ids": ["1", "2"], "all": True}, "FAIL"),
    ],
)
def test_a_list_of_ids_has_no_order(tmp_path: Path, called: dict[str, Any], expected: str) -> None:
    assert status(tmp_path, {"order": "A", "ids": ["1", "2"]}, called) == expected


def test_lists_that_are_pairs_keep_their_order(tmp_path: Path) -> None:
    gold = {"old": ["1", "2"], "new": ["3", "4"]}
    assert status(tmp_path, gold, gold) == "PASS"
    assert status(tmp_path, gold, {"old": ["2", "1"], "new": ["3", "4"]}) == "FAIL"


@pytest.mark.parametrize("tasks", [1, 2])
@pytest.mark.parametrize(
    ("tool", "expected"),
    [("send_certificate", "FAIL"), ("get_user", "PASS"), ("transfer_to_human_agents", "PASS"), ("user.reset", "FAIL")],
)
def test_a_write_that_no_task_names_is_forbidden(tmp_path: Path, tool: str, expected: str, tasks: int) -> None:
    book = {"actions": [{"name": "book", "arguments": {"seat": 1}}]}
    criteria: list[dict[str, Any]] = [{"actions": []}, book][:tasks]
    path = tmp_path / "tasks.json"
    path.write_text(
        json.dumps(
            [
                {"id": str(number), "user_scenario": {"instructions": "Hi"}, "evaluation_criteria": one}
                for number, one in enumerate(criteria)
            ]
        )
    )
    case = carob.load_suite(path).cases[0]
    call = carob.ToolCall(tool, {"amount": 50}, success=True, result={"ok": True})
    trace = carob.Trace(case_id=case.id, input="Hi", final_message="Done.", tool_calls=(call,), ended_by="itself")
    assert str(carob.judge(case, trace).status) == expected
