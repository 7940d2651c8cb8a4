"""`carob run --guard`: cases with the guard on; what it refused, and calls that it was not asked about."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

import carob as library
from carob.proxy.faults.world import FaultError
from cli.support import Ran
from features.guard.policies import CALLS, DESK, write_policy

AGENT = """
PAID = []

def get_invoice(id): return {"id": id, "total": 80}

def pay_invoice(id):
    PAID.append(id)
    return "paid"

def answer(prompt, conversation):
    pay = conversation.tool(pay_invoice)
    if "look" in prompt:
        conversation.tool(get_invoice)(id="A")
    if "past" in prompt:
        pay_invoice("A")
        return {"final_message": "Paid.", "tool_calls": [{"name": "pay_invoice", "arguments": {}, "result": 1}]}
    try:
        return str(pay(id="A"))
    except Exception as error:
        return f"Not paid: {error}"
"""


@pytest.fixture(autouse=True)
def desk(here: None) -> None:
    Path("desk.py").write_text(AGENT)
    write_policy(Path(), CALLS)


def suite(*prompts: str, expected: dict | None = None) -> str:
    cases = [
        {"id": f"c{n}", "prompt": prompt, "expected": expected or {"max_tool_calls": 9}}
        for n, prompt in enumerate(prompts)
    ]
    Path("suite.json").write_text(json.dumps({"carob": 1, "cases": cases}))
    return "suite.json"


RUN = ("--target", "python:desk.py:answer", "--guard", "policy.carob.yaml")


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_run_says_what_the_guard_refused(carob: Callable[..., Ran], workers: str) -> None:
    file = suite("pay", "look and pay", expected={"tool_calls": [{"tool": "pay_invoice", "success": True}]})
    run = carob("run", file, *RUN, "--workers", workers)
    assert run.code == 1
    assert "the guard refused pay_invoice (look-first)" in run.out + run.err
    assert "Look an invoice up before you pay it." in run.out
    assert "PASS     c1" in run.out


def test_a_baseline_shows_what_the_guard_changed(carob: Callable[..., Ran]) -> None:
    cases = [
        {"id": "broken", "prompt": "pay", "expected": {"tool_calls": [{"tool": "pay_invoice", "success": True}]}},
        {"id": "saved", "prompt": "pay", "expected": {"must_not_say": ["paid for sure"], "must_say_any": ["Not paid"]}},
        {"id": "same", "prompt": "pay", "expected": {"must_say_any": ["never said"]}},
        {"id": "untouched", "prompt": "look and pay", "expected": {"must_say_any": ["paid"]}},
    ]
    Path("suite.json").write_text(json.dumps({"carob": 1, "cases": cases}))
    assert carob("run", "suite.json", *RUN[:2]).code == 1
    [journal] = Path("carob-results").glob("suite-2*.jsonl")
    run = carob("run", "suite.json", *RUN, "--baseline", str(journal), "--report", "json=r.json")
    assert "the guard refused 3 calls in 3 cases: pay_invoice by look-first (3)" in run.out
    assert "wrongly blocked, they pass without the guard: broken\n" in run.out
    assert "saved, they do not pass without the guard: saved\n" in run.out
    assert json.loads(Path("r.json").read_text())["summary"]["guard"]["saved"] == ["saved"]
    [newest] = {str(path) for path in Path("carob-results").glob("suite-2*.jsonl")} - {str(journal)}
    for kind in ("html", "junit", "github-summary", "markdown"):
        assert carob("report", newest, "--format", kind, "-o", f"r.{kind}").code == 0
        assert "pass without the guard: broken" in Path(f"r.{kind}").read_text(), kind


def test_repeats_are_compared_as_a_whole(carob: Callable[..., Ran]) -> None:
    file = suite("pay", expected={"tool_calls": [{"tool": "pay_invoice", "success": True}]})
    carob("run", file, *RUN[:2], "--repeat", "2")
    [journal] = Path("carob-results").glob("suite-2*.jsonl")
    run = carob("run", file, *RUN, "--baseline", str(journal), "--repeat", "2")
    assert "the guard refused 2 calls in 1 case" in run.out
    assert "pass without the guard: c0" in run.out


def test_a_case_that_the_baseline_lacks_cannot_be_compared(carob: Callable[..., Ran]) -> None:
    carob("run", suite("pay"), *RUN[:2])
    [journal] = Path("carob-results").glob("suite-2*.jsonl")
    run = carob("run", suite("pay", "pay now"), *RUN, "--baseline", str(journal))
    assert "1 case of them cannot be compared" in run.out


def test_a_guard_that_refuses_all_that_rules_are_about_fails_the_run() -> None:
    case = {"id": "a", "prompt": "pay", "expected": {"max_tool_calls": 9}}
    suite = {"carob": 1, "rules": CALLS_RULES, "cases": [case]}
    done = library.run(suite, reports_calls, guard="policy.carob.yaml", workers=0)
    assert done.summary.is_untested
    assert done.exit_code == 1
    assert done.summary.guard is not None
    assert done.summary.guard.by_rule == {"pay_invoice by look-first": 1}


def test_a_baseline_needs_something_to_compare_for(carob: Callable[..., Ran]) -> None:
    run = carob("run", suite("pay"), *RUN[:2], "--baseline", "@last")
    assert run.code == 4
    assert "With --guard, a baseline alone shows what the guard changed" in run.err


STRESSED = """
def get_invoice(id): return {"id": id, "total": 80}

