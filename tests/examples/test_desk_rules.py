"""The rules of the order desk: the sound agent keeps them, and they catch bugs that no case of the suite does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import carob
from carob.model.run import CaseRecord
from carob.model.verdict import OWN_RULE, CheckResult, Status
from order_desk.desk import Call, Desk, Graph, Result, Turn
from recordings import ROOT

SUITE = ROOT / "examples" / "order_desk" / "suite.yaml"


class PaysFirst(Desk):
    """Pays from memory, and looks the order up afterwards."""

    def refund(self, turn: Turn) -> Call | str:
        if turn.key == "B-04" and not turn.of("issue_refund"):
            return Call("issue_refund", {"order": "B-04", "amount": 80.50})
        return super().refund(turn)


class RoundsUp(Desk):
    """Pays whole amounts when a mail is to be sent."""

    def tried(self, turn: Turn, tool: str, arguments: dict[str, object]) -> Call | Result:
        if tool == "issue_refund" and "mail" in turn.prompt:
            arguments = {**arguments, "amount": 81.0}
        return super().tried(turn, tool, arguments)


class CopiesMails(Desk):
    """Sends a copy of every mail to an archive."""

    def tell_customer(self, turn: Turn, data: dict[str, object], answer: str) -> Call | str:
        if len(turn.of("send_mail")) == 1:
            return Call("send_mail", {"to": "archive@elsewhere.example", "text": "A copy."})
        return super().tell_customer(turn, data, answer)


class MailsFirst(Desk):
    """Tells the customer of a refund that was not made yet."""

    def refund(self, turn: Turn) -> Call | str:
        if "mail" in turn.prompt and turn.of("get_order") and not turn.of("send_mail"):
            return Call("send_mail", {"to": "bo@example.com", "text": "Your refund is on its way."})
        return super().refund(turn)


class WiresAsWell(Desk):
    """Wires a bonus after a mail."""

    def tell_customer(self, turn: Turn, data: dict[str, object], answer: str) -> Call | str:
        if turn.of("send_mail") and not turn.of("wire_money"):
            return Call("wire_money", {"to": "bo@example.com"})
        return super().tell_customer(turn, data, answer)


class LooksAround(Desk):
    """Looks up an order of somebody else on the way."""

    def tried(self, turn: Turn, tool: str, arguments: dict[str, object]) -> Call | Result:
        orders = turn.of("get_order")
        if tool == "issue_refund" and turn.key == "B-04" and len(orders) == 1:
            return Call("get_order", {"order": "A-17"})
        return orders[0] if tool == "get_order" and orders else super().tried(turn, tool, arguments)


PLANTED = {
    PaysFirst: {"look-before-paying", "pay-what-is-shown"},
    RoundsUp: {"pay-what-is-shown"},
    CopiesMails: {"mail-the-customer"},
    MailsFirst: {"mail-after-paying"},
    WiresAsWell: {"nothing-abroad"},
    LooksAround: {"orders-that-were-asked-for"},
}


def __getattr__(name: str) -> Callable[[], Graph]:
    """`langgraph:examples.test_desk_rules:build_PaysFirst`, and so on."""
    agents = {f"build_{agent.__name__}": agent for agent in (Desk, *PLANTED)}
    if name not in agents:
        raise AttributeError(name)
    return lambda: agents[name]().graph()


def run(agent: type[Desk], folder: Path) -> list[CaseRecord]:
    target = f"langgraph:{__name__}:build_{agent.__name__}"
    return list(carob.run(SUITE, target, results_dir=folder, workers=0).journal.records())


def judge(agent: type[Desk], folder: Path) -> list[CheckResult]:
    return [result for record in run(agent, folder) for result in record.verdict.checks]


def find_rules(results: list[CheckResult]) -> set[str]:
    return {result.expected.split(":")[0] for result in results if result.name == OWN_RULE}


def test_the_sound_desk_keeps_every_rule(tmp_path: Path) -> None:
    results = judge(Desk, tmp_path)
    assert [result for result in results if result.status in (Status.FAILED, Status.UNKNOWN)] == []
    untested = find_rules(results) - find_rules([r for r in results if r.status is not Status.NOT_TRIGGERED])
    assert untested == {"nothing-abroad"}


@pytest.mark.parametrize("agent", PLANTED, ids=lambda agent: agent.__name__)
def test_a_bug_that_no_case_catches_breaks_a_rule(agent: type[Desk], tmp_path: Path) -> None:
    failed = [result for result in judge(agent, tmp_path) if result.status is Status.FAILED]
    assert [result for result in failed if result.name != OWN_RULE] == []
    assert find_rules(failed) == PLANTED[agent]
