"""JSON as services send it: one meaning or none."""

from __future__ import annotations

import json
from typing import cast

import jiter

from karat.suites.diagnostics import Json
from karat.traces.clean import jsonable

_BOM = b"\xef\xbb\xbf"


def loads(data: bytes | str) -> Json:
    """The value; ValueError for what is no JSON, no UTF-8, has a key twice in one object, or is nested too deeply."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data.removeprefix(_BOM)
    try:
        return cast(Json, jiter.from_json(raw, catch_duplicate_keys=True))
    except ValueError as error:
        if b"\\u" not in raw:
            raise ValueError(_worded(str(error))) from None
    try:  # a lone surrogate is no text, yet half of the world's JSON writers let it pass
        return cast(Json, jsonable(json.loads(raw, object_pairs_hook=_once)))
    except (ValueError, RecursionError) as error:
        raise ValueError(_worded(str(error))) from None


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("Detected duplicate key")
    return table


def _worded(message: str) -> str:
    return f"{message[:1].lower()}{message[1:]}"
