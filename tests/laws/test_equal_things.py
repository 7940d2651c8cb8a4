"""Law 5: equal things are equal everywhere: 7 and 7.0, NFC and NFD, 200 and 200.00, in every check and matcher."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carob.matchers.reading import DOLLAR_KEYS, matcher
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import CaseStatus
from laws.coverage import Coverage, require
from laws.samples import Expected, called, status

CAFE = "Café Zoé"
APART = unicodedata.normalize("NFD", CAFE)

Pair = tuple[object, object]
PAIRS: Mapping[str, Pair] = {
    "7 and 7.0": (7, 7.0),
    "200 and 2e2": (200, 2e2),
    "0 and -0.0": (0, -0.0),
    "NFC and NFD": (CAFE, APART),
    "a list of them": ([7, CAFE], [7.0, APART]),
    "an object of them": ({"a": {"b": 7}}, {"a": {"b": 7.0}}),
    "keys in NFC and NFD": ({CAFE: 1}, {APART: 1.0}),
}
DIFFERENT: Mapping[str, Pair] = {
    "1 and true": (1, True),
    "0 and false": (0, False),
    '7 and "7"': (7, "7"),
    "7 and 7.5": (7, 7.5),
    "null and nothing": ({"a": None}, {}),
}
"""What only looks equal."""

MATCHERS: Mapping[str, Callable[[Any], object]] = {
    "plain": lambda value: value,
    "$eq": lambda value: {"$eq": value},
    "$in": lambda value: {"$in": ["other", value]},
    "$any": lambda value: {"$any": ["other", {"$eq": value}]},
    "$all": lambda value: {"$all": [{"$eq": value}]},
    "$not": lambda value: {"$not": {"$ne": value}},
    "$ne": lambda value: {"$not": {"$ne": value}},
}
IN_LISTS: Mapping[str, Callable[[Any], object]] = {
    "$set": lambda value: {"$set": ["other", {"$eq": value}]},
    "$contains": lambda value: {"$contains": {"$eq": value}},
    "$each": lambda value: {"$each": {"$in": [value, "other"]}},
}
OF_NUMBERS: Mapping[str, Callable[[Any], object]] = {
    "$gte": lambda value: {"$gte": value},
    "$lte": lambda value: {"$lte": value},
    "$approx": lambda value: {"$approx": value},
    "$length": lambda value: {"$length": 1},
}
OF_TEXTS: Mapping[str, Callable[[Any], object]] = {
    "$text": lambda value: {"$text": value},
    "$loosely": lambda value: {"$loosely": value},
    "$regex": lambda value: {"$regex": f"^{value}$"},
    "$contains": lambda value: {"$contains": value[:3]},
    "$gte": lambda value: {"$gte": value},
    "$lte": lambda value: {"$lte": value},
}
OTHERWISE = {
    "$gt, $lt": "equal things are neither greater nor less: tried with $gte and $lte",
    "$absent, $type, $only": "they look at no value, or at members, which have matchers of their own",
    "reason_contains, expected_contains, must_not_contain": "substrings, as the seeds say",
    "answer_text, response_match": "they compare as promptfoo and ADK do",
    "tools_used, tool_call_f1 and names of tools": "names are the tool's own",
}


def find_unequal_matches() -> Coverage:
    coverage = Coverage(
        5, "equal values match", matchers={*MATCHERS, *IN_LISTS, *OF_NUMBERS, *OF_TEXTS}, exceptions=OTHERWISE
    )
    for name, pair in PAIRS.items():
        for wanted, found in (pair, pair[::-1]):
            kinds: dict[str, tuple[object, object]] = {key: (make(wanted), found) for key, make in MATCHERS.items()}
            kinds |= {key: (make(wanted), [found, "other"]) for key, make in IN_LISTS.items()}
            if isinstance(wanted, int | float):
                kinds |= {key: (make(wanted), found) for key, make in OF_NUMBERS.items() if key != "$length"}
            if isinstance(wanted, str):
                kinds |= {f"{key} of a text": (make(wanted), found) for key, make in OF_TEXTS.items()}
            for key, (operand, value) in kinds.items():
                coverage.try_one(matcher(operand).holds(value), f"{key}: {name}: {wanted!r} and {found!r}")
    for name, (wanted, found) in DIFFERENT.items():
        coverage.try_one(not matcher({"$eq": wanted}).holds(found), f"$eq takes {name} for equal")
        coverage.try_one(not matcher({"$in": [wanted]}).holds(found), f"$in takes {name} for equal")
    return coverage


def test_equal_values_match(record_property: Callable[[str, object], None]) -> None:
    require(find_unequal_matches(), record_property)


def test_every_matcher_is_tried() -> None:
    skipped = {"$gt", "$lt", "$absent", "$type", "$only"}
    assert {"plain", *DOLLAR_KEYS} - skipped == {*MATCHERS, *IN_LISTS, *OF_NUMBERS, *OF_TEXTS}


Judge = Callable[[Any, Any], CaseStatus]


def _arguments(wanted: Any, found: Any) -> CaseStatus:
    call = ToolCall("find", {"value": found}, success=True)
    return status({"tool_calls": [{"tool": "find", "arguments": {"value": {"$eq": wanted}}}]}, called(call))


def _result(wanted: Any, found: Any) -> CaseStatus:
    call = ToolCall("find", {}, result={"value": found}, success=True)
    return status({"tool_calls": [{"tool": "find", "result": {"value": {"$eq": wanted}}}]}, called(call))


def _trajectory(wanted: Any, found: Any) -> CaseStatus:
    call = ToolCall("find", {"value": found}, success=True)
    calls = [{"tool": "find", "arguments": {"$eq": {"value": wanted}}}]
    return status({"trajectory": {"calls": calls}}, called(call))


def _state(wanted: Any, found: Any) -> CaseStatus:
    return status({"state": {"$.value": {"$eq": wanted}}}, called(state={"value": found}))


def _answer_at(wanted: Any, found: Any) -> CaseStatus:
    return status({"answer_at": {"$.value": {"$eq": wanted}}}, called(text=_json({"value": found})))


def _json_text(wanted: Any, found: Any) -> CaseStatus:
    return status({"json_text": [{"equals": {"value": wanted}}]}, called(text=_json({"value": found})))


def _database(wanted: Any, found: Any) -> CaseStatus:
    query = "select value from t"
    if isinstance(wanted, list | dict):
        return CaseStatus.PASS  # a cell of a table holds neither
    return status({"database": {query: [wanted]}}, called(database={query: [{"value": found}]}))


def _twice(wanted: Any, found: Any) -> CaseStatus:
    calls = [ToolCall("book", {"value": value}, success=True) for value in (wanted, found)]
    failed = status({"no_effect_twice": True}, called(*calls)) is CaseStatus.FAIL
    return CaseStatus.PASS if failed else CaseStatus.FAIL


def _again(wanted: Any, found: Any) -> CaseStatus:
    calls = [ToolCall("find", {"value": value}, success=False) for value in (wanted, found)]
    failed = status({"max_retries": 0}, called(*calls)) is CaseStatus.FAIL
    return CaseStatus.PASS if failed else CaseStatus.FAIL


def _polled(wanted: Any, found: Any) -> CaseStatus:
    calls = [ToolCall("find", {"value": value}, result={"value": value}, success=True) for value in (wanted, found)]
    failed = status({"no_progress": 2}, called(*calls)) is CaseStatus.FAIL
    return CaseStatus.PASS if failed else CaseStatus.FAIL


def _retrieved(wanted: Any, found: Any) -> CaseStatus:
    if isinstance(wanted, bool | list | dict | None) or isinstance(found, bool | list | dict | None):
        return CaseStatus.PASS  # an id is none of these
    call = ToolCall("find", {}, result={"ids": [found]}, success=True)
    return status({"retrieved": {"at": "$.ids[*]", "ids": [wanted], "precision": 1}}, called(call))


def _optional(wanted: Any, found: Any) -> CaseStatus:
    expected = {"tool": "find", "optional": {"value": {"$eq": wanted}}}
    return status({"tool_calls": [expected]}, called(ToolCall("find", {"value": found}, success=True)))


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


BY_VALUE: Mapping[str, Judge] = {
    "tool_calls": _arguments,
    "tool_calls result": _result,
    "trajectory": _trajectory,
    "state": _state,
    "answer_at": _answer_at,
    "json_text": _json_text,
    "database": _database,
    "no_effect_twice": _twice,
    "max_retries": _again,
    "no_progress": _polled,
    "retrieved": _retrieved,
    "tool_calls optional": _optional,
}
"""Checks that compare values."""


def find_unequal_values(pairs: Mapping[str, Pair] = PAIRS) -> Coverage:
    coverage = Coverage(5, "equal values are equal in every check", checks=BY_VALUE, exceptions=OTHERWISE)
    for name, pair in pairs.items():
        for wanted, found in (pair, pair[::-1]):
            for key, judge in BY_VALUE.items():
                coverage.try_one(judge(wanted, found) is CaseStatus.PASS, f"{key}: {name}: {wanted!r} and {found!r}")
    return coverage


def test_equal_values_are_equal_in_every_check(record_property: Callable[[str, object], None]) -> None:
    require(find_unequal_values(), record_property)


@given(number=st.integers(-(2**53), 2**53))
def test_a_whole_number_and_its_float_are_one_value(number: int) -> None:
    assert not find_unequal_values({"a whole number": (number, float(number))}).violations


def test_a_matcher_that_compares_kinds_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: 7 is not 7.0."""
    monkeypatch.setattr("carob.matchers.matcher.is_same_value", lambda one, other: repr(one) == repr(other))
    assert find_unequal_matches().violations
    assert find_unequal_values().violations


