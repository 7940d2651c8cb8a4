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


def is_same_value(first: object, second: object) -> bool:
    """Whether two JSON values are equal, all the way down. Python takes true for 1; a contract does not."""
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(is_same_value(value, second[key]) for key, value in first.items())
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(map(is_same_value, first, second))
    return first == second


def format_value(value: object) -> str:
    """A value in one short line."""
    if value is MISSING:
        return MISSING.value
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