def pay_invoice(id): return {"status": "paid"}

def answer(prompt, conversation):
    try:
        conversation.tool(get_invoice)(id="A")
    except Exception:
        pass
    try:
        conversation.tool(pay_invoice)(id="A")
        return {"final_message": "Paid.", "tool_calls": []}
    except Exception:
        return {"final_message": "Sorry, the payment failed: I could not look the invoice up.", "tool_calls": []}
"""


def test_stress_says_which_cells_the_guard_saved(carob: Callable[..., Ran]) -> None:
    Path("desk.py").write_text(STRESSED)
    case = {"id": "c", "prompt": "Pay.", "expected": {"tool_calls_any": ["pay_invoice"]}}
    Path("suite.json").write_text(json.dumps({"carob": 1, "effects": {"pay_invoice": ["paid"]}, "cases": [case]}))
    faults = ("--faults", "error", *RUN[:2])
    carob("stress", "suite.json", *faults)
    [journal] = Path("carob-results").glob("suite-stress-2*.jsonl")
    stressed = carob("stress", "suite.json", *faults, "--guard", "policy.carob.yaml", "--baseline", str(journal))
    assert "the guard refused 1 call in 1 case: pay_invoice by look-first" in stressed.out
    assert "saved, they do not pass without the guard: c/get_invoice/error" in stressed.out


def test_a_refused_call_is_requested_and_never_ran(tmp_path: Path) -> None:
    [record] = library.run(suite("pay"), "python:desk.py:answer", guard="policy.carob.yaml", workers=0)
    [call] = record.trace.tool_calls
    assert (call.name, call.started, call.called, call.refused) == ("pay_invoice", False, False, True)
    assert record.trace.metadata["guard"]["refused"] == [
        {"tool": "pay_invoice", "rule": "look-first", "verdict": "block"}
    ]


def test_a_refused_call_breaks_no_rule(tmp_path: Path) -> None:
    case = {"id": "a", "prompt": "pay", "expected": {"max_tool_calls": 9}}
    suite = {"carob": 1, "rules": CALLS_RULES, "cases": [case]}
    for guard, status in ((None, "FAIL"), ("policy.carob.yaml", "PASS")):
        [record] = library.run(suite, reports_calls, guard=guard, workers=0)
        assert str(record.verdict.status) == status, record.verdict


CALLS_RULES = yaml.safe_load(CALLS)["rules"]


def reports_calls(prompt: str, conversation: library.Conversation) -> dict:
    pay = conversation.tool(lambda id: "paid", "pay_invoice")
    try:
        pay(id="A")
    except FaultError as error:
        return {"final_message": str(error), "tool_calls": []}
    return {"final_message": "Paid.", "tool_calls": []}


def test_a_call_that_the_guard_was_not_asked_about_is_an_error(carob: Callable[..., Ran]) -> None:
    run = carob("run", suite("go past"), *RUN)
    assert "ERROR    c0" in run.out
    assert "it was passed by" in run.out


def test_a_run_that_is_done_again_is_guarded_again(carob: Callable[..., Ran]) -> None:
    assert carob("run", suite("pay", expected={"must_say_any": ["all paid"]}), *RUN).code == 1
    [journal] = Path("carob-results").glob("suite-2*.jsonl")
    again = carob("run", "--failed", str(journal), "--status", "fail")
    assert "the guard refused pay_invoice (look-first)" in again.out + again.err


def test_the_words_of_each_turn_are_heard(tmp_path: Path) -> None:
    write_policy(Path(), DESK)
    turns = [{"prompt": "look, would you pay?"}, {"prompt": "Yes, pay."}]
    case = {"id": "talk", "turns": turns, "expected": {"tool_calls": [{"tool": "pay_invoice", "success": True}]}}
    [record] = library.run({"carob": 1, "cases": [case]}, "python:desk.py:answer", guard="policy.carob.yaml", workers=0)
    assert [call.started for call in record.trace.tool_calls if call.name == "pay_invoice"] == [False, True]
    assert str(record.verdict.status) == "PASS"


def test_stubs_and_faults_stay_behind_the_guard(tmp_path: Path) -> None:
    case = {"id": "stubbed", "prompt": "look and pay", "stubs": {"pay_invoice": {"result": {"status": "stub"}}}}
    case |= {"expected": {"tool_calls": [{"tool": "pay_invoice", "result": {"status": "stub"}}]}}
    [record] = library.run({"carob": 1, "cases": [case]}, "python:desk.py:answer", guard="policy.carob.yaml", workers=0)
    assert str(record.verdict.status) == "PASS", record.verdict


def test_rules_know_tools_by_the_names_of_the_suite(carob: Callable[..., Ran]) -> None:
    Path("desk.py").write_text(AGENT.replace("pay_invoice", "desk_pay"))
    Path("carob.toml").write_text("""
[targets.desk]
use = "python:desk.py:answer"
tool_names = { desk_pay = "pay_invoice" }
""")
    run = carob("run", suite("pay"), "--target", "desk", "--guard", "policy.carob.yaml")
    assert "the guard refused pay_invoice (look-first)" in run.out + run.err


def test_a_target_whose_tools_run_elsewhere_is_refused(carob: Callable[..., Ran]) -> None:
    run = carob("run", suite("pay"), "--target", "command:cat", "--guard", "policy.carob.yaml")
    assert run.code == 4
    assert "guard-unreachable" in run.err
