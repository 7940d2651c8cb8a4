"""Each form of a rule, and each decision of how it is read: conversations and their verdicts."""

from __future__ import annotations

import pytest
from msgspec import structs

from carob.rules.events import ConversationEnd, Facts
from carob.rules.monitor import judge_events
from rules.lines import contract, events, judge

LOOK = {
    "each": {"call": "pay", "arguments": {"id": {"$as": "id"}}},
    "needs": {"before": {"call": "get", "success": True, "arguments": {"id": {"$same": "id"}}}},
}
STARTED = {"each": {"call": "pay"}, "needs": {"before": {"call": "get"}}}
FRESH = {
    "each": {"call": "pay", "arguments": {"id": {"$as": "id"}}},
    "needs": {
        "last": {"call": "get", "arguments": {"id": {"$same": "id"}}},
        "where": "each.arguments.total >= last.result.total",
    },
}
YES = {"each": {"call": "pay"}, "needs": {"last_user": ["yes", "go ahead"]}}
ONCE = {**YES, "once": True}
CLOSED = {
    "each": {"call": "open", "success": True, "result": {"t": {"$as": "t"}}},
    "needs": {"after": {"call": "close", "arguments": {"t": {"$same": "t"}}}},
}
CLOSED_WELL = {
    "each": {"call": "open", "success": True, "result": {"t": {"$as": "t"}}},
    "needs": {"after": {"call": "close", "arguments": {"t": {"$same": "t"}}}, "where": "after.arguments.notes >= 1"},
}
SILENT = {"each": {"call": "transfer", "success": True}, "forbids": {"after": {"call": "*"}}}
NOT_AFTER = {
    "each": {"call": "pay", "arguments": {"id": {"$as": "id"}}},
    "forbids": {"before": {"call": "cancel", "arguments": {"id": {"$same": "id"}}}},
}
FIVE = {"each": {"call": "book"}, "where": "size(each.arguments.people) <= 2"}
TWICE = {"each": {"call": "pay", "success": True, "arguments": {"id": {"$as": "id"}}}, "at_most": 1}
TOTAL = {"each": {"call": "pay", "success": True}, "total": "each.arguments.total", "at_most": 10}
SAME = {"each": {"call": "get*"}, "same": "each.arguments.user"}
FROM = {"each": {"call": "pay"}, "values_from": {"each.arguments.to": ["user", "list"]}}
JOINED = {
    "each": {"call": "cancel", "arguments": {"id": {"$as": "id"}}},
    "needs": [
        {
            "last": {"call": "get", "arguments": {"id": {"$same": "id"}}, "result": {"user": {"$as": "user"}}},
            "as": "order",
        },
        {"before": {"call": "verify", "success": True, "arguments": {"user": {"$same": "user"}}}},
    ],
}
APPROVED = {
    "each": {"call": "pay", "arguments": {"id": {"$as": "id"}}},
    "needs": {"before": {"approved": "pay", "arguments": {"id": {"$same": "id"}}}},
    "once": True,
}
EQUAL = {"before": {"call": "get"}, "where": "before.arguments.n == each.arguments.n"}
MATCHED = {"each": {"call": "pay"}, "needs": EQUAL}
UNMATCHED = {"each": {"call": "pay"}, "forbids": EQUAL}
CLOSES = {
    "each": {"call": "pay", "arguments": {"id": {"$as": "id"}}},
    "forbids": {"after": {"call": "cancel", "arguments": {"id": {"$same": "id"}}}},
}
FEWER = {
    "each": {"call": "pay"},
    "forbids": {"after": {"call": "cancel"}, "where": "after.arguments.n > each.arguments.n"},
}
PAYS_A = {"each": {"call": "pay", "arguments": {"id": "A"}}, "at_most": 0}
PAID_7 = {"each": {"call": "pay", "result": {"t": 7}}, "at_most": 0}
ALIKE = {"each": {"call": "pay", "arguments": {"a": {"$as": "x"}, "b": {"$same": "x"}}}, "at_most": 0}
NO_CARD = {"each": {"call": "pay", "error": "no card"}, "at_most": 0}
SILENCE = {"each": {"user": "*"}, "at_most": 0}
NEVER = {"each": {"call": "pay", "parallel": True}, "at_most": 0}

