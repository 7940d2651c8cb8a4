"""Answers by family, written by somebody who did not know the code: no wrong one passes, and right ones do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from carob.evidence.merge import merge_turns
from carob.model.check import Declared
from carob.model.suite import Case
from carob.model.trace import Message, ToolCall, Trace
from carob.model.verdict import CaseStatus, Status
from carob.scoring.verdicts import judge_case
from carob.suites.declared import with_declared
from carob.text.tool_results import call_success, missing_fields, parse_result
from catalogs import CATALOG
from yaml_files import read_yaml

FOLDER = Path(__file__).parent / "answers_by_family"
Item = dict[str, Any]


def call(recorded: Item) -> ToolCall:
    result = recorded.get("result")
    success = recorded.get("success", call_success(result, raised=bool(recorded.get("error"))))
    return ToolCall(
        recorded["name"],
        recorded.get("arguments"),
        result=result,
        error=recorded.get("error"),
        success=success,
        missing_fields=missing_fields(parse_result(result)),
    )


def trace_of(item: Item) -> Trace:
    if "turns" in item:
        return merge_turns([trace_of({"id": item["id"], **turn}) for turn in item["turns"]])
    observed = item.get("tool_calls") is not None and not item.get("calls_not_observed")
    earlier = item.get("setup_turns", ()) or item.get("earlier_turns", ())
    return Trace(
        case_id=item["id"],
        input=item["prompt"],
        final_message=item["answer"],
        page=item.get("page"),
        tool_calls=tuple(map(call, item.get("tool_calls") or ())),
        setup_calls=tuple(call(tool_call) for turn in earlier for tool_call in turn.get("tool_calls", ())),
        messages=(Message("user", item["prompt"]), Message("assistant", item["answer"])),
        metadata={"finish_reason": "length"} if item.get("ended") is False else {},
        unobserved={} if observed else {"tools": "the target returned text alone"},
    )


def judged(item: Item) -> tuple[str, list[str]]:
    """How the item comes out: passed, failed, unknown."""
    if item.get("crashed"):
        return "error", []
    expected = with_declared(item["expected"], Declared(item.get("effects", {}), item.get("words", {})))
    parsed = [one.spec for one in CATALOG.read(expected)]
    specs = tuple(spec for spec in parsed if spec.name != "outcome" or "outcome" in item["expected"])
    verdict = judge_case(Case(id=item["id"], prompt=item.get("prompt", "p"), checks=specs), trace_of(item), CATALOG)
    details = [f"{check.name} {check.status}: {check.found}" for check in verdict.checks if check.status != "passed"]
    if verdict.status is CaseStatus.PASS:
        return "pass", details
    statuses = {check.status for check in verdict.checks}
    return ("failed" if Status.FAILED in statuses else "unknown"), details


def items() -> list[Item]:
    """Those that name files next to a suite are in test_number_answers.py."""
    every = (item for file in sorted(FOLDER.glob("*.yaml")) for item in read_yaml(file))
    return [item for item in every if "grounded_in" not in item["expected"]]


@pytest.mark.parametrize("item", [pytest.param(item, id=item["id"]) for item in items()])
def test_answer(item: Item) -> None:
    verdict, why = judged(item)
    if item["verdict"] == "not_passed":
        assert verdict != "pass"
    else:
        assert verdict == item["verdict"], why


def test_there_are_enough_of_both_and_few_limits() -> None:
    wrong = [item for item in items() if item["kind"] == "wrong"]
    limits = [item for item in wrong if item["verdict"] == "pass"]
    assert len(wrong) >= 400
    assert len(items()) - len(wrong) >= 300
    assert len(limits) <= len(wrong) * 0.05
