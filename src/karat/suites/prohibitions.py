"""What `defaults` forbid is forbidden in every case: prohibitions add up, and of two bounds the smaller one holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karat.model.check import Field

JsonObject = dict[str, Any]
REPLACE, SMALLER, NEVER, TOTAL = "replace", "smaller", "never", "total"


def add_prohibitions(own: JsonObject, defaults: Mapping[str, Any], fields: Sequence[Field]) -> JsonObject:
    """What a case expects, with what `defaults` forbid under the keys that it names itself.

    A value of the wrong type stays as the case has it, and is reported there.
    """
    added = {
        field.name: _combine(field.in_defaults, own[field.name], defaults[field.name])
        for field in fields
        if field.in_defaults != REPLACE and field.name in own and field.name in defaults
    }
    return {**own, **added} if added else own


def _combine(how: str, own: Any, default: Any) -> Any:
    if how == SMALLER:
        return _take_smaller(own, default)
    if isinstance(own, dict):
        return _combine_tables(how, own, default)
    if not isinstance(own, list) or not isinstance(default, list):
        return own
    entries = default if how == "add" else [one for one in default if isinstance(one, dict) and one.get(NEVER)]
    return [*own, *(entry for entry in entries if entry not in own)]


def _take_smaller(own: Any, default: Any) -> Any:
    if isinstance(own, dict) or isinstance(default, dict):
        return _combine_tables(SMALLER, _as_table(own), _as_table(default))
    return default if _is_number(own) and _is_number(default) and default < own else own


def _combine_tables(how: str, own: Any, default: Any) -> Any:
    if not isinstance(own, dict) or not isinstance(default, dict):
        return own
    both = {key: _combine(how, own[key], default[key]) for key in own if key in default}
    return {**default, **own, **both}


def _as_table(bound: Any) -> Any:
    """A number in the place of several bounds is that of all together."""
    return {TOTAL: bound} if _is_number(bound) else bound


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
