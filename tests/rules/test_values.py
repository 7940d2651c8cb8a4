"""Where a rule looks in an event, and which values are the same to a reader."""

from __future__ import annotations

import pytest

from carob.rules.conditions import CelCondition
from carob.rules.sources import LONGEST_VALUE, TextIndex, value_key
from carob.rules.values import EVERY, MISSING, read_path, value_at

pytestmark = pytest.mark.quick
PATHS: dict[str, tuple[str, tuple[str | int, ...]] | None] = {
    "arguments.order_id": ("arguments", ("order_id",)),
    "result.items[0].id": ("result", ("items", 0, "id")),
    "result.items[*]": ("result", ("items", EVERY)),
    "result['a b']": ("result", ("a b",)),
    "result[0]id": None,
    "result['a']b": None,
    "[0]": None,
    "result..id": None,
    "": None,
}


@pytest.mark.parametrize(("text", "steps"), PATHS.items())
def test_a_path_is_a_name_and_steps_from_there(text: str, steps: tuple[str, tuple[str | int, ...]] | None) -> None:
    path = read_path(text)
    assert (path and tuple(path)[:2]) == steps


@pytest.mark.parametrize(
    ("steps", "value"),
    [
        (("a", 1), "y"),
        (("a", 2), MISSING),
        (("b",), MISSING),
        (("c", 0), MISSING),
        (("a", "b"), MISSING),
        ((), {"a": ["x", "y"], "c": {"0": 1}}),
    ],
)
def test_what_is_not_there_is_missing(steps: tuple[str | int, ...], value: object) -> None:
    assert value_at({"a": ["x", "y"], "c": {"0": 1}}, steps) == value


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (7, "7.00", True),
        ("$1,200", 1200, True),
        ("Berlin", " berlin", True),
        (True, 1, True),
        ("7 of them", 7, False),
        ("A" * (LONGEST_VALUE + 1), "a" * (LONGEST_VALUE + 1), False),
        ("A" * LONGEST_VALUE, "a" * LONGEST_VALUE, True),
    ],
)
def test_which_values_are_the_same_to_a_reader(one: object, other: object, is_same: bool) -> None:
    assert (value_key(one) == value_key(other)) is is_same


def test_a_value_without_a_word_is_in_no_text() -> None:
    index = TextIndex()
    index.add("Send 5 -- to Ada -- now", None)  # type: ignore[arg-type]
    assert [[*index.find(value)] for value in ("Ada", "--", "Bob")] == [[None], [], []]


@pytest.mark.parametrize("source", ["each.arguments.x == b'a'", "has(each.result)", "[each] == []"])
def test_a_condition_that_is_no_plain_one_is_left_to_the_library(source: str) -> None:
    assert CelCondition(source, ["each"])._plain is None