PHRASES: Mapping[str, Callable[[str], Expected]] = {
    "must_say_any": lambda text: {"must_say_any": [text]},
    "answer_equals": lambda text: {"answer_equals": text},
    "required_sources": lambda text: {"required_sources": [text]},
    "assumption_markers_any": lambda text: {"must_label_assumptions": True, "assumption_markers_any": [text]},
    "must_match_regex": lambda text: {"must_match_regex": [text]},
    "reason_contains": lambda text: {"reason_contains": [text]},
    "expected_contains": lambda text: {"expected_contains": [text]},
    "in_any_turn": lambda text: {"in_any_turn": {"must_say_any": [text]}},
    "lever_regex": lambda text: {"required_levers": 1, "lever_regex": text},
    "must_allow_override_actions": lambda text: {"must_allow_override_actions": [text]},
    "allocation_valid": lambda text: {"allocation_valid": True, "success_indicators": [text]},
}
"""Checks that want a text, which is the whole answer here."""


def _dressed() -> Iterator[tuple[str, str]]:
    yield CAFE, APART
    yield APART, CAFE
    yield "don't wait", "don\u2019t wait"
    yield "A-17 is in", "A\u201117 is in"
    yield "Room 5", "Room\u00a05"


def find_unequal_texts() -> Coverage:
    coverage = Coverage(5, "equal texts are equal in every check", checks=PHRASES, exceptions=OTHERWISE)
    call = ToolCall("find", {}, success=True)
    for wanted, found in _dressed():
        for key, expecting in PHRASES.items():
            green = status(expecting(wanted), called(call, text=found)) is CaseStatus.PASS
            coverage.try_one(green, f"{key}: {wanted!r} and {found!r}")
    return coverage


