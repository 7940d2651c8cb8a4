"""`karat run --guard`: cases with the guard on; what it refused, and calls that it was not asked about."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

import karat as library
from cli.support import Ran
from guard.policies import CALLS, DESK, write_policy
from karat.proxy.faults.world import FaultError

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
    Path("suite.json").write_text(json.dumps({"karat": 1, "cases": cases}))
    return "suite.json"


RUN = ("--target", "python:desk.py:answer", "--guard", "policy.karat.yaml")


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_run_says_what_the_guard_refused(karat: Callable[..., Ran], workers: str) -> None:
    file = suite("pay", "look and pay", expected={"tool_calls": [{"tool": "pay_invoice", "success": True}]})
    run = karat("run", file, *RUN, "--workers", workers)
    assert run.code == 1
    assert "the guard refused pay_invoice (look-first)" in run.out + run.err
    assert "Look an invoice up before you pay it." in run.out
    assert "PASS     c1" in run.out


def test_a_refused_call_is_requested_and_never_ran(tmp_path: Path) -> None:
    [record] = library.run(suite("pay"), "python:desk.py:answer", guard="policy.karat.yaml", workers=0)
    [call] = record.trace.tool_calls
    assert (call.name, call.started, call.called, call.refused) == ("pay_invoice", False, False, True)
    assert record.trace.metadata["guard"]["refused"] == [
        {"tool": "pay_invoice", "rule": "look-first", "verdict": "block"}
    ]


def test_a_refused_call_breaks_no_rule(tmp_path: Path) -> None:
    case = {"id": "a", "prompt": "pay", "expected": {"max_tool_calls": 9}}
    suite = {"karat": 1, "rules": CALLS_RULES, "cases": [case]}
    for guard, status in ((None, "FAIL"), ("policy.karat.yaml", "PASS")):
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


def test_a_call_that_the_guard_was_not_asked_about_is_an_error(karat: Callable[..., Ran]) -> None:
    run = karat("run", suite("go past"), *RUN)
    assert "ERROR    c0" in run.out
    assert "it was passed by" in run.out


def test_a_run_that_is_done_again_is_guarded_again(karat: Callable[..., Ran]) -> None:
    assert karat("run", suite("pay", expected={"must_say_any": ["all paid"]}), *RUN).code == 1
    [journal] = Path("karat-results").glob("suite-2*.jsonl")
    again = karat("rerun", str(journal), "--status", "fail")
    assert "the guard refused pay_invoice (look-first)" in again.out + again.err


def test_the_words_of_each_turn_are_heard(tmp_path: Path) -> None:
    write_policy(Path(), DESK)
    turns = [{"prompt": "look, would you pay?"}, {"prompt": "Yes, pay."}]
    case = {"id": "talk", "turns": turns, "expected": {"tool_calls": [{"tool": "pay_invoice", "success": True}]}}
    [record] = library.run({"karat": 1, "cases": [case]}, "python:desk.py:answer", guard="policy.karat.yaml", workers=0)
    assert [call.started for call in record.trace.tool_calls if call.name == "pay_invoice"] == [False, True]
    assert str(record.verdict.status) == "PASS"


def test_stubs_and_faults_stay_behind_the_guard(tmp_path: Path) -> None:
    case = {"id": "stubbed", "prompt": "look and pay", "stubs": {"pay_invoice": {"result": {"status": "stub"}}}}
    case |= {"expected": {"tool_calls": [{"tool": "pay_invoice", "result": {"status": "stub"}}]}}
    [record] = library.run({"karat": 1, "cases": [case]}, "python:desk.py:answer", guard="policy.karat.yaml", workers=0)
    assert str(record.verdict.status) == "PASS", record.verdict


def test_rules_know_tools_by_the_names_of_the_suite(karat: Callable[..., Ran]) -> None:
    Path("desk.py").write_text(AGENT.replace("pay_invoice", "desk_pay"))
    Path("karat.toml").write_text("""
[targets.desk]
use = "python:desk.py:answer"
tool_names = { desk_pay = "pay_invoice" }
""")
    run = karat("run", suite("pay"), "--target", "desk", "--guard", "policy.karat.yaml")
    assert "the guard refused pay_invoice (look-first)" in run.out + run.err


def test_a_target_whose_tools_run_elsewhere_is_refused(karat: Callable[..., Ran]) -> None:
    run = karat("run", suite("pay"), "--target", "command:cat", "--guard", "policy.karat.yaml")
    assert run.code == 4
    assert "guard-unreachable" in run.err
