"""What values and matchers accept, what they say of the rest, and what is wrong with a matcher."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carob.matchers.reading import DOLLAR_KEYS, find_problems, matcher
from carob.matchers.values import MISSING, is_same_value

SCALARS = st.none() | st.booleans() | st.integers(-99, 99) | st.floats(-9, 9) | st.text("ab$", max_size=3)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        pytest.param(1, [1, 1.0], ["1", True, 2, None, MISSING], id="number"),
        pytest.param("a", ["a"], ["A", "ab", 1, MISSING], id="string"),
        pytest.param(None, [None], [0, "", False, MISSING], id="null"),
        pytest.param(True, [True], [1, "true", False], id="true"),
        pytest.param({"a": 1}, [{"a": 1}, {"a": 1.0, "b": 2}], [{"a": 2}, {}, [1], 1, MISSING], id="object-is-a-part"),
        pytest.param({"a": {"b": [1]}}, [{"a": {"b": [1], "c": 2}}], [{"a": {"b": [1, 2]}}], id="nested"),
        pytest.param([1, {"a": 2}], [[1, {"a": 2, "b": 3}]], [[1], [{"a": 2}, 1], [1, 2], {}], id="list-is-whole"),
        pytest.param({"$eq": {"a": 1}}, [{"a": 1}], [{"a": 1, "b": 2}], id="eq-is-whole"),
        pytest.param({"$eq": {"$ref": 1}}, [{"$ref": 1}], [{"ref": 1}], id="eq-of-dollar-keys"),
        pytest.param({"$ne": 1}, [2, "1", True, None], [1, 1.0, MISSING], id="ne"),
        pytest.param({"$gt": 5}, [6, 5.1], [5, 4, "6", True, None, MISSING], id="gt"),
        pytest.param({"$gte": 5}, [5, 5.0, 6], [4.9, "5"], id="gte"),
        pytest.param({"$lt": 5}, [4, -1], [5, False, "4"], id="lt"),
        pytest.param({"$lte": 5}, [5, 0], [5.01, None], id="lte"),
        pytest.param({"$gte": "2026-01-02"}, ["2026-01-02", "2026-10-01"], ["2025-12-31", 2027], id="dates"),
        pytest.param({"$gt": 1, "$lt": 3}, [2], [1, 3, MISSING], id="both"),
        pytest.param({"$in": ["a", 1, None]}, ["a", 1.0, None], ["b", True, MISSING], id="in"),
        pytest.param({"$regex": "^A-\\d+$"}, ["A-17"], ["a-17", "xA-17", "A-17\nB", 17, None], id="regex"),
        pytest.param({"$regex": "(?i)^a-"}, ["A-17", "a-1"], ["b"], id="regex-any-case"),
        pytest.param({"$contains": "ab"}, ["cabd", ["ab"]], ["Ab", ["abc"], {"ab": 1}, 1], id="contains"),
        pytest.param({"$contains": {"id": 1}}, [[{"id": 1, "n": 2}]], [[], [{"id": 2}], "id"], id="contains-such"),
        pytest.param({"$absent": True}, [MISSING], [None, 0, "", {}], id="absent"),
        pytest.param({"$absent": False}, [None, 0, ""], [MISSING], id="present"),
        pytest.param({"$any": [1, {"$gt": 9}]}, [1, 10], [2, 9, MISSING], id="any"),
        pytest.param({"$any": [{"$absent": True}, 1]}, [MISSING, 1], [2, None], id="any-or-absent"),
        pytest.param({"$all": [{"$gt": 1}, {"$lt": 3}]}, [2], [1, 3], id="all"),
        pytest.param({"$type": "integer"}, [1, 1.0], [1.5, "1", True, None], id="integer"),
        pytest.param({"$type": ["string", "null"]}, ["", None], [1, [], MISSING], id="types"),
        pytest.param({"$type": "boolean"}, [True], [1, "true"], id="boolean"),
        pytest.param({"$type": "array"}, [[]], [{}, "[]"], id="array"),
        pytest.param({"$type": "object"}, [{}], [[]], id="object"),
        pytest.param({"$length": 2}, ["ab", [1, 2], {"a": 1, "b": 2}], ["a", [], 2, None], id="length"),
        pytest.param({"$length": {"$gte": 1}}, ["a"], ["", [], MISSING], id="length-at-least"),
        pytest.param({"$approx": 0.3}, [0.1 + 0.2, 0.3], [0.31, "0.3", True], id="approx"),
        pytest.param({"$approx": {"value": 100, "abs": 2}}, [98, 102], [97.9, 103], id="approx-abs"),
        pytest.param({"$approx": {"value": 100, "rel": 0.1}}, [91, 109], [80, 120], id="approx-rel"),
        pytest.param({"$not": 1}, [2, None, "1"], [1, MISSING], id="not"),
        pytest.param({"$not": {"$absent": True}}, [None, 1], [MISSING], id="not-absent"),
        pytest.param({"$not": {"a": 1}}, [{"a": 2}, {}, 1], [{"a": 1, "b": 2}], id="not-such"),
        pytest.param(
            {"$only": {"a": 1, "b": {"$absent": True}}}, [{"a": 1}], [{"a": 1, "c": 2}, {"a": 2}, {}, [1]], id="only"
        ),
        pytest.param(
            {"$text": "Main St. 5"}, ["main  st 5", "MAIN ST., 5!", "Main\u00a0St 5"], ["main st 55", "5", 5], id="text"
        ),
        pytest.param(
            {"$loosely": "St. John's"},
            ["st john's", 'STJOHN"S', "s-t_john's", "St. John\u2019s", "St John\u2018s"],
            ["St. Johns", "St (John's)", 5],
            id="loosely",
        ),
        pytest.param(
            {"$set": [{"$gt": 0}, 1, {"n": 2}]},
            [[1, 7, {"n": 2}], [{"n": 2, "m": 3}, 7, 1]],
            [[1, {"n": 2}], [1, 0, {"n": 2}], [1, 7, {"n": 2}, 9], {"n": 2}, "abc"],
            id="set",
        ),
        pytest.param({"$each": {"$gt": 0}}, [[1], [1, 2]], [[], [1, 0], 1, {"a": 1}], id="each"),
        pytest.param({"a": {"$absent": True}}, [{}, {"b": 1}], [{"a": None}, {"a": 1}, []], id="member-absent"),
    ],
)
def test_values(expected: object, right: list[object], wrong: list[object]) -> None:
    assert list(find_problems(expected)) == []
    built = matcher(expected)
    assert [value for value in right if not built.holds(value) or list(built.differences(value))] == []
    assert [value for value in wrong if built.holds(value) or not list(built.differences(value))] == []


@pytest.mark.parametrize(
    ("expected", "value", "differences"),
    [
        ({"a": {"$lte": 50}}, {"a": 80}, ["a: expected at most 50, found 80"]),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, ["a.b[1]: expected 2, found 3"]),
        ({"a": 1, "b": 2}, {"a": 2}, ["a: expected 1, found 2", "b: expected 2, found nothing"]),
        ({"note": {"$absent": True}}, {"note": "x"}, ['note: expected nothing, found "x"']),
        ({"$each": {"p": {"$lt": 5}}}, [{"p": 1}, {"p": 9}], ["[1].p: expected under 5, found 9"]),
        ({"$length": {"$gte": 2}}, "a", ['expected a length of at least 2, found 1: "a"']),
        ({"a": {"$gt": 1, "$lt": 3}}, {"a": 3}, ["a: expected under 3, found 3"]),
        ("x", "y" * 200, [f'expected "x", found "{"y" * 78}…']),
    ],
)
def test_a_difference_says_where_and_what(expected: object, value: object, differences: list[str]) -> None:
    assert [str(difference) for difference in matcher(expected).differences(value)] == differences


@pytest.mark.parametrize(
    ("expected", "slug", "path"),
    [
        ({"a": {"$gtt": 1}}, "unknown-matcher", ("a", "$gtt")),
        ([{"$lte": 1, "b": 2}], "bad-matcher", (0, "b")),
        ({"$gt": None}, "wrong-type", ("$gt",)),
        ({"$lt": True}, "wrong-type", ("$lt",)),
        ({"$in": "ab"}, "wrong-type", ("$in",)),
        ({"$in": []}, "empty-expectation", ("$in",)),
        ({"$any": []}, "empty-expectation", ("$any",)),
        ({"$all": [{"$x": 1}]}, "unknown-matcher", ("$all", 0, "$x")),
        ({"$regex": "("}, "bad-regex", ("$regex",)),
        ({"$regex": ".*"}, "empty-expectation", ("$regex",)),
        ({"$regex": 1}, "wrong-type", ("$regex",)),
        ({"$contains": ""}, "empty-expectation", ("$contains",)),
        ({"$absent": 1}, "wrong-type", ("$absent",)),
        ({"$type": "strnig"}, "unknown-value", ("$type",)),
        ({"$type": []}, "empty-expectation", ("$type",)),
        ({"$length": -1}, "wrong-type", ("$length",)),
        ({"$length": {"$gtt": 1}}, "unknown-matcher", ("$length", "$gtt")),
        ({"$approx": "1"}, "wrong-type", ("$approx",)),
        ({"$approx": {"value": 1}}, "wrong-type", ("$approx",)),
        ({"$approx": {"value": 1, "within": 2}}, "unknown-field", ("$approx", "within")),
        ({"$approx": {"value": 1, "abs": 0}}, "out-of-range", ("$approx", "abs")),
        ({"$not": {"$gtt": 1}}, "unknown-matcher", ("$not", "$gtt")),
        ({"$each": {"$gtt": 1}}, "unknown-matcher", ("$each", "$gtt")),
        ({"$only": {"a": {"$gtt": 1}}}, "unknown-matcher", ("$only", "a", "$gtt")),
        ({"$only": {"$gt": 1}}, "bad-matcher", ("$only", "$gt")),
        ({"$only": [1]}, "wrong-type", ("$only",)),
        ({"$text": " ! "}, "empty-expectation", ("$text",)),
        ({"$text": 5}, "wrong-type", ("$text",)),
        ({"$loosely": 5}, "wrong-type", ("$loosely",)),
        ({"$set": 5}, "wrong-type", ("$set",)),
    ],
)
def test_what_is_wrong_with_a_matcher(expected: object, slug: str, path: tuple[str | int, ...]) -> None:
    assert [(flaw.slug, flaw.path) for flaw in find_problems(expected)] == [(slug, path)]


def test_an_unknown_matcher_names_what_it_may_mean() -> None:
    (flaw,) = find_problems({"$lessthan": 1, "$gt": 0})
    assert flaw.key
    assert flaw.message.startswith("unknown matcher '$lessthan'. ")
    (flaw,) = find_problems({"$containz": 1})
    assert "Did you mean '$contains'?" in flaw.message


@settings(max_examples=50)
@given(JSON)
def test_every_plain_value_is_sound_and_accepts_itself(value: object) -> None:
    assert list(find_problems(value)) == []
    assert matcher(value).holds(value)
    assert matcher({"$eq": value}).holds(value)
    assert not matcher({"$ne": value}).holds(value)


@settings(max_examples=50)
@given(JSON, JSON)
def test_differences_are_reported_just_where_there_are_some(expected: object, value: object) -> None:
    made = matcher(expected)
    assert made.holds(value) is not bool(list(made.differences(value)))
    assert matcher({"$eq": expected}).holds(value) is is_same_value(expected, value)
    assert matcher({"$not": expected}).holds(value) is not made.holds(value)
    assert matcher({"$any": [expected, {"$eq": value}]}).holds(value)
    assert matcher({"$all": [expected, {"$ne": value}]}).holds(value) is False


@settings(max_examples=50)
@given(st.dictionaries(st.text("ab", min_size=1, max_size=2), JSON, min_size=1, max_size=4), st.data())
def test_an_object_is_matched_by_each_part_of_it(value: dict[str, object], data: st.DataObject) -> None:
    part = data.draw(st.sets(st.sampled_from(sorted(value))))
    assert matcher({key: value[key] for key in part}).holds(value)
    assert not matcher({**value, "c": 1}).holds(value)


@settings(max_examples=50)
@given(JSON)
def test_no_value_at_all_is_accepted_only_where_absence_is_spoken_of(value: object) -> None:
    for key in DOLLAR_KEYS.keys() - {"$absent"}:
        if not list(find_problems({key: value})):
            assert not matcher({key: value}).holds(MISSING)
