"""Places in JSON texts: Python's own decoder, started at each place, reads what is there."""

from __future__ import annotations

import json
import string
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carob.suites.diagnostics import Path
from carob.suites.documents.json import JsonPlaces

TEXTS = st.text(st.sampled_from('ab"\\/[]{}:,\n\té漢😀\u2028') | st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)
DECODER = json.JSONDecoder(strict=False)


@st.composite
def documents(draw: st.DrawFn) -> tuple[Any, str]:
    value = draw(VALUES)
    separators = draw(st.sampled_from([(",", ":"), (" ,\r\n", "\t:\n ")]))
    indent = draw(st.sampled_from([None, 0, 3]))
    text = json.dumps(value, ensure_ascii=draw(st.booleans()), indent=indent, separators=separators)
    return value, draw(st.sampled_from(["", "\n ", "\r\n\t"])) + text + draw(st.sampled_from(["", " \n"]))


def below(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    yield path, value
    for step, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from below(inner, (*path, step))


def offset(text: str, place: tuple[int, int]) -> int:
    line, column = place
    return sum(len(each) + 1 for each in text.split("\n")[: line - 1]) + column - 1


@given(documents())
def test_every_value_and_key_is_at_its_place(document: tuple[Any, str]) -> None:
    value, text = document
    places = JsonPlaces(text.encode())
    for path, inner in below(value):
        at = offset(text, places.place(path))
        assert repr(DECODER.raw_decode(text, at)[0]) == repr(inner)
        assert places.path_at(len(text[:at].encode())) == path
        if path and isinstance(path[-1], str):
            key = offset(text, places.place(path, key=True))
            assert DECODER.raw_decode(text, key)[0] == path[-1]
            assert places.path_at(len(text[:key].encode())) == path
    assert places.duplicates == []


@given(st.lists(st.lists(st.sampled_from(["a", "b", "é", '"', "\\", "\n"]), max_size=6), max_size=4), st.booleans())
def test_every_duplicate_key_is_found_in_order(objects: list[list[str]], ascii_only: bool) -> None:
    written = (
        "{" + ",\n".join(f"{json.dumps(key, ensure_ascii=ascii_only)}: [{n}]" for n, key in enumerate(keys)) + "}"
        for keys in objects
    )
    text = f"[{', '.join(written)}]"
    found = JsonPlaces(text.encode()).duplicates
    assert [each.path for each in found] == [
        (n, key) for n, keys in enumerate(objects) for at, key in enumerate(keys) if key in keys[:at]
    ]
    for each in found:
        assert each.place is not None
        assert DECODER.raw_decode(text, offset(text, each.place))[0] == each.path[-1]


def test_the_value_of_a_duplicate_key_is_the_last_one_as_for_every_parser() -> None:
    places = JsonPlaces(b'{"a": {"b": 1},\n "\\u0061": {"b": 2}}')
    assert places.place(("a", "b")) == (2, 18)
    assert [(each.path, each.place) for each in places.duplicates] == [(("a",), (2, 2))]


@pytest.mark.parametrize(
    ("path", "place"),
    [
        pytest.param(("cases", 1, "gone", "x"), (2, 15), id="absent-key"),
        pytest.param(("cases", 9), (2, 11), id="absent-entry"),
        pytest.param(("cases", 0, "below"), (2, 12), id="below-a-number"),
        pytest.param(("cases", "0"), (2, 11), id="key-of-an-array"),
    ],
)
def test_what_is_absent_is_at_the_nearest_value_around_it(path: Path, place: tuple[int, int]) -> None:
    assert JsonPlaces(b'{\n "cases": [1, {"id": 2}]}').place(path) == place


@given(st.text(st.sampled_from('[]{}:,"\\\n é1') | st.sampled_from(string.printable), max_size=40), st.data())
def test_what_is_not_json_has_places_too(text: str, data: st.DataObject) -> None:
    places = JsonPlaces(text.encode())
    line, column = places.place(("a", 0, "b"))
    assert 0 <= offset(text, (line, column)) <= len(text)
    assert places.duplicates is places.duplicates
    places.path_at(data.draw(st.integers(0, len(text.encode()) + 1)))


def test_deep_nesting_is_read_once() -> None:
    depth = 50_000
    places = JsonPlaces(b"[" * depth + b"]" * depth)
    assert places.path_at(2 * depth - 1) == ()
    assert len(places.path_at(depth)) == depth - 1
