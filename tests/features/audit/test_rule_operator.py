"""What the audit makes of conversations for rules: each rule is broken in each of its ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec import structs

from carob.evidence.conversation_events import read_conversation
from carob.features.audit.case_audit import mutants
from carob.features.audit.judging import judge_trace
from carob.features.audit.operators.base import Mutant, Subject
from carob.features.audit.operators.rules import OPERATORS, break_rule
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import CaseStatus
from carob.rules.contract import Contract
from carob.rules.events import RuleOutcome
from carob.rules.monitor import judge_events
from carob.rules.reading import read_rules
from catalogs import CATALOG
from features.audit.support import bare_case

ID = {"arguments": {"id": {"$as": "id"}}}
SAME_ID = {"arguments": {"id": {"$same": "id"}}}
PAY = {"call": "pay", **ID}
FOUND = {"call": "find", "success": True, **SAME_ID}
RULES: Mapping[str, Mapping[str, Any]] = {
    "before": {"each": PAY, "needs": {"before": FOUND}},
    "last": {"each": PAY, "needs": {"last": FOUND}, "where": "each.arguments.amount <= last.result.due"},
    "last-user": {"each": PAY, "needs": {"last_user": ["@yes"]}},
    "after": {"each": {**PAY, "success": True}, "needs": {"after": {"call": "receipt", **SAME_ID}}},
    "never-before": {"each": {"call": "find"}, "forbids": {"before": {"call": "pay"}}},
    "never-after": {"each": {"call": "receipt", **ID}, "forbids": {"after": {"call": "pay", **SAME_ID}}},
    "where": {"each": PAY, "where": "each.arguments.amount > 3 && each.arguments.currency in ['EUR', 'CHF']"},
    "parallel": {"each": {"call": "*"}, "where": "!each.parallel"},
    "beside-words": {"each": {"call": "*"}, "where": "!each.beside_words"},
    "at-most": {"each": {**PAY, "success": True}, "at_most": 1},
    "total": {"each": {**PAY, "success": True}, "total": "each.arguments.amount", "at_most": 500},
    "same": {"each": {"call": "find"}, "same": "each.arguments.id"},
    "values-from": {"each": PAY, "values_from": {"each.arguments.iban": ["find"]}},
}


def call(tool: str, message: str, result: object = None, **arguments: object) -> ToolCall:
    return ToolCall(tool, arguments, result=result or {"ok": True}, success=True, message=message, with_words=False)


PAID = Trace(
    case_id="paid",
    input="Yes, pay it.",
    final_message="Paid.",
    ended_by="itself",
    tool_calls=(
        call("find", "1", {"due": 80, "iban": "DE-1"}, id="A"),
        call("pay", "2", id="A", amount=80, currency="EUR", iban="DE-1"),
        call("receipt", "3", id="A"),
    ),
)


def read(*names: str) -> Contract:
    rules, problems = read_rules([{"id": name, **RULES[name]} for name in names])
    assert not problems
    return Contract(rules)


def broken(contract: Contract, trace: Trace) -> set[str]:
    conversation = read_conversation(trace)
    verdicts = judge_events(contract, conversation.events, conversation.end)
    return {verdict.rule for verdict in verdicts if verdict.outcome is RuleOutcome.BROKEN}


def make(contract: Contract, number: int, trace: Trace = PAID) -> list[Mutant]:
    return [*break_rule(contract, number, trace)]


@pytest.mark.parametrize("name", RULES)
def test_every_form_is_broken_in_each_of_its_ways(name: str) -> None:
    contract = read(name)
    assert not broken(contract, PAID)
    made = make(contract, 0)
    assert made
    assert [mutant.change for mutant in made if not broken(contract, mutant.trace)] == []


IMPLIED = {
    "before": "`last` needs the same lookup, and an identifier that changes breaks both",
    "never-after": "another payment is more than `at-most` allows too",
    "total": "more than the total is more than is due, or a second payment",
}


def test_each_rule_has_a_mutant_that_it_alone_notices() -> None:
    contract = read(*RULES)
    alone = {
        name
        for number, name in enumerate(RULES)
        if any(broken(contract, mutant.trace) == {name} for mutant in make(contract, number))
    }
    assert set(RULES) - alone == set(IMPLIED)


def test_a_conversation_that_triggers_nothing_has_no_mutants() -> None:
    assert make(read("before"), 0, structs.replace(PAID, tool_calls=PAID.tool_calls[:1])) == []


def test_a_rule_of_a_case_is_broken_in_its_audit() -> None:
    spec = CATALOG.ask("rule", {"rule": {"id": "before", **RULES["before"]}}, ("rules: before",)).spec
    audited = structs.replace(bare_case({}, implied=False), checks=(spec,))
    [operator] = OPERATORS
    made = mutants(operator, Subject(audited, PAID))
    assert made
    assert judge_trace(audited, PAID, CATALOG).status is CaseStatus.PASS
    assert {judge_trace(audited, mutant.trace, CATALOG).status for mutant in made} == {CaseStatus.FAIL}
