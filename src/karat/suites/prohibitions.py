"""What `defaults` forbid is forbidden in every case: prohibitions add up, and of two bounds the smaller one holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karat.model.check import Field

JsonObject = dict[str, Any]
REPLACE, SMALLER, NEVER, TOTAL = "replace", "smaller", "never", "total"


def add_prohibitions(expected: JsonObject, defaults: Mapping[str, Any], fields: Sequence[Field]) -> JsonObject:
    """What a case expects, with what `defaults` forbid under the keys that it names itself.

    A value of the wrong type stays as the case has it, and is reported there.
    """
    added = {
        field.name: _combine(field.in_defaults, expected[field.name], defaults[field.name])
        for field in fields
        if field.in_defaults != REPLACE and field.name in expected and field.name in defaults
    }
    return {**expected, **added} if added else expected


def _combine(how: str, value: Any, default: Any) -> Any:
    if how == SMALLER:
        return _take_smaller(value, default)
    if isinstance(value, dict):
        return _combine_tables(how, value, default)
    if not isinstance(value, list) or not isinstance(default, list):
        return value
    entries = default if how == "add" else [rule for rule in default if isinstance(rule, dict) and rule.get(NEVER)]
    return [*value, *(entry for entry in entries if entry not in value)]


def _take_smaller(value: Any, default: Any) -> Any:
    if isinstance(value, dict) or isinstance(default, dict):
        return _combine_tables(SMALLER, _as_table(value), _as_table(default))
    return default if _is_number(value) and _is_number(default) and default < value else value


def _combine_tables(how: str, value: Any, default: Any) -> Any:
    if not isinstance(value, dict) or not isinstance(default, dict):
        return value
    both = {key: _combine(how, value[key], default[key]) for key in value if key in default}
    return {**default, **value, **both}


def _as_table(bound: Any) -> Any:
    """A number in the place of several bounds is that of all together."""
    return {TOTAL: bound} if _is_number(bound) else bound


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
