"""JSON values: when two are the same, and how one is shown. 1 is 1.0, and neither is "1" or true."""

from __future__ import annotations

from enum import Enum
from typing import Final

import msgspec

SHOWN = 80


class Missing(Enum):
    """No value at all, which null is not."""

    MISSING = "nothing"


MISSING: Final = Missing.MISSING


def is_same_value(one: object, other: object) -> bool:
    """Whether two JSON values are equal, all the way down. Python takes true for 1; a contract does not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same_value(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(is_same_value, one, other))
    return one == other


def format_value(value: object) -> str:
    """A value in one short line."""
    if value is MISSING:
        return MISSING.value
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
