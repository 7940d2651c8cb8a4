"""Values as Python prints them: read back, and never run."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carob.text.python_values import LONGEST, LONGEST_CALLS, parse_calls, read_repr

_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(_SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(VALUES)
def test_what_repr_writes_reads_back(value: object) -> None:
    assert read_repr(repr(value)) == value


WRITTEN: dict[str, tuple[str, object]] = {
    "a tuple": ("(1, 'a',)", [1, "a"]),
    "a set": ("{1, 2}", [1, 2]),
    "keys that are no text": ("{1: 'a', (1, 2): 'b'}", {"1": "a", "[1, 2]": "b"}),
    "a member of an enum": ("<Status.PAID: 'paid'>", "paid"),
    "a member by its name": ("[Status.PAID]", ["PAID"]),
    "an object that shows nothing": ("{'a': <Order at 0x7f>}", {"a": "<Order at 0x7f>"}),
    "an object of keywords": ("Order(id='A-1', total=Decimal('9.5'))", {"id": "A-1", "total": "9.5"}),
    "an object of one value": ("Path('a')", "a"),
    "an object of a container": ("defaultdict(<class 'list'>, {'a': [1]})", {"a": [1]}),
    "an object of several values": ("date(2026, 11, 19)", "date(2026, 11, 19)"),
    "pairs": ("OrderedDict([('a', 1), ('b', [2])])", {"a": 1, "b": [2]}),
    "fields": ("id='A-1' total=3", {"id": "A-1", "total": 3}),
    "what was left out": ("[1, ...]", [1, "..."]),
    "what is no number": ("[nan, -inf]", ["NaN", "-Infinity"]),
}


@pytest.mark.parametrize(("text", "value"), WRITTEN.values(), ids=WRITTEN)
def test_objects_are_what_they_show(text: str, value: object) -> None:
    assert read_repr(text) == value


NO_VALUES = {
    "more follows": "1 2",
    "a comma is missing": "[1 2]",
    "it is half a dict": "{'a': 1, 2}",
    "'>' is missing": "<Status.PAID: 'paid' and more>",
    "it contains no pairs": "OrderedDict([('a', 1), 2])",
    "it is nested too deeply": "[" * 3000,
    "it is too long": f"'{'a' * LONGEST}'",
}


@pytest.mark.parametrize(("why", "text"), NO_VALUES.items(), ids=NO_VALUES)
def test_what_is_no_value_is_refused(why: str, text: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_repr(text)


CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "lists and tuples": ("f(a=[1, ('b', 2)])", {"a": [1, ["b", 2]]}),
    "dicts": ("f(a={'b': [1], 2: None, **more})", {"a": {"b": [1], "2": None, "**": "more"}}),
    "numbers": ("f(a=-1, b=1.5)", {"a": -1, "b": 1.5}),
    "what is not run": ("f(a=open('x'))", {"a": "open('x')"}),
}


@pytest.mark.parametrize(("text", "arguments"), CALLS.values(), ids=CALLS)
def test_arguments_of_calls_are_read(text: str, arguments: dict[str, Any]) -> None:
    (call,) = parse_calls(text)
    assert (call.name, call.arguments) == ("f", arguments)


@pytest.mark.parametrize("text", ["f(a=1) + 1", "1", f"f({'a' * LONGEST_CALLS})", "[f()] + [g()]"])
def test_what_is_no_list_of_calls_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not calls|not a call|longer than|not a list"):
        parse_calls(text)