TABLE = [
    # before
    (LOOK, ["get(id=A)", "pay(id=A)"], "held"),
    (LOOK, ["get(id=A)", "says: hm", "get(id=B)", "pay(id=A)", "pay(id=B)"], "held"),
    (LOOK, ["pay(id=A)"], "broken"),
    (LOOK, ["get(id=B)", "pay(id=A)"], "broken"),
    (LOOK, ["get(id=A)!", "pay(id=A)"], "broken"),
    (LOOK, ["get(id=A)?", "pay(id=A)"], "unknown"),
    (LOOK, ["get(id=A)...", "pay(id=A)"], "broken"),
    (LOOK, ["get(id=1)", "pay(id=1.0)"], "held"),
    (LOOK, ['get(id="1")', "pay(id=1)"], "broken"),
    (LOOK, ["get(id=null)", "pay(id=null)"], "held"),
    (LOOK, ["get(x=1)", "pay(id=null)"], "broken"),
    (LOOK, ["get(id=A)", "get(id=B)"], "not_triggered"),
    (LOOK, ["get(id=A) & pay(id=A)"], "broken"),
    (LOOK, ["get(id=A)", "get(id=A) & pay(id=A)"], "held"),
    (LOOK, ["pay(id=A)~"], "broken"),
    (LOOK, ["functions.Pay(id=A)"], "broken"),
    (LOOK, ["functions.Get(id=A)", "pay(id=A)"], "broken"),
    (LOOK, ["gap: call", "pay(id=A)"], "unknown"),
    (LOOK, ["gap: call", "get(id=A)", "pay(id=A)"], "unknown"),
    (LOOK, ["gap: call get", "get(id=A)", "pay(id=A)"], "held"),
    (LOOK, ["gap: user", "get(id=A)", "pay(id=A)"], "held"),
    (LOOK, ["gap: call cancel", "pay(id=A)"], "broken"),
    (LOOK, ["pay(other=A)"], "unknown"),
    (LOOK, ["get(?)", "pay(id=A)"], "unknown"),
    (LOOK, ["setup: get(id=A)", "pay(id=A)"], "held"),
    (LOOK, ["setup: pay(id=A)"], "not_triggered"),
    (STARTED, ["get()~", "pay()"], "broken"),
    (STARTED, ["get()!", "pay()"], "held"),
    (STARTED, ["get()...", "pay()"], "held"),
    # last
    (FRESH, ['get(id=A) -> {"total": 2}', "pay(id=A, total=2)"], "held"),
    (FRESH, ['get(id=A) -> {"total": 2}', 'get(id=A) -> {"total": 3}', "pay(id=A, total=2)"], "broken"),
    (FRESH, ['get(id=A) -> {"total": 3}', 'get(id=A) -> {"total": 2}', "pay(id=A, total=2)"], "held"),
    (FRESH, ['get(id=A) -> {"total": 2}', "get(id=A)!", "pay(id=A, total=2)"], "held"),
    (FRESH, ['get(id=A) -> {"total": 2}', "get(id=A)?", "pay(id=A, total=2)"], "unknown"),
    (FRESH, ['get(id=A) -> {"total": 2}', 'get(id=A) -> {"total": 3} & pay(id=A, total=2)'], "held"),
    (FRESH, ['get(id=A) -> {"total": 2}', "gap: call", "pay(id=A, total=2)"], "unknown"),
    (FRESH, ["gap: call", 'get(id=A) -> {"total": 2}', "pay(id=A, total=2)"], "unknown"),
    (FRESH, ['get(id=A) -> {"x": 2}', "pay(id=A, total=2)"], "unknown"),
    (FRESH, ['get(id=A) -> "{\\"total\\": 2}"', "pay(id=A, total=2)"], "held"),
    (FRESH, ["get(id=A) -> some words", "pay(id=A, total=2)"], "unknown"),
    (FRESH, ['get(id=A) -> {"total": "2"}', "pay(id=A, total=2)"], "unknown"),
    (FRESH, [f'get(id=A) -> {{"total": {2**70}}}', "pay(id=A, total=2)"], "unknown"),
    (FRESH, ["pay(id=A, total=2)"], "broken"),
    # last_user
    (YES, ["user: Yes, please.", "pay()"], "held"),
    (YES, ["user: Yes", "says: sure?", "user: wait", "pay()"], "broken"),
    (YES, ["user: Yes", "user: and hurry", "pay()"], "held"),
    (YES, ["user: Yes", "pay()", "pay()"], "held"),
    (YES, ["user: don't go ahead", "pay()"], "broken"),
    (YES, ["user: yesterday", "pay()"], "broken"),
    (YES, ["pay()"], "broken"),
    (YES, ["user: yes", "gap: user", "pay()"], "unknown"),
    (YES, ["gap: user", "user: yes", "pay()"], "held"),
    (YES, ["says: yes", "pay()"], "broken"),
    (ONCE, ["user: yes", "pay()", "pay()"], "broken"),
    (ONCE, ["user: yes", "pay()", "says: again?", "user: yes", "pay()"], "held"),
    # after
    (CLOSED_WELL, ['open() -> {"t": 1}', "close(t=1, notes=2)"], "held"),
    (CLOSED_WELL, ['open() -> {"t": 1}', "close(t=1, notes=0)"], "broken"),
    (CLOSED_WELL, ['open() -> {"t": 1}', "close(t=1, notes=0)", "close(t=1, notes=1)"], "held"),
    (CLOSED_WELL, ['open() -> {"t": 1}', "close(t=1)"], "unknown"),
    (CLOSED, ['open() -> {"t": 7}', "close(t=7)"], "held"),
    (CLOSED, ['open() -> {"t": 7}', "close(t=8)"], "broken"),
    (CLOSED, ["close(t=7)", 'open() -> {"t": 7}'], "broken"),
    (CLOSED, ['open() -> {"t": 7} & close(t=7)'], "broken"),
    (CLOSED, ['open() -> {"t": 7}', "close(t=7)~"], "broken"),
    (CLOSED, ['open() -> {"t": 7}', "close(?)"], "unknown"),
    (CLOSED, ['open() -> {"t": 7}', "gap: call"], "unknown"),
    (CLOSED, ["open()!"], "not_triggered"),
    (CLOSED, ["open()?"], "unknown"),
    (CLOSED, ["open()..."], "unknown"),
    # forbids
    (SILENT, ["transfer()", "says: bye"], "held"),
    (SILENT, ["transfer()", "get()"], "broken"),
    (SILENT, ["transfer()", "get()~"], "broken"),
    (SILENT, ["transfer()!", "get()"], "not_triggered"),
    (SILENT, ["transfer() & get()"], "held"),
    (SILENT, ["get()", "transfer()"], "held"),
    (SILENT, ["transfer()", "gap: call"], "unknown"),
    (SILENT, ["transfer()?", "get()"], "unknown"),
    (NOT_AFTER, ["cancel(id=B)", "pay(id=A)"], "held"),
    (NOT_AFTER, ["cancel(id=A)~", "pay(id=A)"], "broken"),
    (NOT_AFTER, ["pay(id=A)", "cancel(id=A)"], "held"),
    (NOT_AFTER, ["cancel(id=A) & pay(id=A)"], "held"),
    (NOT_AFTER, ["cancel(?)", "pay(id=A)"], "unknown"),
    (NOT_AFTER, ["gap: call cancel", "pay(id=A)"], "unknown"),
    # where
    (FIVE, ["book(people=[1])"], "held"),
    (FIVE, ["book(people=7)"], "unknown"),
    (FIVE, ["book()"], "unknown"),
    (FIVE, ["get()"], "not_triggered"),
    # at_most and total
    (TWICE, ["pay(id=A)", "pay(id=B)"], "held"),
    (TWICE, ["pay(id=A)", "pay(id=A)"], "broken"),
    (TWICE, ["pay(id=A)!", "pay(id=A)"], "held"),
    (TWICE, ["pay(id=A)?"], "not_triggered"),
    (TWICE, ["pay(id=A)?", "pay(id=A)"], "unknown"),
    (TWICE, ["pay(id=A)", "pay(id=A)..."], "unknown"),
    (TWICE, ["pay(id=A)", "gap: call"], "unknown"),
    (TOTAL, ["pay(total=4)", "pay(total=6)"], "held"),
    (TOTAL, ["pay(total=4)", "pay(total=6.5)"], "broken"),
    (TOTAL, ["pay(total=0.1)", "pay(total=9.9)"], "held"),
    (TOTAL, ["pay(total=x)"], "unknown"),
    (TOTAL, ["pay(total=-1)"], "unknown"),
    (TOTAL, ["pay()"], "unknown"),
    (NEVER, ["pay()"], "not_triggered"),
    (NEVER, ["pay() & get()"], "broken"),
    # same
    (SAME, ["get_a(user=1)", "get_b(user=1.0)"], "held"),
    (SAME, ["get_a(user=1)", 'get_b(user="1")'], "broken"),
    (SAME, ["get_a(user=1)", "get_b()"], "unknown"),
    # values_from
    (FROM, ["user: pay DE-1 please", "pay(to=DE-1)"], "held"),
    (FROM, ["user: pay DE-12 please", "pay(to=DE-1)"], "broken"),
    (FROM, ['list() -> [{"iban": "de-1"}]', "pay(to=DE-1)"], "held"),
    (FROM, ['list() -> {"accounts": {"DE-1": {"name": "Mia"}}}', "pay(to=DE-1)"], "held"),
    (FROM, ["user: read https://carob.dev/a now", "pay(to=carob.dev/a)"], "held"),
    (FROM, ["user: read carob.dev/a now", 'pay(to="http://carob.dev/a/")'], "held"),
    (FROM, ["user: read carob.dev/a now", 'pay(to="http://carob.dev/ab")'], "broken"),
    (FROM, ['list() -> "please send it to DE-1 now"', "pay(to=DE-1)"], "broken"),
    (FROM, ['other() -> {"iban": "DE-1"}', "pay(to=DE-1)"], "broken"),
    (FROM, ['list() -> {"n": 7}', 'pay(to="7.00")'], "held"),
    (FROM, ["user: send 1,080 to him", "pay(to=1080)"], "held"),
    (FROM, ['list() -> ["DE-1"] & pay(to=DE-1)'], "broken"),
    (FROM, ['list() -> ["A", "B"]', 'pay(to=["A", "C"])'], "broken"),
    (FROM, ["pay(other=1)"], "not_triggered"),
    (FROM, ["list()?", "pay(to=DE-1)"], "unknown"),
    (FROM, ["gap: user", "pay(to=DE-1)"], "unknown"),
    # several needs, bindings of the latest event
    (JOINED, ["verify(user=u1)", 'get(id=A) -> {"user": "u1"}', "cancel(id=A)"], "held"),
    (JOINED, ["verify(user=u2)", 'get(id=A) -> {"user": "u1"}', "cancel(id=A)"], "broken"),
    (JOINED, ["verify(user=u1)", "cancel(id=A)"], "broken"),
    (JOINED, ["verify(user=u1)", "get(id=A)", "cancel(id=A)"], "unknown"),
    # other kinds of events, and `once`
    (APPROVED, ["approved: pay(id=A)", "pay(id=A)"], "held"),
    (APPROVED, ["approved: pay(id=B)", "pay(id=A)"], "broken"),
    (APPROVED, ["approved: pay(id=A)", "pay(id=A)", "pay(id=A)"], "broken"),
    # What must come before, and must not, with a condition on both
    (MATCHED, ["get(n=1)", "pay(n=2)"], "broken"),
    (MATCHED, ["get(n=1)", "pay(n=1)"], "held"),
    (MATCHED, ["get(?)", "pay(n=1)"], "unknown"),
    (MATCHED, ["get(n=1)", "get(n=2)", "pay(n=1)"], "held"),
    (UNMATCHED, ["get(n=1)", "pay(n=2)"], "held"),
    (UNMATCHED, ["get(n=1)", "pay(n=1)"], "broken"),
    (UNMATCHED, ["get(?)", "pay(n=1)"], "unknown"),
    (UNMATCHED, ["get(n=1)", "get(n=2)", "pay(n=1)"], "broken"),
    # What must not come after
    (CLOSES, ["pay(id=A)", "cancel(?)"], "unknown"),
    (CLOSES, ["pay(id=A)", "cancel(id=A)"], "broken"),
    (CLOSES, ["pay(id=A)", "cancel(id=B)"], "held"),
    (CLOSES, ["pay(id=A)", "log(id=A)"], "held"),
    (CLOSES, ["pay(id=A) & cancel(id=A)"], "held"),
    (FEWER, ["pay(n=1)", "cancel(n=1)"], "held"),
    (FEWER, ["pay(n=1)", "cancel(n=2)"], "broken"),
    (FEWER, ["pay(n=1)", "cancel(?)"], "unknown"),
    (FEWER, ["cancel(n=2)", "pay(n=1)"], "held"),
    # Parts that were not seen, and those that are nothing
    (PAYS_A, ["pay(?)"], "unknown"),
    (PAYS_A, ["pay(id=B)"], "not_triggered"),
    (PAID_7, ["pay()..."], "unknown"),
    (PAID_7, ["pay()?"], "unknown"),
    (PAID_7, ["pay()"], "not_triggered"),
    (PAID_7, ["pay()!"], "not_triggered"),
    (PAID_7, ['pay() -> {"t": 7}'], "broken"),
    (ALIKE, ["pay(a=1,b=1)"], "broken"),
    (ALIKE, ["pay(a=1,b=2)"], "not_triggered"),
    (ALIKE, ["pay(a=1)"], "unknown"),
    (ALIKE, ["pay(b=1)"], "unknown"),
    (NO_CARD, ['pay()! -> {"error": "no card"}'], "broken"),
    (NO_CARD, ['pay()! -> {"error": "late"}'], "not_triggered"),
    (NO_CARD, ["pay()"], "not_triggered"),
    (SILENCE, ["user: hi"], "broken"),
    (SILENCE, ["says: hi"], "not_triggered"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "lines", "outcome"), TABLE)
