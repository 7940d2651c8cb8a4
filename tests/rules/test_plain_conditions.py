"""Conditions as Python functions say what the library says, or nothing."""

from __future__ import annotations

import random
from typing import Any

import pytest

from carob.rules.conditions import CelCondition
from carob.rules.events import ConversationEvent
from carob.rules.patterns import Occurrence
from carob.rules.plain_conditions import Undecided

pytestmark = pytest.mark.quick
VALUES = (
    0,
    1,
    -1,
    2,
    1.0,
    2.5,
    2**53 + 1,
    2**63,
    "",
    "a",
    "b",
    "1",
    "é",
    True,
    False,
    None,
    [],
    ["a"],
    [1, 2],
    {},
    {"a": 1},
)
CONDITIONS = (
    "each.arguments.x == each.arguments.y",
    "each.arguments.x != 1",
    "each.arguments.x < each.arguments.y",
    "each.arguments.x >= 1 && each.arguments.y != 'a'",
    "each.arguments.x == 1 || each.arguments.y > 1",
    "!(each.arguments.x == each.arguments.y)",
    "size(each.arguments.x) <= 1",
    "each.arguments.x + 1 == each.arguments.y",
    "each.arguments.x - each.arguments.y < 1",
    "each.arguments.x * 2 > 2",
    "each.arguments.x in ['a', 'b']",
    "each.arguments.x in each.arguments.y",
    "each.arguments.x.startsWith('a')",
    "each.arguments.x.contains(each.arguments.y)",
    "each.arguments.x.endsWith('')",
    "has(each.arguments.z) ? each.arguments.z == 1 : each.arguments.x == 1",
    "has(each.arguments.x.a) && each.arguments.x.a == 1",
    "each.arguments.x.all(v, v == 'a')",
    "each.arguments.x.exists(v, v > 1)",
    "size(each.arguments.x.filter(v, v != 1)) == 1",
    "size(each.arguments.x.filter(v, v == each.arguments.y)) == 1",
    "each.arguments.x.exists_one(v, v == 'a')",
    "each.arguments.x > 0.5",
    "each.arguments.x[0] == 'a'",
    "{'a': {'b': -1}, 'b': {'b': 2}}[each.arguments.x]['b'] < 0",
    "each.parallel",
    "!each.beside_words",
    "each.success == each.arguments.x",
    "each.result.status == 'done'",
)


def event(x: Any, y: Any, parallel: bool | None, result: Any) -> Occurrence:
    call = ConversationEvent(
        kind="call", index=1, tool="t", arguments={"x": x, "y": y}, parallel=parallel, beside_words=parallel
    )
    return Occurrence(call, 1).with_end(ConversationEvent(kind="result", index=2, success=True, result=result))


@pytest.mark.parametrize("source", CONDITIONS)
def test_what_is_decided_here_is_what_the_library_says(source: str) -> None:
    condition = CelCondition(source, ["each"])
    assert condition._plain is not None
    rng = random.Random(source)
    decided = 0
    for _ in range(300):
        result = rng.choice(('{"status": "done"}', '{"status": "open"}', "prose", None, '{"status": null}'))
        occurrence = event(rng.choice(VALUES), rng.choice(VALUES), rng.choice((True, False, None)), result)
        try:
            plain = condition._plain({"each": occurrence})
        except Undecided:
            continue
        decided += 1
        assert plain is condition.ask_library({"each": occurrence}), (source, occurrence.arguments, result)
    assert decided, "nothing was decided here"


@pytest.mark.parametrize(
    "source", ["timestamp(each.time) < now", "each.arguments.x.matches('a')", "each.arguments == {}"]
)
def test_what_only_the_library_knows_is_left_to_it(source: str) -> None:
    condition = CelCondition(source, ["each"])
    occurrence = event({}, 1, None, None)
    try:
        plain = condition._plain({"each": occurrence}) if condition._plain else None
    except Undecided:
        plain = None
    assert plain is None or plain is condition.ask_library({"each": occurrence})


@pytest.mark.parametrize("source", ["each.success == true", "each.result.code.matches('a')", "each.time > '2026'"])
def test_what_an_event_does_not_have_is_not_known(source: str) -> None:
    call = ConversationEvent(kind="call", index=1, tool="t", arguments={})
    why = CelCondition(source, ["each"]).ask_library({"each": Occurrence(call, 1)})
    assert isinstance(why, str)
    assert "Key not found in map" in why


def test_a_value_that_a_secret_was_removed_from_is_left_to_the_library() -> None:
    condition = CelCondition("each.arguments.x == 'a'", ["each"])
    call = ConversationEvent(kind="call", index=1, tool="t", arguments={"x": "[removed]"}, doubt="a secret was removed")
    with pytest.raises(Undecided):
        condition._plain({"each": Occurrence(call, 1)})  # type: ignore[misc]


def test_a_function_that_is_not_known_here_is_not_compiled() -> None:
    condition = CelCondition("each.arguments.x.matches('a')", ["each"])
    assert condition._plain is None


@pytest.mark.parametrize("source", ["each.arguments.x <= 3.0", "each.arguments.x.matches('a  b')"])
def test_what_was_compiled_before_says_the_same(source: str) -> None:
    before = CelCondition(source, ["each"])
    again = CelCondition(source, ["each"], before.serialized)
    for value in (3, 4.5, "a  b", "a b", None):
        occurrence = event(value, 1, None, None)
        assert again.holds({"each": occurrence}) == before.holds({"each": occurrence})
    assert (again.words, again.paths) == (before.words, before.paths)
