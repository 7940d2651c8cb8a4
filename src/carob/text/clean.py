"""Whatever an agent hands over → values that JSON can hold and read back the same."""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

REPR_CAP = 2_000
DEPTH_CAP = 64
NODE_CAP = 50_000
FAR_ENOUGH = 64
"""Integers of more bits are kept as text: readers of JSON disagree about them."""

_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
_CONTAINERS = (dict, list, tuple, set, frozenset)
_ENDLESS = {"inf": "Infinity", "-inf": "-Infinity"}


def text(value: str) -> str:
    """The same text if UTF-8 can hold it, else with lone surrogates replaced."""
    if type(value) is str and value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return str.__str__(value)  # some frameworks have texts of a class of their own, which not every reader takes


def jsonable(value: Any) -> Any:
    """Plain JSON values stay, known types become their JSON form, anything else becomes its bounded repr."""
    try:
        return to_json(value)
    except Exception:  # noqa: BLE001 - its methods are other people's code
        return f"a value of type {type(value).__name__} that cannot be read"


def to_json(value: Any) -> Any:
    """The same. Raises what a value raises that cannot be read."""
    return None if value is None else _Cleaner().value(value, 0)


def table(value: Mapping[str, object]) -> dict[str, object]:
    """A dict of which JSON can hold every key and value."""
    return _Cleaner().table(value, 0) if value else {}


def is_clean(value: object) -> bool:
    """Whether JSON holds a value as it is: no half of a character, no number that is none."""
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return False
    return True


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A value of JSON with every text in it changed; keys stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: map_texts(item, change) for key, item in value.items()}
    return [map_texts(item, change) for item in value] if isinstance(value, list | tuple) else value


class _Cleaner:
    """One value being cleaned, within a budget: objects that hold themselves would otherwise never end."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = NODE_CAP

    def value(self, value: object, depth: int) -> object:
        if isinstance(value, str):
            return text(value)
        if value is None or value is True or value is False:
            return value
        if isinstance(value, int):
            return int(value) if value.bit_length() <= FAR_ENOUGH else _repr(value)
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else _ENDLESS.get(repr(float(value)), "NaN")
        self.left -= 1
        if depth >= DEPTH_CAP or self.left < 0:
            return "…"
        if isinstance(value, dict):
            return self.table(value, depth)
        if isinstance(value, list | tuple):
            return [self.value(item, depth + 1) for item in list(value)]
        return self._foreign(value, depth)

    def table(self, value: Mapping[str, object], depth: int) -> dict[str, object]:
        return {
            # Nearly all keys and most values are plain text, which needs no call to be seen for what it is.
            key if type(key) is str and key.isascii() else _key(key): (
                item if type(item) is str and item.isascii() else self.value(item, depth + 1)
            )
            for key, item in list(value.items())
        }

    def _foreign(self, value: object, depth: int) -> object:
        dump = getattr(value, "model_dump", None)
        convert: Callable[[], object] = dump if callable(dump) else lambda: msgspec.to_builtins(value)
        try:
            built = convert()
        except Exception:  # noqa: BLE001  the agent's own objects may fail in any way; their repr is still evidence
            return _repr(value)
        return _repr(value) if built is value else self.value(built, depth + 1)


def loads(line: str | bytes) -> Any:
    """JSON, and also what is not quite JSON but is written as such: NaN, lone surrogates, broken UTF-8.

    Raises ValueError with a short reason.
    """
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeError) as error:
        reason = str(error)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    try:
        return jsonable(json.loads(line if isinstance(line, str) else line.decode("utf-8", "replace")))
    except (ValueError, RecursionError) as error:
        raise ValueError(reason) from error


def _key(key: object) -> str:
    if isinstance(key, str):
        return text(key)
    plain = key is None or isinstance(key, bool | int | float)
    return json.dumps(key) if plain else str(_repr(key))


def _repr(value: object) -> str:
    try:
        representation = reprlib.repr(value) if isinstance(value, _CONTAINERS) else repr(value)
    except Exception:  # noqa: BLE001  a broken __repr__ must not break the record of what the agent did
        representation = f"<{type(value).__name__} that cannot be shown>"
    representation = _ADDRESS.sub(" at 0x…", representation)
    return text(representation if len(representation) <= REPR_CAP else f"{representation[:REPR_CAP]}…")
