"""JSONPath (RFC 9535) as the configuration writes it; names at the beginning, which most have, are walked directly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, cast

import msgspec

from carob.suites.diagnostics import Json
from carob.text.regexes import lazy

_NAMES = lazy.pattern(r"[A-Za-z_]\w*(\[\d+\]|\.[A-Za-z_]\w*)*")

if TYPE_CHECKING:
    from jsonpath_rfc9535 import JSONPathQuery
    from jsonpath_rfc9535.segments import JSONPathSegment


def suggest_path(text: str) -> str:
    """How to write what was meant to be a path: names without `$.` are the commonest mistake."""
    return f"Write $.{text}" if _NAMES.fullmatch(text) else "For instance: $.data.reply"


class JsonPath:
    """One path: the values that it finds."""

    __slots__ = ("_found_within", "all", "text")

    def __init__(self, text: str) -> None:
        """Raises ValueError with what is wrong with it."""
        from jsonpath_rfc9535 import JSONPathError, compile

        self.text = text
        try:
            query = compile(text)
        except JSONPathError as error:
            why = str(error).partition(", line")[0]
            raise ValueError(f"{text!r} is not a JSONPath: {why}") from error
        self.all = _walk(query, len(query.segments))
        self._found_within = _walk(query, len(query.segments) - 1)

    def first(self, value: Json) -> Json:
        """The first value that is found; None if there is none, or if it is null."""
        values = self.all(value)
        return values[0] if values else None

    def has_place(self, value: Json) -> bool:
        """Whether there is anything in which its last step could find something: an empty list, but a list."""
        return bool(self._found_within(value))

    def has_empty_place(self, value: Json) -> bool:
        """Whether there is nothing in any place in which its last step could find something: it cannot be wrong."""
        places = self._found_within(value)
        return bool(places) and not any(places)


def words(values: list[Json]) -> str:
    """What was found, as text."""
    return "\n".join(value if isinstance(value, str) else msgspec.json.encode(value).decode() for value in values)


def objects(value: Json) -> Iterator[dict[str, Json]]:
    """The objects of a list, where it is one."""
    yield from (item for item in value if isinstance(item, dict)) if isinstance(value, list) else ()


def count(value: Json) -> int | None:
    """A whole number, where it is one."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _walk(query: JSONPathQuery, length: int) -> Callable[[Json], list[Json]]:
    """What finds the values of so many steps of a path: names are walked, all from the first other step on is found."""
    from jsonpath_rfc9535 import JSONPathQuery

    segments = query.segments[:length]
    names = [*takewhile(lambda name: name is not None, map(_name, segments))]
    others = segments[len(names) :]
    find_rest = JSONPathQuery(env=query.env, segments=others).find if others else None

    def find(value: Json) -> list[Json]:
        for name in names:
            if not isinstance(value, dict) or name not in value:
                return []
            value = value[name]
        return (
            [value] if find_rest is None else cast("list[Json]", find_rest(cast("dict[str, object]", value)).values())
        )

    return find


def _name(segment: JSONPathSegment) -> str | None:
    """The name that a step of a path is; None if it is anything else."""
    from jsonpath_rfc9535.segments import JSONPathChildSegment
    from jsonpath_rfc9535.selectors import NameSelector

    if not isinstance(segment, JSONPathChildSegment) or len(segment.selectors) != 1:
        return None
    selector = segment.selectors[0]
    return selector.name if isinstance(selector, NameSelector) else None


ANSWERS = (
    *("answer", "reply", "response", "output", "content", "text", "message", "final_message", "result"),
    "completion",
)
CONVERSATIONS = ("session_id", "sessionid", "conversation_id", "conversationid", "thread_id", "threadid", "chat_id")
DEEPEST = 5


# Guesses at an answer of an unknown service are for people to look at, never for a run.
def answer_path(value: Json) -> str:
    """Where the words of an answer most likely stand; empty if nowhere."""
    candidates = [(_rank(keys), path) for path, keys, text in _texts(value) if text.strip()]
    ranked = sorted((rank, len(path), path) for rank, path in candidates if rank is not None)
    return ranked[0][2] if ranked else ""


def _rank(keys: tuple[str, ...]) -> int | None:
    last = keys[-1].casefold() if keys else ""
    return ANSWERS.index(last) if last in ANSWERS else None


def _texts(value: Json, path: str = "$", keys: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...], str]]:
    if isinstance(value, str):
        yield path, keys, value
    elif isinstance(value, dict) and len(keys) < DEEPEST:
        for key, item in list(value.items())[:100]:
            step = f".{key}" if key.isidentifier() else f"[{key!r}]"
            yield from _texts(item, path + step, (*keys, key))
    elif isinstance(value, list) and value:
        yield from _texts(value[-1], f"{path}[-1]", keys)


def conversation_path(value: Json) -> str:
    """Where the service names the conversation; empty if nowhere."""
    return next((path for path, keys, _ in _texts(value) if keys and keys[-1].lower() in CONVERSATIONS), "")
