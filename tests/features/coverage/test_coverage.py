"""`carob coverage` and `carob.coverage`: what counts as seen, as asserted and as covered, and what never does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import carob as library
from carob.features.coverage.model import Coverage, ToolCoverage
from cli.support import Carob, write
from features.coverage.desk import ANSWERS, SCHEMAS, SUITE, answer, call, case, record, suite_with


def measure(carob: Carob, suite: dict[str, Any], answers: dict[str, Any]) -> Coverage:
    journal = record(carob, suite, answers)
    return library.coverage("suite.json", journal)


def tool(coverage: Coverage, name: str) -> ToolCoverage:
    return next(row for row in coverage.tools if row.name == name)


def test_the_desk_in_figures(carob: Carob) -> None:
    coverage = measure(carob, SUITE, ANSWERS)
    get, refund, cancel = (tool(coverage, name) for name in ("get_order", "issue_refund", "cancel_order"))
    assert (get.called, get.succeeded, get.asserted, get.offered) == (2, 2, 0, True)
    assert (refund.called, refund.asserted, refund.judged, refund.forbidden) == (1, 1, 1, 1)
    assert (cancel.called, cancel.offered, cancel.is_effect) == (0, True, True)
    assert (coverage.asserted.part, coverage.asserted.whole) == (1, 3)
    assert [(gap.tool, gap.where, gap.line) for gap in coverage.unasserted] == [
        ("get_order", "refund", 'tool_calls: [{tool: "get_order", success: true}]')
    ]
    assert [gap.tool for gap in coverage.uncalled] == ["cancel_order"]
    assert [(e.name, e.done, e.not_done, e.claimed) for e in coverage.effects] == [
        ("issue_refund", 1, 0, 1), ("cancel_order", 0, 0, 0),
    ]  # fmt: skip
    [rule] = coverage.rules
    assert (rule.name, rule.cases, rule.passed, rule.not_triggered) == ("asked-for", 2, 1, 1)


def test_calls_before_the_schemas_are_known_count_for_their_arguments(carob: Carob) -> None:
    detail = next(a for a in tool(measure(carob, SUITE, ANSWERS), "get_order").arguments if a.name == "detail")
    assert {entry.name: entry.calls for entry in detail.classes} == {'"short"': 1, '"full"': 0, "left out": 1}
    assert detail.missed == ('"full"',)


def test_the_line_to_add_closes_the_gap(carob: Carob) -> None:
    [gap] = measure(carob, SUITE, ANSWERS).unasserted
    Path("runs").rename("before")
    key, _, value = gap.line.partition(": ")
    suite = json.loads(json.dumps(SUITE))
    added = json.loads(value.replace("{tool:", '{"tool":').replace("success:", '"success":'))
    suite["cases"][0]["expected"][key] += added
    coverage = measure(carob, suite, ANSWERS)
    assert tool(coverage, "get_order").judged == 1
    assert not coverage.unasserted


@pytest.mark.parametrize(
    ("expected", "asserted"),
    [
        pytest.param({"tool_calls_any": ["pay"]}, (1, 0, 0), id="any-of-one"),
        pytest.param({"tool_calls_any": ["pay", "find"]}, (0, 1, 0), id="any-of-two"),
        pytest.param({"tool_calls_any": ["p*"]}, (1, 0, 0), id="a-pattern-of-one-tool"),
        pytest.param({"tool_calls_any": ["*"]}, (0, 1, 0), id="a-pattern-of-several"),
        pytest.param({"tool_calls": [{"tool": "pay"}]}, (1, 0, 0), id="a-call"),
        pytest.param({"tool_calls": [{"tool": "pay", "times": {"min": 0, "max": 3}}]}, (0, 0, 0), id="at-most"),
        pytest.param({"tool_calls": [{"tool": "pay", "never": True}]}, (0, 0, 1), id="never"),
        pytest.param({"tool_calls": [{"any_of": [{"tool": "pay"}, {"tool": "find"}]}]}, (0, 1, 0), id="any-of-calls"),
        pytest.param(
            {"tool_calls": [{"any_of": [{"tool": "pay", "success": True}, {"tool": "pay"}]}]}, (1, 0, 0), id="any-of-it"
        ),
        pytest.param({"tool_calls": [{"tool": "pay", "success": True, "last": True}]}, (1, 0, 0), id="the-last-call"),
        pytest.param({"tool_calls": [{"tool": "pay"}], "only_effects": "exactly"}, (1, 0, 0), id="exactly-this-effect"),
        pytest.param({"tool_calls": [{"tool": "find"}], "only_effects": "exactly"}, (0, 0, 1), id="exactly-no-effect"),
        pytest.param({"tool_calls_any": ["@effects"]}, (1, 0, 0), id="the-only-effect"),
        pytest.param({"tool_calls_none": ["pay"]}, (0, 0, 1), id="none"),
        pytest.param({"tool_calls_none": ["Functions.Pay"]}, (0, 0, 1), id="none-in-another-spelling"),
        pytest.param({"tools_used": ["find", "pay"]}, (1, 0, 0), id="exactly-these"),
        pytest.param({"tools_used": ["find"]}, (0, 0, 1), id="exactly-another"),
        pytest.param({"tools_used": ["find", "pay"], "tools_match": "subset"}, (0, 0, 0), id="nothing-but-these"),
        pytest.param({"tools_used": ["find"], "tools_match": "superset"}, (0, 0, 0), id="at-least-another"),
        pytest.param({"tools_used": []}, (0, 0, 1), id="no-tool"),
        pytest.param({"tool_order": ["find", "pay"]}, (1, 0, 0), id="in-order"),
        pytest.param({"trajectory": {"calls": [{"tool": "find"}, {"tool": "pay"}]}}, (1, 0, 0), id="trajectory"),
        pytest.param({"trajectory": {"calls": [{"tool": "find"}]}}, (0, 0, 1), id="trajectory-of-another"),
        pytest.param({"trajectory": {"calls": [{"tool": "pay"}], "match": "subset"}}, (0, 0, 0), id="allowed-calls"),
        pytest.param({"tool_call_f1": {"tools": ["pay"], "threshold": 1}}, (1, 0, 0), id="the-whole-set"),
        pytest.param({"tool_call_f1": {"tools": ["pay"], "threshold": 0.5}}, (0, 1, 0), id="some-of-the-set"),
        pytest.param({"tool_requires": {"pay": ["find"]}}, (0, 0, 0), id="only-if-it-is-called"),
        pytest.param({"max_tool_calls": 3}, (0, 0, 0), id="a-bound"),
        pytest.param({"must_say_any": ["pay"]}, (0, 0, 0), id="words"),
        pytest.param({"only_effects": []}, (0, 0, 1), id="no-effect"),
        pytest.param({"only_effects": ["pay"]}, (0, 0, 0), id="this-effect-allowed"),
    ],
)
def test_what_asserts_a_tool(expected: dict[str, Any], asserted: tuple[int, int, int]) -> None:
    suite = write("suite.json", suite_with(case(expected), effects={"pay": ["paid"]}))
    recording = write("calls.jsonl", [{"case_id": "A", **answer("Done.", call("find"), call("pay"))}])
    row = tool(library.coverage(suite, recording), "pay")
    assert (row.asserted, row.alternative, row.forbidden) == asserted


def test_a_check_that_no_run_decided_asserts_nothing(carob: Carob) -> None:
    suite = suite_with(case({"tool_calls_any": ["pay"]}))
    unseen = {"final_message": "Done."}  # a recording that says nothing of calls
    coverage = measure(carob, suite, {"A": unseen})
    assert (tool(coverage, "pay").asserted, tool(coverage, "pay").judged) == (1, 0)
    assert coverage.asserted.part == 0
    assert any(entry.what == "pay" and "no run decided it" in entry.why and entry.fix for entry in coverage.unobserved)
    assert any(entry.what == "calls" for entry in coverage.unobserved)


def test_a_check_that_failed_asserts_its_tool(carob: Carob) -> None:
    coverage = measure(carob, suite_with(case({"tool_calls": [{"tool": "pay", "success": True}]})), {
        "A": answer("No.", call("pay", success=False)),
    })  # fmt: skip
    pay = tool(coverage, "pay")
    assert (pay.failed, pay.succeeded, pay.judged) == (1, 0, 1)


def test_a_case_that_changed_since_the_run_is_not_decided(carob: Carob) -> None:
    journal = record(carob, suite_with(case({"tool_calls_any": ["pay"]})), {"A": answer("Paid.", call("pay"))})
    changed = suite_with(case({"tool_calls": [{"tool": "pay", "arguments": {"amount": 5}}]}))
    row = tool(library.coverage(write("changed.json", changed), journal), "pay")
    assert (row.asserted, row.judged, row.called) == (1, 0, 1)


def test_a_tool_that_is_only_forbidden_is_not_of_the_agent(carob: Carob) -> None:
    coverage = measure(carob, suite_with(case({"tool_calls_none": ["drop_table"], "tool_calls_any": ["pay"]})), {
        "A": answer("Paid.", call("pay")),
    })  # fmt: skip
    assert (coverage.asserted.part, coverage.asserted.whole) == (1, 1)
    assert tool(coverage, "drop_table").forbidden == 1


def test_refused_and_failed_calls_are_no_successes(carob: Carob) -> None:
    refused = {"name": "pay", "started": False, "unfinished": True}
    suite = suite_with(case({"no_false_success": True}), effects={"pay": ["paid"]})
    coverage = measure(carob, suite, {"A": answer("It failed.", call("pay", success=False), refused)})
    row = tool(coverage, "pay")
    assert (row.called, row.succeeded, row.failed, row.refused) == (1, 0, 1, 1)
    [effect] = coverage.effects
    assert (effect.done, effect.not_done, effect.claimed) == (0, 2, 0)


def test_faults_that_landed_are_counted(carob: Carob) -> None:
    suite = suite_with(case({"must_say_any": ["sorry"]}, faults=[{"tool": "pay", "error": "503"}]))
    coverage = library.coverage(write("suite.json", suite))
    assert [(fault.name, fault.cases, fault.landed) for fault in coverage.faults] == [("error of a tool", 1, 0)]
    assert "error of a tool" not in coverage.untried_faults
    assert "hang of a model" in coverage.untried_faults


def test_recordings_show_calls_and_decide_nothing(carob: Carob) -> None:
    write("production.jsonl", [
        {"case_id": "u1", **answer("Here.", call("get_order", order=3), tool_schemas=SCHEMAS)},
        {"case_id": "u2", **answer("Gone.", call("issue_refund", order=3))},
    ])  # fmt: skip
    coverage = library.coverage(write("suite.json", SUITE), "production.jsonl")
    assert (coverage.conversations, coverage.others, coverage.asserted.part) == (2, 2, 0)
    assert tool(coverage, "issue_refund").called == 1
    assert {gap.tool: gap.where for gap in coverage.unasserted} == {"get_order": "a new case"}


def test_without_a_run_nothing_is_observed(carob: Carob) -> None:
    ran = carob("coverage", write("suite.json", SUITE))
    assert ran.code == 0
    assert "no run was given  name the journal of a run after the suite" in ran.out
    assert "Called, but never asserted" not in ran.out
    assert "\nAsserted: 1 of 2 tools (0.50)\n" in ran.out


@pytest.mark.parametrize(
    ("bound", "code", "says"),
    [
        pytest.param("0.33", 0, "MET: at least 0.33 of the tools are asserted", id="met"),
        pytest.param("0.34", 1, "NOT MET: 1 of 3 tools are asserted, which is under 0.34", id="not-met"),
    ],
)
def test_the_gate(carob: Carob, bound: str, code: int, says: str) -> None:
    journal = record(carob, SUITE, ANSWERS)
    ran = carob("coverage", "suite.json", journal, "--min-asserted", bound)
    assert (ran.code, ran.out.splitlines()[-1], ran.err) == (code, says, "")


def test_a_gate_over_no_tool_is_not_met(carob: Carob) -> None:
    journal = record(carob, suite_with(case({"must_say_any": ["yes"]})), {"A": answer("yes")})
    ran = carob("coverage", "suite.json", journal, "--min-asserted", "0")
    assert (ran.code, ran.out.splitlines()[-1]) == (1, "NOT MET: no tool is known, so nothing is asserted")


def test_a_folder_counts_every_journal_and_files_are_written_whole(carob: Carob) -> None:
    record(carob, SUITE, ANSWERS)
    ran = carob("coverage", "suite.json", "runs", "--format", "json", "--output", "coverage.json")
    assert ran.code == 0
    read = json.loads(Path("coverage.json").read_bytes())
    assert read["asserted"] == {"value": 0.3333, "part": 1, "whole": 3}
    assert [row["name"] for row in read["tools"]] == ["cancel_order", "get_order", "issue_refund"]
    assert json.loads(carob("coverage", "suite.json", "runs", "--format", "json").out) == read


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        pytest.param(["none.json"], 4, "none.json: no such file", id="no-suite"),
        pytest.param(["suite.json", "none.jsonl"], 4, "none.jsonl: it cannot be read", id="no-run"),
        pytest.param(["suite.json", "empty"], 4, "there is no run in this folder", id="no-run-in-the-folder"),
        pytest.param(["suite.json", "--min-asserted", "2"], 4, "--min-asserted", id="no-share"),
        pytest.param(["suite.json", "--output", "suite.json/x"], 3, "cannot be written", id="no-folder"),
    ],
)
def test_what_cannot_be_read_or_written(carob: Carob, arguments: list[str], code: int, says: str) -> None:
    write("suite.json", SUITE)
    Path("empty").mkdir()
    ran = carob("coverage", *arguments)
    assert (ran.code, says in ran.err) == (code, True), ran.err
    assert len(ran.err.strip().splitlines()) <= 3


async def test_awaited_it_gives_the_same(carob: Carob) -> None:
    journal = write("suite.json", SUITE)
    assert await library.acoverage(journal) == library.coverage(journal)
