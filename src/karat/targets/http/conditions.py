"""`when`: which events of a stream are meant, by a filter, by their names, or by fields and their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from karat.suites.diagnostics import Json
from karat.targets.http.jsonpath import JsonPath
from karat.targets.http.options import When

Holds = Callable[[Json, str], bool]
"""Whether an event, as its value and its name, is meant."""


def condition(when: When | None) -> Holds:
    """What `when` asks of an event; without one, nothing. Raises ValueError with what is wrong with it."""
    if when is None:
        return lambda value, name: True
    parts = [_condition(part) for part in (when if isinstance(when, list) else [when])]
    if not parts:
        raise ValueError("`when` is empty")
    return lambda value, name: all(holds(value, name) for holds in parts)


def _condition(part: str | Mapping[str, object]) -> Holds:
    if not isinstance(part, str):
        fields = [_field(key, value) for key, value in part.items()]
        if not fields:
            raise ValueError("`when` is empty")
        return lambda value, name: all(holds(value, name) for holds in fields)
    if not part.startswith(("?", "$")):
        return lambda value, name: name == part
    # A filter looks at the members of what it is given: an event is given as the only member of a list.
    text = part if part.startswith("$[?") else f"$[?@{part[1:]}]" if part.startswith("$") else f"$[{part}]"
    find = JsonPath(text).all
    return lambda value, name: bool(find([value]))


def _field(key: str, expected: object) -> Holds:
    values = expected if isinstance(expected, list) else [expected]
    if key.startswith("$"):
        path = JsonPath(key)
        return lambda value, name: any(_is_same(item, choice) for item in path.all(value) for choice in values)
    return lambda value, name: (
        isinstance(value, dict) and key in value and any(_is_same(value[key], choice) for choice in values)
    )


def _is_same(actual: Json, expected: object) -> bool:
    """Equal as JSON has it: true is not 1."""
    return actual == expected and isinstance(actual, bool) == isinstance(expected, bool)
