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

from karat.evidence.logs.spellings import Stage
from karat.text.tool_results import parse_result
from karat.text.wording import did_you_mean

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
            given = getattr(self, stage)
            yield from ((stage, pattern) for pattern in (given if isinstance(given, list) else [given]) if pattern)

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
    found: Mapping[str, Any]


class Dialect:
    """The patterns of a configuration, ready to be held against lines."""

    def __init__(self, events: LogEvents) -> None:
        self._patterns = [(stage, pattern, _compile(pattern)) for stage, pattern in events.patterns]

    def match(self, line: str, top: Mapping[str, object] | None) -> MatchedLine | None:
        for stage, pattern, text in self._patterns:
            if isinstance(pattern, dict):
                found = _match_object(pattern, top) if top is not None else None
            else:
                found = _search(text, line)
            if found is not None and (stage == "other" or isinstance(found.get("tool"), str)):
                return MatchedLine(stage, found)
        return None


@lru_cache(maxsize=64)
def dialect(written: str) -> Dialect | None:
    """The dialect that a trace carries as JSON; none where it carries nothing, or lost it with a secret."""
    try:
        return Dialect(msgspec.json.decode(written, type=LogEvents)) if written else None
    except msgspec.DecodeError:
        return None


def _places(pattern: object) -> Iterator[str]:
    if isinstance(pattern, str):
        yield from _PLACE.findall(pattern)
    elif isinstance(pattern, dict):
        for value in pattern.values():
            yield from _places(value)


def _match_object(pattern: Mapping[str, object], given: object) -> dict[str, object] | None:
    """Return the values at the places, if the object has all that the pattern has."""
    if not isinstance(given, Mapping):
        return None
    found: dict[str, object] = {}
    for key, wanted in pattern.items():
        if key not in given:
            return None
        part = _match_value(wanted, given[key])
        if part is None:
            return None
        found |= part
    return found


def _match_value(wanted: object, given: object) -> dict[str, object] | None:
    if isinstance(wanted, dict):
        return _match_object(wanted, given)
    if isinstance(wanted, str) and (place := _PLACE.fullmatch(wanted)):
        return {place[1]: given}
    if isinstance(wanted, str) and _PLACE.search(wanted):
        return _search(_compile(wanted), given, whole=True) if isinstance(given, str) else None
    return {} if type(wanted) is type(given) and wanted == given else None


@lru_cache(maxsize=256)
def _text_pattern(text: str) -> regex.Pattern[str]:
    parts: list[str] = []
    named: set[str] = set()
    pieces = _PLACE.split(text)
    for number, piece in enumerate(pieces):
        if number % 2 == 0:
            parts.append(r"\s+".join(map(regex.escape, re.split(r"\s+", piece))))
            continue
        last = number == len(pieces) - 2 and not pieces[-1]
        inner = r"[\w.:/-]+" if piece == "tool" else ".+" if last else ".+?"
        parts.append(f"(?:{inner})" if piece == "any" or piece in named else f"(?P<{piece}>{inner})")
        named.add(piece)
    return regex.compile("".join(parts), regex.IGNORECASE)


def _compile(pattern: LinePattern) -> regex.Pattern[str] | None:
    return _text_pattern(pattern) if isinstance(pattern, str) else None


def _search(text: regex.Pattern[str] | None, line: str, *, whole: bool = False) -> dict[str, object] | None:
    if text is None:
        return None
    search = text.fullmatch if whole else text.search
    try:
        found = search(line[:LONGEST], timeout=PATIENCE)
    except TimeoutError:
        return None
    return None if found is None else {name: _value(name, said) for name, said in found.groupdict().items()}


def _value(name: str, said: str) -> object:
    said = said.strip()
    if name == "success":
        return _BOOLEANS.get(said.lower())
    return parse_result(said) if name in ("arguments", "result") else said
