"""How a target's configuration says that its log spells tool calls: patterns of lines, with places for what they tell.

A pattern is an object, whose values must be in the object of a line, or a text, which must be in the line.
`{tool}` is the tool's name, `{any}` for anything, and `{id}`, `{arguments}`, `{result}`, `{success}`, `{error}`
and `{missing_fields}` for the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
import regex
from msgspec import Struct

from carob.evidence.logs.spellings import Stage
from carob.text.tool_results import parse_result
from carob.text.wording import did_you_mean

LinePattern = str | dict[str, object]
LinePatterns = LinePattern | list[LinePattern] | None

STAGES: tuple[Stage, ...] = ("request", "start", "result", "error", "other")
PLACES = ("tool", "id", "arguments", "result", "success", "error", "missing_fields", "any")
LONGEST = 20_000
"""So much of a line is held against a pattern of text."""
PATIENCE = 0.05
_PLACE = re.compile(r"\{(\w+)\}")
_BOOLEANS = {"true": True, "false": False, "yes": True, "no": False, "ok": True, "failed": False, "error": False}


class LogEvents(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The lines that tell of a tool call, by what they tell; `other` are lines that tell of none."""

    request: LinePatterns = None
    start: LinePatterns = None
    result: LinePatterns = None
    error: LinePatterns = None
    other: LinePatterns = None

    @property
    def patterns(self) -> Iterator[tuple[Stage, LinePattern]]:
        for stage in STAGES:
            value = getattr(self, stage)
            yield from ((stage, pattern) for pattern in (value if isinstance(value, list) else [value]) if pattern)

    def validate(self) -> Iterator[str]:
        """What is wrong with the patterns, a sentence each."""
        for stage, pattern in self.patterns:
            places = set(_places(pattern))
            for name in sorted(places - set(PLACES)):
                yield f"`{stage}` has an unknown placeholder {{{name}}}. {did_you_mean(name, PLACES)}".rstrip()
            if stage != "other" and "tool" not in places:
                yield f"`{stage}` does not say where the name of the tool is: write {{tool}} in its place."
            if isinstance(pattern, str) and not _PLACE.sub("", pattern).strip():
                yield f"`{stage}` matches every line: add words of the line around its placeholders."


class MatchedLine(NamedTuple):
    """A line that matched a pattern: the stage of the call, and the values at the places of the pattern."""

    stage: Stage
    values: Mapping[str, Any]


class Dialect:
    """The patterns of a configuration, ready to be held against lines."""

    def __init__(self, events: LogEvents) -> None:
        self._patterns = [(stage, pattern, _compile(pattern)) for stage, pattern in events.patterns]

    def match(self, line: str, top: Mapping[str, object] | None) -> MatchedLine | None:
        for stage, pattern, text in self._patterns:
            if isinstance(pattern, dict):
                values = _match_object(pattern, top) if top is not None else None
            else:
                values = _search(text, line)
            if values is not None and (stage == "other" or isinstance(values.get("tool"), str)):
                return MatchedLine(stage, values)
        return None


@lru_cache(maxsize=64)
def dialect(dialect_json: str) -> Dialect | None:
    """The dialect that a trace carries as JSON; none where it carries nothing, or lost it with a secret."""
    try:
        return Dialect(msgspec.json.decode(dialect_json, type=LogEvents)) if dialect_json else None
    except msgspec.DecodeError:
        return None


def _places(pattern: object) -> Iterator[str]:
    if isinstance(pattern, str):
        yield from _PLACE.findall(pattern)
    elif isinstance(pattern, dict):
        for value in pattern.values():
            yield from _places(value)


def _match_object(pattern: Mapping[str, object], value: object) -> dict[str, object] | None:
    """Return the values at the places, if the object has all that the pattern has."""
    if not isinstance(value, Mapping):
        return None
    values: dict[str, object] = {}
    for key, expected in pattern.items():
        if key not in value:
            return None
        part = _match_value(expected, value[key])
        if part is None:
            return None
        values |= part
    return values


def _match_value(expected: object, value: object) -> dict[str, object] | None:
    if isinstance(expected, dict):
        return _match_object(expected, value)
    if isinstance(expected, str) and (placeholder := _PLACE.fullmatch(expected)):
        return {placeholder[1]: value}
    if isinstance(expected, str) and _PLACE.search(expected):
        return _search(_compile(expected), value, full=True) if isinstance(value, str) else None
    return {} if type(expected) is type(value) and expected == value else None


@lru_cache(maxsize=256)
def _text_pattern(text: str) -> regex.Pattern[str]:
    parts: list[str] = []
    names: set[str] = set()
    pieces = _PLACE.split(text)
    for number, piece in enumerate(pieces):
        if number % 2 == 0:
            parts.append(r"\s+".join(map(regex.escape, re.split(r"\s+", piece))))
            continue
        last = number == len(pieces) - 2 and not pieces[-1]
        inner = r"[\w.:/-]+" if piece == "tool" else ".+" if last else ".+?"
        parts.append(f"(?:{inner})" if piece == "any" or piece in names else f"(?P<{piece}>{inner})")
        names.add(piece)
    return regex.compile("".join(parts), regex.IGNORECASE)


def _compile(pattern: LinePattern) -> regex.Pattern[str] | None:
    return _text_pattern(pattern) if isinstance(pattern, str) else None


def _search(text: regex.Pattern[str] | None, line: str, *, full: bool = False) -> dict[str, object] | None:
    if text is None:
        return None
    search = text.fullmatch if full else text.search
    try:
        match = search(line[:LONGEST], timeout=PATIENCE)
    except TimeoutError:
        return None
    return None if match is None else {name: _value(name, value) for name, value in match.groupdict().items()}


def _value(name: str, text: str) -> object:
    text = text.strip()
    if name == "success":
        return _BOOLEANS.get(text.lower())
    return parse_result(text) if name in ("arguments", "result") else text