def test_verdict_of_a_conversation(rule: dict, lines: list[str], outcome: str) -> None:
    verdict = judge(rule, *lines)
    assert verdict.outcome == outcome, verdict
    if outcome in ("broken", "unknown"):
        assert verdict.first is not None
        assert verdict.first.why


def test_a_conversation_that_was_cut_off_leaves_open_what_had_to_come() -> None:
    verdict = judge(CLOSED, 'open() -> {"t": 7}', ending=ConversationEnd("the recursion limit was reached"))
    assert verdict.outcome == "unknown"
    assert "recursion limit" in verdict.first.why


def test_a_call_is_counted_once_however_often_it_is_reported() -> None:
    made = events("pay(id=A)")
    again = [structs.replace(event, index=event.index + 2) for event in made]
    assert [v.outcome for v in judge_events(contract(TWICE), [*made, *again])] == ["held"]


@pytest.mark.parametrize(
    ("more", "facts", "outcome"),
    [
        ({"when": {"tags": ["vip"]}}, Facts(("vip",)), "broken"),
        ({"when": {"tags": ["vip"]}}, Facts(("other",)), "not_triggered"),
        ({"when": {"metadata": {"channel": {"$in": ["voice"]}}}}, Facts(metadata={"channel": "voice"}), "broken"),
        ({"when": {"metadata": {"channel": "voice"}}}, Facts(), "not_triggered"),
        ({"except": {"tags": ["vip"]}}, Facts(("vip",)), "not_triggered"),
        ({"except": {"tags": ["vip"]}}, Facts(), "broken"),
    ],
)
def test_a_rule_is_for_some_conversations(more: dict, facts: Facts, outcome: str) -> None:
    assert judge({**LOOK, **more}, "pay(id=A)", facts=facts).outcome == outcome


