"""The classes that a schema distinguishes, and which of them a value is in."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carob.features.coverage.schema_classes import OUTSIDE, read_arguments


def held(schema: dict[str, Any], arguments: dict[str, Any], *, required: bool = True, more: Any = None) -> list[str]:
    """The classes of argument `x` that a call with these arguments is in."""
    root = {"properties": {"x": schema}, "required": ["x"] if required else [], **(more or {})}
    argument = next(entry for entry in read_arguments(root) if entry.name == "x")
    value = argument.value_in(arguments)
    return [entry.name for entry in argument.classes if value is not OUTSIDE and entry.holds(value)]


@pytest.mark.parametrize(
    ("schema", "value", "classes"),
    [
        pytest.param({"enum": ["a", "b"]}, "a", ['"a"'], id="member"),
        pytest.param({"enum": ["a", "b"]}, "c", [], id="no-member"),
        pytest.param({"enum": [1, True]}, True, ["true"], id="true-is-not-1"),
        pytest.param({"enum": [1]}, 1.0, ["1"], id="1-is-1.0"),
        pytest.param({"const": "a"}, "a", ['"a"'], id="const"),
        pytest.param({"type": "boolean"}, False, ["false"], id="boolean"),
        pytest.param({"type": ["string", "null"]}, None, ["null"], id="null"),
        pytest.param({"type": ["string", "null"]}, "s", ["any value"], id="not-null"),
        pytest.param({"type": "integer", "minimum": 1}, 1, ["minimum 1", "any value"], id="at-the-minimum"),
        pytest.param({"type": "integer", "minimum": 1}, 2, ["any value"], id="over-the-minimum"),
        pytest.param({"type": "integer", "exclusiveMaximum": 9}, 8, ["maximum 8", "any value"], id="under-a-bound"),
        pytest.param({"type": "number", "exclusiveMaximum": 9}, 8, ["any value"], id="no-number-is-next-to-a-bound"),
        pytest.param({"type": "string", "maxLength": 2}, "ab", ["2 characters", "any value"], id="longest"),
        pytest.param({"type": "array", "minItems": 0}, [], ["0 items", "any value"], id="empty-list"),
        pytest.param({"anyOf": [{"enum": ["a"]}, {"type": "null"}]}, None, ["null"], id="one-of-several"),
        pytest.param({"$ref": "#/$defs/Size"}, "L", ['"L"'], id="reference"),
        pytest.param({"$ref": "https://elsewhere/x"}, 1, ["any value"], id="reference-elsewhere"),
        pytest.param({"$ref": "#/$defs/Loop"}, 1, ["any value"], id="reference-to-itself"),
        pytest.param(True, 1, ["any value"], id="anything"),
        pytest.param({"minimum": True, "enum": "ab"}, True, ["any value"], id="no-schema"),
    ],
)
def test_the_classes_of_a_value(schema: Any, value: Any, classes: list[str]) -> None:
    definitions = {"$defs": {"Size": {"enum": ["S", "L"]}, "Loop": {"$ref": "#/$defs/Loop"}}}
    assert held(schema, {"x": value}, more=definitions) == classes


def test_only_an_optional_argument_can_be_left_out() -> None:
    assert held({"type": "string"}, {}, required=False) == ["left out"]
    assert held({"type": "string"}, {}) == []
    assert held({"type": "string"}, {"x": "a"}, required=False) == ["any value"]


def test_arguments_within_objects() -> None:
    inner = {"type": "object", "properties": {"y": {"enum": [1, 2]}}}
    arguments = {entry.name: entry for entry in read_arguments({"properties": {"x": inner}})}
    assert [*arguments] == ["x", "x.y"]
    y = arguments["x.y"]
    assert [entry.name for entry in y.classes if entry.holds(y.value_in({"x": {"y": 2}}))] == ["2"]
    assert [entry.name for entry in y.classes if entry.holds(y.value_in({"x": {}}))] == ["left out"]
    assert y.value_in({}) is OUTSIDE  # nothing is known of what is in an object that is not there


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
KEYS = ["type", "properties", "required", "enum", "const", "anyOf", "allOf", "$ref", "minimum", "maxItems", "minLength"]
SCHEMAS = st.recursive(
    JSON, lambda inner: st.dictionaries(st.sampled_from(KEYS), inner | st.dictionaries(st.text(max_size=3), inner))
)


@given(SCHEMAS, st.dictionaries(st.text(max_size=3), JSON, max_size=4))
def test_any_schema_and_any_call_can_be_read(schema: Any, call: dict[str, Any]) -> None:
    for argument in read_arguments(schema):
        value = argument.value_in(call)
        names = [entry.name for entry in argument.classes]
        assert len(set(names)) == len(names)
        assert all(entry.holds(value) in (True, False) for entry in argument.classes)


def test_what_is_read_is_bounded() -> None:
    wide = {"properties": {str(n): {"enum": list(range(500))} for n in range(500)}}
    arguments = read_arguments(wide)
    assert len(arguments) == 100
    assert all(len(entry.classes) == 51 for entry in arguments)
    deep: dict[str, Any] = {}
    for _ in range(50):
        deep = {"properties": {"a": {"anyOf": [deep, deep]}}}
    assert len(read_arguments(deep)) <= 100
