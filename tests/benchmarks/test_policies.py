"""The written policies of tau-bench as contracts, on conversations of our own in its format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import carob
from benchmarks.published.__main__ import main
from benchmarks.published.rule_audit import audit_rules, audit_table
from benchmarks.published.rules import Policy, judge_runs, read_policy
from carob.evidence.conversation_events import read_conversation
from carob.evidence.merge import merge_turns
from carob.features.audit.operators.rules import break_rule
from carob.model.trace import ToolCall, Trace
from carob.rules.contract import Contract
from carob.rules.events import RuleOutcome
from carob.rules.monitor import judge_events
from carob.rules.reading import read_rules

RESERVATION = {
    "reservation_id": "R1",
    "user_id": "mia",
    "cabin": "basic_economy",
    "flights": [{"flight_number": "F1", "date": "2024-05-20"}],
    "passengers": [{"first_name": "Mia"}],
    "created_at": "2024-05-01T00:00:00",
    "insurance": "no",
    "total_baggages": 1,
}


def say(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


def call(name: str, arguments: dict[str, Any], result: object, words: str = "") -> list[dict[str, Any]]:
    text = result if isinstance(result, str) else json.dumps(result)
    function = {"name": name, "arguments": json.dumps(arguments)}
    return [
        {"role": "assistant", "content": words or None, "tool_calls": [{"id": "c", "function": function}]},
        {"role": "tool", "tool_call_id": "c", "name": name, "content": text},
    ]


def run(*parts: list[dict[str, Any]], tool: str = "cancel_reservation") -> dict[str, Any]:
    messages = [message for part in parts for message in part]
    actions = [{"name": tool, "kwargs": {}}]
    return {"task_id": 1, "trial": 0, "reward": 1.0, "info": {"task": {"actions": actions}}, "traj": messages}


LOOK = call("get_reservation_details", {"reservation_id": "R1"}, RESERVATION)
CANCEL = call("cancel_reservation", {"reservation_id": "R1"}, RESERVATION)
UPGRADE = call(
    "update_reservation_flights",
    {"reservation_id": "R1", "cabin": "business", "flights": RESERVATION["flights"], "payment_id": "gift_card_1"},
    RESERVATION,
)


def outcomes(*parts: list[dict[str, Any]]) -> dict[str, str]:
    [judged] = judge_runs(read_policy("airline"), [run(*parts)])
    return dict(judged.outcomes)


@pytest.mark.parametrize(("domain", "count"), [("airline", 20), ("retail", 22)])
def test_a_policy_is_read(domain: str, count: int) -> None:
    assert len(read_policy(domain).rules) == count


def test_a_cancellation_against_the_policy() -> None:
    judged = outcomes(say("Cancel it."), LOOK, CANCEL)
    assert (judged["explicit-yes"], judged["cancel-within-the-rules"]) == ("broken", "broken")
    assert judged["look-before-touching"] == "held"


def test_the_cabin_after_an_upgrade_is_that_of_the_call() -> None:
    """The tool of tau-bench shows the old one."""
    judged = outcomes(say("Yes, upgrade it and cancel it."), LOOK, UPGRADE, CANCEL)
    assert (judged["explicit-yes"], judged["cancel-within-the-rules"]) == ("held", "held")
    assert judged["change-paid-from-the-profile"] == "broken"


def test_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "historical_trajectories" / "gpt-4o-airline.json"
    path.parent.mkdir()
    path.write_text(json.dumps([run(say("Cancel it."), LOOK, CANCEL), run()]))
    assert main(["rules", "--from", str(tmp_path), "--alarms", "explicit-yes"]) == 0
    printed = capsys.readouterr().out
    assert "gpt-4o-airline.json: 1 conversations" in printed
    assert "| explicit-yes | 1 | 0 | 1 | 0 | 1 |" in printed
    assert "== 1-0 (reward 1) explicit-yes" in printed


def test_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--from", str(tmp_path)]) == 2
    assert "--trajectories" in capsys.readouterr().out


def test_mutants_of_a_conversation_break_the_rules_they_are_made_for() -> None:
    """Each rule that the conversation keeps is broken in every way that the audit knows; a call between breaks none."""
    policy = read_policy("airline")
    books = call("get_user_details", {"user_id": "mia"}, {"membership": "gold", "payment_methods": {"gift_card_1": {}}})
    trace = carob.trace_from_messages([*books, *LOOK, *say("Yes, please."), *UPGRADE])
    between = carob.trace_from_messages([*books, *call("think", {}, {}), *LOOK, *say("Yes, please."), *UPGRADE])
    kept = [n for n, rule in enumerate(policy.contract.rules) if rule.id in find_held(policy, trace)]
    assert len(kept) >= 5
    for number in kept:
        name = policy.contract.rules[number].id
        mutants = [*break_rule(policy.contract, number, trace)]
        assert mutants
        assert [mutant.change for mutant in mutants if name in find_held(policy, mutant.trace)] == []
    assert find_held(policy, between) == find_held(policy, trace)


ORDER = {"order_id": "#1", "user_id": "mia", "status": "pending", "items": [{"item_id": "7"}]}
NEW = {"order_id": "#1", "item_ids": ["7"], "new_item_ids": ["8"], "payment_method_id": "gift_card_1"}
SHOP = carob.trace_from_messages(
    [
        *say("I am mia@x.org. Change the item of order 1."),
        *call("find_user_id_by_email", {"email": "mia@x.org"}, "mia"),
        *call("get_user_details", {"user_id": "mia"}, {"payment_methods": {"gift_card_1": {"balance": 9}}}),
        *call("get_order_details", {"order_id": "#1"}, ORDER),
        *call("get_product_details", {"product_id": "5"}, {"variants": {"8": {"item_id": "8"}}}),
        *say("Yes, please."),
        *call("modify_pending_order_items", NEW, {**ORDER, "status": "pending (item modified)"}),
    ]
)
CHANGE = carob.trace_from_messages(
    [
        *call("get_user_details", {"user_id": "mia"}, {"payment_methods": {"gift_card_1": {}, "certificate_2": {}}}),
        *LOOK,
        *say("Yes, please."),
        *UPGRADE,
    ]
)


@pytest.mark.parametrize(
    ("domain", "trace", "rule"),
    [
        # the order is looked at once more, and is still pending
        pytest.param("retail", SHOP, "nothing-after-modified-items", id="after-another-look"),
        # the certificate is the customer's own
        pytest.param("airline", CHANGE, "changes-are-paid-by-card", id="a-value-that-was-shown"),
    ],
)
def test_a_rule_is_broken_by_itself_where_there_is_a_way(domain: str, trace: Trace, rule: str) -> None:
    policy = read_policy(domain)
    before = find_outcomes(policy, trace)
    assert before[rule] is RuleOutcome.HELD
    number = policy.rules.index(rule)
    [mutant] = break_rule(policy.contract, number, trace)
    after = find_outcomes(policy, mutant.trace)
    assert [name for name in after if after[name] is RuleOutcome.BROKEN and before[name] is not after[name]] == [rule]


def find_held(policy: Policy, trace: Trace) -> set[str]:
    return {rule for rule, outcome in find_outcomes(policy, trace).items() if outcome is RuleOutcome.HELD}


def find_outcomes(policy: Policy, trace: Trace) -> dict[str, RuleOutcome]:
    conversation = read_conversation(trace)
    verdicts = judge_events(policy.contract, conversation.events, conversation.end)
    return {verdict.rule: verdict.outcome for verdict in verdicts}


def test_two_reads_in_another_order_are_tried_as_equal() -> None:
    """And reads of one tool are not: which was the latest one matters."""
    looked = {"id": "looked", "each": {"call": "pay"}, "needs": {"before": {"call": "get_b"}}}
    in_order = {"id": "in-order", "each": {"call": "get_b"}, "needs": {"before": {"call": "get_a"}}}
    calls = [*call("get_a", {}, {}), *call("get_b", {}, {}), *call("get_b", {}, {}), *call("pay", {}, {})]
    trace = carob.trace_from_messages([*say("Hi."), {"role": "assistant", "content": "Hello."}, *say("Pay."), *calls])
    for rule, alarms in ((looked, 0), (in_order, 1)):
        rules, _ = read_rules([rule])
        audited = audit_rules(Policy("desk", Contract(rules), (str(rule["id"]),)), [trace])
        assert (audited.equivalents, audited.false_alarms) == (4 + 1, alarms)


def test_the_audit_of_a_policy_counts_what_each_rule_notices() -> None:
    rules, _ = read_rules([{"id": "once", "each": {"call": "pay", "success": True}, "at_most": 1}])
    calls = (ToolCall("pay", {}, success=True, result={}, message="1"),)
    turn = Trace(case_id="a", input="Pay.", final_message="Paid.", tool_calls=calls)
    audited = audit_rules(Policy("desk", Contract(rules), ("once",)), [merge_turns([turn])])
    assert (audited.made["once"], audited.killed["once"], audited.alone["once"]) == (1, 1, 1)
    assert (audited.equivalents, audited.false_alarms) == (1, 0)
    assert "1 of 1 wrong conversations" in audit_table(Policy("desk", Contract(rules), ("once",)), audited)


def certificate(amount: int) -> list[dict[str, Any]]:
    return call("send_certificate", {"user_id": "mia", "amount": amount}, "sent")


MIA = call("get_user_details", {"user_id": "mia"}, {"membership": "regular", "payment_methods": {}})
INSURED = call(
    "get_reservation_details",
    {"reservation_id": "R2"},
    {**RESERVATION, "reservation_id": "R2", "insurance": "yes", "passengers": [{}, {}]},
)


@pytest.mark.parametrize(
    ("looks", "amount", "entitled", "size"),
    [
        ([INSURED, LOOK], 100, "held", "held"),
        ([LOOK, INSURED], 50, "held", "held"),
        ([INSURED, LOOK], 75, "held", "broken"),
        ([LOOK], 50, "broken", "held"),
        ([LOOK], 200, "broken", "broken"),
    ],
)
def test_a_certificate_is_about_any_reservation_that_was_seen(
    looks: list[Any], amount: int, entitled: str, size: str
) -> None:
    judged = outcomes(say("Yes."), MIA, *looks, certificate(amount))
    assert (judged["certificates-for-those-entitled"], judged["size-of-a-certificate"]) == (entitled, size)


@pytest.mark.parametrize(("item", "outcome"), [("8", "held"), ("7", "held"), ("9", "broken")])
def test_a_new_item_was_shown_by_its_product_or_the_order(item: str, outcome: str) -> None:
    shown = [
        *call("get_order_details", {"order_id": "#1"}, ORDER),
        *call("get_product_details", {"product_id": "5"}, {"variants": {"8": {"item_id": "8"}}}),
    ]
    change = call("modify_pending_order_items", {**NEW, "new_item_ids": [item]}, ORDER)
    trace = carob.trace_from_messages([*say("Yes, please."), *shown, *change])
    assert str(find_outcomes(read_policy("retail"), trace)["new-items-were-shown"]) == outcome