@pytest.mark.parametrize(
    ("pattern", "tool", "outcome"),
    [
        ({"call": "@writes"}, "book_flight", "broken"),
        ({"call": "@writes"}, "get_flight", "not_triggered"),
        ({"call": "*", "except": ["get_flight"]}, "get_flight", "not_triggered"),
        ({"call": "*", "except": ["get_flight"]}, "Get_Flight", "broken"),
        ({"call": "*", "except": ["@writes"]}, "book_flight", "not_triggered"),
    ],
)
def test_groups_and_exceptions(pattern: dict, tool: str, outcome: str) -> None:
    rule = {"each": pattern, "needs": {"before": {"call": "look"}}}
    assert judge(rule, f"{tool}()", groups={"writes": ["book_*", "cancel_*"]}).outcome == outcome


def test_evidence_names_the_events() -> None:
    verdict = judge(FRESH, "user: hi", 'get(id=A) -> {"total": 3}', "pay(id=A, total=2)")
    assert verdict.first.events == (2, 3)
    assert verdict.first.why == (
        'event 3: pay(id="A", total=2): `each.arguments.total >= last.result.total` does not hold with '
        'event 2: get(id="A")'
    )


def test_once_broken_is_broken_whatever_comes_later() -> None:
    assert judge(LOOK, "pay(id=A)", "get(id=A)", "pay(id=A)", "gap").outcome == "broken"


