"""What a tool's own result says of its success, however it is written.

A result that speaks of failure is a failure, whatever else was made of it; one that cannot be read says nothing that
could be relied on. Records that a tool looked up are data: what they say is not said of the call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any

import msgspec

from karat.text import python_reprs
from karat.text.prose.failure_words import speaks_of_failure
from karat.text.regexes import lazy
from karat.text.words import PUBLISHED

MISSING = ("missingFields", "missing_fields")
DEEPEST = 4
"""How many envelopes may be around a result."""


class ToolOutcome(Enum):
    """What a result says of success. NOTHING: it does not mention it; UNREADABLE: it could not be read."""

    SUCCESS = "success"
    FAILURE = "failure"
    NOTHING = "nothing"
    UNREADABLE = "unreadable"

    def as_success(self, default: bool | None = None) -> bool | None:
        """Return the success of the call; `default` if the result does not mention it."""
        if self is ToolOutcome.NOTHING:
            return default
        return None if self is ToolOutcome.UNREADABLE else self is ToolOutcome.SUCCESS


VERDICTS = ("success", "ok", "succeeded", "successful", "issuccess")
ERRORS = ("error", "errorcode", "errormessage", "exception")
COUNTS = ("failed", "failures", "failedcount")
MARKS = ("iserror",)
STATES = ("status", "state")
CODES = ("statuscode", "httpstatus")
EXITS = ("exitcode", "returncode")
ENVELOPES = ("result", "results", "response", "output", "data", "body", "content", "structuredcontent", "message")
"""Keys, whatever their case and joints: `isError`, `is_error`."""

_NO = frozenset({"false", "no", "n", "0", "off"})
_NONE = frozenset({"", "none", "null", "no", "no error", "nil", "false", "0", "n/a", "ok", "success"})
_GOOD = frozenset(PUBLISHED.entries("good_status"))
_BAD = frozenset(PUBLISHED.entries("failed_status"))
_DOUBTFUL = frozenset(PUBLISHED.entries("doubtful_status"))


def read_outcome(result: object) -> ToolOutcome:
    """What the result of a tool says of its success."""
    return _read_outcome(result, 0)


def structured(result: object) -> object:
    """The result as data where it is data that was turned into text; anything else as it is."""
    if isinstance(result, list) and _is_text(result):
        result, given = "".join(block["text"] for block in result), result
        data = structured(result)
        return given if isinstance(data, str) else data
    if not isinstance(result, str):
        return result
    try:
        data = _data(result)
    except ValueError:
        return result
    return data if isinstance(data, dict | list) else result


def missing_fields(result: object) -> tuple[str, ...]:
    """The fields that a result names as missing."""
    if not isinstance(result, dict):
        return ()
    named = next((result[key] for key in MISSING if isinstance(result.get(key), list)), ())
    return tuple(name for name in named if isinstance(name, str))


def _read_outcome(result: object, depth: int) -> ToolOutcome:
    if depth > DEEPEST:
        return ToolOutcome.NOTHING
    if isinstance(result, str):
        return _text_said(result, depth)
    if isinstance(result, Mapping):
        return _table_said(result, depth)
    if isinstance(result, list | tuple):
        return _list_said(result, depth)
    return ToolOutcome.NOTHING


def _table_said(given: Mapping[object, object], depth: int) -> ToolOutcome:
    """Its own words, then what is wrapped in it: there a status is data if the envelope spoke of success."""
    table = _folded(given)
    own = _agreed([*map(_flag, _values(table, VERDICTS)), *map(_fault, _values(table, ERRORS)), *_marks(table)])
    if own in (ToolOutcome.FAILURE, ToolOutcome.UNREADABLE):
        return own
    if own is ToolOutcome.NOTHING:
        own = _agreed(_weaker(table))
    if own in (ToolOutcome.FAILURE, ToolOutcome.UNREADABLE):
        return own
    inner = {_wrapped(value, depth, data=own is ToolOutcome.SUCCESS) for value in _values(table, ENVELOPES)}
    if ToolOutcome.FAILURE in inner:
        return ToolOutcome.FAILURE
    if own is ToolOutcome.SUCCESS:
        return own
    return next(
        (found for found in (ToolOutcome.UNREADABLE, ToolOutcome.SUCCESS) if found in inner), ToolOutcome.NOTHING
    )


def _wrapped(value: object, depth: int, *, data: bool) -> ToolOutcome:
    if data and isinstance(value, Mapping):
        table = _folded(value)
        return _agreed([*map(_flag, _values(table, VERDICTS)), *_marks(table)])
    if isinstance(value, list) and not _is_text(value):
        return ToolOutcome.NOTHING
    return _read_outcome(value, depth + 1)


def _weaker(table: Mapping[str, object]) -> Iterator[ToolOutcome]:
    """What may be meant otherwise, and counts only where nothing plainer is next to it."""
    yield from map(_state, _values(table, STATES))
    yield from map(_code, _values(table, CODES))
    for value in _values(table, EXITS):
        if type(value) is int:
            yield ToolOutcome.FAILURE if value else ToolOutcome.SUCCESS


def _list_said(items: list[Any] | tuple[Any, ...], depth: int) -> ToolOutcome:
    """Blocks of text are a text; `(False, why)` is a verdict, and so are several that agree; any other list is data."""
    if _is_text(items):
        return _text_said("".join(block["text"] for block in items), depth)
    if len(items) > 1 and isinstance(items[0], bool) and not isinstance(items[1], bool):
        return _flag(items[0])
    verdicts = {_verdict(item) for item in items}
    if len(verdicts) == 1:
        return verdicts.pop() or ToolOutcome.NOTHING
    return ToolOutcome.UNREADABLE if {ToolOutcome.SUCCESS, ToolOutcome.FAILURE} <= verdicts else ToolOutcome.NOTHING


def _verdict(item: object) -> ToolOutcome | None:
    return _agreed(map(_flag, _values(_folded(item), VERDICTS))) if isinstance(item, Mapping) else None


def _folded(table: Mapping[object, object]) -> dict[str, object]:
    return {str(key).lower().replace("_", "").replace("-", ""): value for key, value in table.items()}


def _agreed(words: Iterable[ToolOutcome]) -> ToolOutcome:
    """A sign of failure is one, whatever else claims success."""
    found = set(words)
    return next(
        (one for one in (ToolOutcome.FAILURE, ToolOutcome.UNREADABLE, ToolOutcome.SUCCESS) if one in found),
        ToolOutcome.NOTHING,
    )


def _values(table: Mapping[str, object], keys: tuple[str, ...]) -> Iterator[object]:
    return (table[key] for key in keys if key in table)


def _flag(value: object) -> ToolOutcome:
    if isinstance(value, bool):
        return ToolOutcome.SUCCESS if value else ToolOutcome.FAILURE
    if value is None:
        return ToolOutcome.UNREADABLE
    no = value.strip().lower() in _NO if isinstance(value, str) else value == 0
    return ToolOutcome.FAILURE if no else ToolOutcome.NOTHING


def _fault(value: object) -> ToolOutcome:
    """An error that is none ("", null, false, 0, an empty object) does not mention success."""
    if isinstance(value, str):
        return ToolOutcome.NOTHING if value.strip().rstrip(".").lower() in _NONE else ToolOutcome.FAILURE
    return ToolOutcome.FAILURE if value else ToolOutcome.NOTHING


def _marks(table: Mapping[str, object]) -> Iterator[ToolOutcome]:
    yield from (ToolOutcome.FAILURE for value in _values(table, MARKS) if value is True)
    errors = table.get("errors")  # a number of them is data
    if isinstance(errors, list | dict | str) and _fault(errors) is ToolOutcome.FAILURE:
        yield ToolOutcome.FAILURE
    yield from (ToolOutcome.FAILURE for value in _values(table, COUNTS) if type(value) is int and value > 0)


def _state(value: object) -> ToolOutcome:
    if not isinstance(value, str):
        return _code(value)
    word = " ".join(re.split(r"[\W_]+", value.lower())).strip()
    if word in _DOUBTFUL:
        return ToolOutcome.UNREADABLE
    return ToolOutcome.FAILURE if word in _BAD else ToolOutcome.SUCCESS if word in _GOOD else _code(value)


def _code(value: object) -> ToolOutcome:
    """A status of HTTP; a bare `false` is a failure too."""
    if isinstance(value, bool):
        return _flag(value)
    number = int(value) if isinstance(value, str) and re.fullmatch(r"[1-5]\d\d", value) else value
    if not isinstance(number, int) or not 100 <= number <= 599:
        return ToolOutcome.NOTHING
    return ToolOutcome.FAILURE if number >= 400 else ToolOutcome.SUCCESS if 200 <= number < 300 else ToolOutcome.NOTHING


_OBJECT = lazy.pattern(r"\s*<[^<>]* at 0x\w+>\s*")
_STRUCTURE = lazy.pattern(
    r"\s*(?:\{|\[\s*(?:[\[{\"'\]]|true,|false,)|\((?:True|False),|<[^\W\d][\w.]*\.\w+: "
    r"|[^\W\d][\w.]*\([^()]*\w=|[^\W\d]\w*=(?!=))"
)
_QUOTED = lazy.pattern(r'\s*"(?:[^"\\]|\\.)*"\s*', re.DOTALL)
_CALL = lazy.pattern(r"\s*[^\W\d][\w.]*\(.*\)\s*", re.DOTALL)
_FENCE = lazy.pattern(r"\s*(?:[^\n`{\[]{0,80}\n)?\s*```\w*\n(.*?)\n?\s*```", re.DOTALL)
_BEHIND = lazy.pattern(r"[^\n{}\[\]]{1,80}?[:=>]\s*(\{.*\})\s*", re.DOTALL)


def _text_said(text: str, depth: int) -> ToolOutcome:
    try:
        data = _data(text)
    except ValueError:
        return ToolOutcome.UNREADABLE
    if data is not text:
        found = _read_outcome(data, depth + 1)
        if found is not ToolOutcome.NOTHING or isinstance(data, dict | list):
            return found
    return {True: ToolOutcome.FAILURE, None: ToolOutcome.UNREADABLE, False: ToolOutcome.NOTHING}[
        speaks_of_failure(text)
    ]


def _data(text: str) -> object:
    """What a text holds that was made of data; the text itself if it is prose. Raises ValueError if it is torn."""
    if _OBJECT.fullmatch(text):
        raise ValueError("it does not show what it holds")
    if fenced := _FENCE.match(text):
        return _parsed(fenced[1])
    if behind := _BEHIND.fullmatch(text):
        try:
            return _parsed(behind[1])
        except ValueError:
            return text
    if _STRUCTURE.match(text) or _QUOTED.fullmatch(text):
        return _parsed(text)
    if _CALL.fullmatch(text):
        try:
            return python_reprs.read(text)
        except ValueError:
            return text
    return text


def _parsed(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        return python_reprs.read(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _is_text(blocks: list[object] | tuple[object, ...]) -> bool:
    return bool(blocks) and all(
        isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
        for block in blocks
    )