def test_equal_texts_are_equal_in_every_check(record_property: Callable[[str, object], None]) -> None:
    require(find_unequal_texts(), record_property)


NUMBERS = (
    ("200", "200.00"), ("200", "200.0"), ("200.0", "200"), ("1080", "$1,080.00"), ("1,080", "1080"), ("1:30", "01:30"),
    ("01:30", "1:30"), ("1250", "1.250 €"),
)  # fmt: skip
GROUNDED: Mapping[str, Callable[[str, str], CaseStatus]] = {
    "must_say_any": lambda one, other: status({"must_say_any": [one]}, called(text=f"It is {other} in all.")),
    "must_ground_numbers": lambda one, other: status(
        {"must_ground_numbers": [one]}, called(text=f"It is {other} in all.")
    ),
    "grounded_numbers": lambda one, other: status(
        {"grounded_numbers": True},
        called(ToolCall("find", {}, result={"n": one}, success=True), text=f"It is {other} in all."),
    ),
}


def find_unequal_numbers() -> Coverage:
    coverage = Coverage(5, "equal numbers are equal in every text", checks=GROUNDED)
    for one, other in NUMBERS:
        for key, judge in GROUNDED.items():
            found: Trace | CaseStatus = judge(one, other)
            coverage.try_one(found is CaseStatus.PASS, f"{key}: {one} and {other}")
    return coverage


def test_equal_numbers_are_equal_in_every_text(record_property: Callable[[str, object], None]) -> None:
    require(find_unequal_numbers(), record_property)