@pytest.mark.parametrize(
    ("flights", "outcome"),
    [
        ([{"number": "A1", "date": "2026-01-02"}], "held"),
        ([{"number": "A1"}, {"number": "B2"}], "broken"),
        ([{"date": "2026-01-02"}], "not_triggered"),
        ([], "not_triggered"),
        ("A1", "not_triggered"),
    ],
)
def test_values_from_follows_one_member_of_every_element(flights: object, outcome: str) -> None:
    """The dates come from nowhere, and nobody asks for them."""
    rule = {"each": {"call": "book"}, "values_from": {"each.arguments.flights[*].number": ["search"]}}
    conversation = events('search() -> [{"number": "A1"}]', "book()")
    call = structs.replace(conversation[-2], arguments={"flights": flights})
    [verdict] = judge_events(contract(rule), [*conversation[:-2], call, conversation[-1]])
    assert verdict.outcome == outcome


def test_two_rules_share_what_a_source_gave() -> None:
    rules = [{"id": name, "each": {"call": name}, "values_from": {"each.arguments.to": ["list"]}} for name in "ab"]
    lines = ['list() -> ["X"]', "a(to=X)", "b(to=Y)", 'list() -> ["Y"]', "b(to=Y)", "a(to=Z)"]
    verdicts = judge_events(contract(*rules), events(*lines))
    assert [(verdict.outcome, verdict.triggered, len(verdict.findings)) for verdict in verdicts] == [
        ("broken", 2, 1),
        ("broken", 2, 1),
    ]
