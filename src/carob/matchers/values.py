"""JSON values: when two are the same, and how one is shown. 1 is 1.0, and neither is "1" or true."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final
from unicodedata import normalize

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
        return len(first) == len(second) and all(
            is_same_value(value, find_member(second, str(key))) for key, value in first.items()
        )
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(map(is_same_value, first, second))
    if isinstance(first, str) and isinstance(second, str):
        return first == second or nfc(first) == nfc(second)
    return first == second


def nfc(text: str) -> str:
    """The text in the one Unicode form in which texts that look the same are the same."""
    return text if text.isascii() else normalize("NFC", text)


def normalize_value(value: object) -> object:
    """A JSON value in the one form that all values have which are the same: 7.0 is 7, and texts are in NFC."""
    if isinstance(value, str):
        return nfc(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {nfc(str(key)): normalize_value(inner) for key, inner in value.items()}
    return [*map(normalize_value, value)] if isinstance(value, list | tuple) else value


def find_member(members: Mapping[str, object], name: str) -> object:
    """The member of an object by its name, in whatever Unicode form it is written; MISSING if there is none."""
    if name in members or name.isascii():
        return members.get(name, MISSING)
    return next((value for key, value in members.items() if nfc(key) == nfc(name)), MISSING)


def format_value(value: object) -> str:
    """A value in one short line."""
    if value is MISSING:
        return MISSING.value
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
