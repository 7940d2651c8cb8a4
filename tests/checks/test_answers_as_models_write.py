"""Answers as models write them, with Markdown, emoji, contractions and other locales, judged through the library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import carob
from carob.text.tool_results import call_success
from yaml_files import read_yaml

FILE = Path(__file__).with_name("answers_as_models_write.yaml")
KINDS = {"wrong": False, "limits": True, "right": True}
"""Whether answers of a kind pass: a documented limit of literal words is a wrong one that does."""


def trace_of(group: dict[str, Any], row: Any) -> carob.Trace:
    """A row is an answer, or the calls of a group whose answer is always the same."""
    given = row if "answer" in group else group.get("calls", ())
    calls = tuple(
        carob.ToolCall(one["name"], {}, result=one["result"], success=call_success(one["result"], raised=False))
        for one in given
    )
    said = group.get("answer", row)
    return carob.Trace(case_id="case", input=group["prompt"], final_message=said, tool_calls=calls)


def test_no_wrong_answer_passes_and_every_right_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # no effects of this project
    rows: list[tuple[str, str, bool]] = []
    for group in read_yaml(FILE):
        case = {"id": "case", "prompt": group["prompt"], "expected": group["expected"]}
        effects = {"effects": group["effects"]} if "effects" in group else {}
        judged = carob.load_suite({"carob": 1, "name": group["name"], **effects, "cases": [case]}).cases[0]
        for kind, passes in KINDS.items():
            for row in group.get(kind, ()):
                is_right = (carob.judge(judged, trace_of(group, row)).status == "PASS") is passes
                rows.append((kind, f"{group['name']}: {row}", is_right))
    assert [(kind, row) for kind, row, is_right in rows if not is_right] == []
    count = {kind: sum(one == kind for one, _, _ in rows) for kind in KINDS}
    assert count["wrong"] >= 150
    assert count["right"] >= 120
    assert count["limits"] <= count["wrong"] * 0.05


def test_keys_of_a_result_that_are_not_texts_break_no_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    case = {"id": "case", "prompt": "How many?", "expected": {"grounded_numbers": True}}
    rows = [{1: 3, 2.5: 40, (6, 7): 8}, {1: 4}]
    trace = carob.Trace(
        case_id="case", final_message="There are 999 of them.", tool_calls=(carob.ToolCall("count", {}, result=rows),)
    )
    assert carob.judge(case, trace).status == "FAIL"
