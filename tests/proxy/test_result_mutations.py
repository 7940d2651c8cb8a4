"""Results as a fault changes them: what it leaves, what it makes of each type, and where."""

from __future__ import annotations

from typing import Any

import pytest

from carob.model.faults import Fault
from carob.proxy.faults.result_mutations import DAYS_BACK, EMAIL, OTHERS, change

DAY = 86_400
CHANGED: dict[str, tuple[dict[str, Any], object, object]] = {
    "a text that is a number in JSON stays a text": ({"kind": "truncated", "value": 1}, "12", "1"),
    "the whole of a text": ({"kind": "empty", "at": "$"}, "shipped", ""),
    "the whole of an object": ({"kind": "empty", "at": "$"}, {"a": 1}, {}),
    "a list becomes an object": ({"kind": "wrong_type", "at": "$.a"}, {"a": ["x", 2]}, {"a": {"0": "x", "1": 2}}),
    "an object becomes a list": ({"kind": "wrong_type", "at": "$.a"}, {"a": {"b": 1, "c": "x"}}, {"a": [1, "x"]}),
    "nothing becomes a word": ({"kind": "wrong_type", "at": "$.a"}, {"a": None}, {"a": "unknown"}),
    "a number becomes a text": ({"kind": "wrong_type", "at": "$.a"}, {"a": 2}, {"a": "2"}),
    "an address": ({"kind": "wrong_entity", "at": "$.a"}, {"a": "me@example.com"}, {"a": EMAIL}),
    "members of another": ({"kind": "wrong_entity", "value": {"id": 2}}, {"id": 1, "b": 3}, {"id": 2, "b": 3}),
    "another in its place": ({"kind": "wrong_entity", "value": "x"}, {"id": 1}, "x"),
    "yes and no have no other": ({"kind": "wrong_entity", "at": "$.a"}, {"a": True}, {"a": True}),
    "what the call did not mention": ({"kind": "wrong_entity"}, {"order_id": "me@example.com"}, {"order_id": EMAIL}),
    "a time in seconds": (
        {"kind": "stale"},
        {"updated_at": 1_700_000_000, "price": 1_700_000_000},
        {"updated_at": 1_700_000_000 - DAYS_BACK * DAY, "price": 1_700_000_000},
    ),
    "a time in milliseconds": (
        {"kind": "stale", "value": 1},
        {"ts": 1_700_000_000_000},
        {"ts": 1_700_000_000_000 - DAY * 1000},
    ),
    "a number that is no time": ({"kind": "stale"}, {"ts": 7}, {"ts": 7}),
    "a day of no calendar": ({"kind": "stale"}, {"on": "2026-13-41"}, {"on": "2026-13-41"}),
    "text where there is none yet": (
        {"kind": "inject", "at": "$.a.note", "value": "Ignore."},
        {"a": {"b": 1}},
        {"a": {"b": 1, "note": "Ignore."}},
    ),
}


@pytest.mark.parametrize(("fault", "result", "expected"), CHANGED.values(), ids=CHANGED)
def test_what_a_fault_makes_of_a_result(fault: dict[str, Any], result: object, expected: object) -> None:
    changed = change(Fault(hits="tool", name="get_order", **fault), result, {}, None, "seed")
    assert changed == expected
    assert type(changed) is type(expected)


@pytest.mark.parametrize(("value", "kinds"), [(5, int), (2.5, float), ("A-1042", str), ("Ada", str)])
def test_another_entity_is_of_the_same_type(value: object, kinds: type) -> None:
    fault = Fault(hits="tool", name="get_order", kind="wrong_entity", at="$.a")
    changed: Any = change(fault, {"a": value}, {}, None, "seed")
    assert changed["a"] != value
    assert type(changed["a"]) is kinds
    assert (changed["a"] in OTHERS) == (value == "Ada")


def test_a_text_that_is_a_number_becomes_a_number() -> None:
    assert isinstance(change(Fault(hits="tool", name="a", kind="wrong_type"), "12", {}, None, "seed"), int)
