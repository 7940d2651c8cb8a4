"""What lint says of the rules of a contract."""

from __future__ import annotations

import json
from typing import Any

import pytest

from carob.features.lint.base import TargetInfo
from carob.features.lint.linter import lint, lint_source
from carob.suites.reading import locate_suite
from catalogs import CATALOG
from recordings import ROOT

TOOLS = TargetInfo(tools=frozenset(("find", "pay", "refund_all")))
PAY = {"call": "pay", "arguments": {"id": {"$as": "id"}}}
FOUND = {"call": "find", "success": True, "arguments": {"id": {"$same": "id"}}}
LOOK = {"id": "look", "each": PAY, "needs": {"before": FOUND}}
DUE = {"id": "due", "each": PAY, "needs": {"last": FOUND}, "where": {"each.arguments.amount": {"$lte": 5}}}


def smells(*rules: dict[str, Any], info: TargetInfo = TOOLS, **more: Any) -> list[str]:
    tree = {"carob": 1, **more, "rules": list(rules)}
    suite = locate_suite(json.dumps(tree).encode(), "s.json", CATALOG)
    return [f"{problem.path} {problem.slug}" for problem in lint(suite, CATALOG, info)]


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        ([LOOK], []),
        ([{**LOOK, "each": {**PAY, "call": ["pay", "payy"]}}], ["rules[0] unknown-tool"]),
        ([{**LOOK, "each": {**PAY, "call": "refund_*"}}], []),
        ([{**LOOK, "needs": {"before": {"call": "find"}}}], ["rules[0].each.arguments.id unused-binding"]),
        ([{"id": "once", "each": {**PAY, "success": True}, "at_most": 1}], []),
        ([LOOK, DUE], ["rules[0].id implied-rule"]),
        ([DUE, {**LOOK, "each": {**PAY, "call": "refund_all"}}], []),
        (
            [{"id": "one", "each": PAY, "at_most": 1}, {"id": "three", "each": PAY, "at_most": 3}],
            ["rules[1].id implied-rule"],
        ),
    ],
)
def test_smells_of_rules(rules: list[dict[str, Any]], found: list[str]) -> None:
    assert smells(*rules) == found


def test_without_a_target_no_tool_is_unknown() -> None:
    assert smells({**LOOK, "each": {**PAY, "call": "payy"}}, info=TargetInfo()) == []


def test_a_suite_with_rules_and_cases_is_linted() -> None:
    cases = [{"id": "a", "prompt": "Hi.", "expected": {"must_say_any": ["hi"]}}]
    assert "cases[0].expected.must_say_any[0] prompt-satisfies" in smells(LOOK, cases=cases)


@pytest.mark.parametrize("example", ["order_desk", "dyno_agent"])
def test_policies_of_examples_are_clean(example: str) -> None:
    file = ROOT / "examples" / example / "policy.carob.yaml"
    report = lint_source(file.read_bytes(), str(file), CATALOG, TargetInfo(tools=None))
    assert (report.smells, report.suggestions) == ((), ())


def test_a_contract_without_cases_gets_no_suggestion_for_cases() -> None:
    data = json.dumps({"carob": 1, "rules": [LOOK]}).encode()
    assert lint_source(data, "s.json", CATALOG, TOOLS).suggestions == ()
