"""JSONPath (RFC 9535) as the configuration writes it; paths of plain names, which most are, are walked directly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

import msgspec

from karat.suites.findings import Json


class JsonPath:
    """One path: the values that it finds."""

    __slots__ = ("_find", "_found_within", "_keys", "text")

    def __init__(self, text: str) -> None:
        """Raises ValueError with what is wrong with it."""
        from jsonpath_rfc9535 import JSONPathError, JSONPathQuery, compile

        self.text = text
        try:
            query = compile(text)
        except JSONPathError as error:
            raise ValueError(f"{text!r} is no JSONPath: {error}") from error
        self._keys = _names(query)
        self._find = query.find
        self._found_within: Callable[..., object] = JSONPathQuery(env=query.env, segments=query.segments[:-1]).find

    def all(self, value: Json) -> list[Json]:
        if self._keys is None:
            return cast("list[Json]", self._find(cast("dict[str, object]", value)).values())
        for key in self._keys:
            if not isinstance(value, dict) or key not in value:
                return []
            value = value[key]
        return [value]

    def first(self, value: Json) -> Json:
        """The first value that is found; None if there is none, or if it is null."""
        found = self.all(value)
        return found[0] if found else None

    def has_place(self, value: Json) -> bool:
        """Whether there is anything in which its last step could find something: an empty list, but a list."""
        return bool(self._found_within(value))


def words(values: list[Json]) -> str:
    """What was found, as text."""
    return "\n".join(value if isinstance(value, str) else msgspec.json.encode(value).decode() for value in values)


def objects(value: Json) -> Iterator[dict[str, Json]]:
    """The objects of a list, where it is one."""
    yield from (item for item in value if isinstance(item, dict)) if isinstance(value, list) else ()


def count(value: Json) -> int | None:
    """A whole number, where it is one."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _names(query: object) -> list[str] | None:
    """The names of a path that has nothing but names."""
    from jsonpath_rfc9535.segments import JSONPathChildSegment
    from jsonpath_rfc9535.selectors import NameSelector

    names = []
    for segment in query.segments:  # type: ignore[attr-defined]
        if not isinstance(segment, JSONPathChildSegment) or len(segment.selectors) != 1:
            return None
        selector = segment.selectors[0]
        if not isinstance(selector, NameSelector):
            return None
        names.append(selector.name)
    return names
