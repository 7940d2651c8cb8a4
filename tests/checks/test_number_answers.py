"""Right and wrong answers of the checks on numbers, ages and levers, written without knowledge of the code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import carob
from carob.model.trace import Message, ToolCall, Trace
from catalogs import CATALOG
from yaml_files import read_yaml

FOLDER = Path(__file__).parent / "number_answers"
FAMILIES = ("grounded_numbers", "grounded_in", "must_ground_numbers", "freshness", "levers", "number_sentences")
FIELDS = ("grounded_numbers", "must_ground_numbers", "evidence_freshness_max_age_minutes", "required_levers")
WANTED = {"pass": {"passed"}, "failed": {"failed"}, "unknown": {"unknown"}, "not_passed": {"failed", "unknown"}}


def items() -> Iterator[Any]:
    for family in FAMILIES:
        for item in read_yaml(FOLDER / f"{family}.yaml"):
            yield pytest.param(item, id=item["id"])


def turn(said: dict[str, Any], earlier: tuple[Trace, ...] = ()) -> Trace:
    calls = tuple(
        ToolCall(one["name"], one["arguments"], result=one.get("result"), success=True)
        for one in said.get("tool_calls") or ()
    )
    prompt = Message("system", said["system_prompt"]) if "system_prompt" in said else None
    return Trace(
        case_id="case",
        input=said["prompt"],
        final_message=said["answer"],
        messages=tuple(filter(None, (prompt, Message("user", said["prompt"]), Message("assistant", said["answer"])))),
        tool_calls=calls,
        page=said.get("page"),
        unobserved={} if "tool_calls" in said else {"tools": "nothing was recorded"},
        earlier=earlier,
    )


@pytest.mark.parametrize("item", list(items()))
def test_answer(item: dict[str, Any], tmp_path: Path) -> None:
    for name, text in item.get("files", {}).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    case = {"id": "case", "prompt": item["prompt"], "expected": item["expected"]}
    file = tmp_path / "suite.yaml"
    file.write_text(yaml.safe_dump({"carob": 1, "cases": [case]}), encoding="utf-8")
    checks = CATALOG.checks(carob.load_suite(file).cases[0].checks)
    trace = turn(item, tuple(turn(said) for said in item.get("setup_turns", ())))
    statuses = {check.judge(trace).status.value for check in checks if check.name in FIELDS}
    worst = next(status for status in ("failed", "unknown", "passed") if status in statuses)
    assert worst in WANTED[item["verdict"]], item["why"]
