"""YAML with places, read by the JSON schema of YAML 1.2: `no`, `on` and `12:30` are strings, as they are in JSON."""

from __future__ import annotations

import copy
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, Final

import yaml
from yaml import Mark, MarkedYAMLError
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from carob.suites.diagnostics import Path, PathDiagnostic, Place, RefusedError, refuse
from carob.suites.documents.source import OUT_OF_RANGE, holds
from carob.text.wording import quoted, visible

_RESERVED = "@`%"
"""Characters that begin no plain text in YAML."""
_BRACE_TEXT = re.compile(r"(?:^|[:-]\s)\s*\{[^{}]*\}\s*[^\s,}\]#]")
_KEY_IN_VALUE = re.compile(r"^\s*(?:- )?[^\s'\"{\[][^:]*:\s+[^'\"{\[].*:(?:\s|$)")
_BEFORE_KEY = re.compile(r" *(?:- +)*")
_NO_SPACE = re.compile(r"^\s*(?:- +)*([\w-]+:)(?!//)[^\s:]")
_ENDS = {"sequence": ("list", "]"), "mapping": ("object", "}")}


def advise(error: MarkedYAMLError, text: str) -> str:
    """How to fix the text at the place of an error; empty where its message says enough."""
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return ""
    lines = text.split("\n")
    line = lines[mark.line] if mark.line < len(lines) else ""
    problem, context = error.problem or "", error.context or ""
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return "Indent with spaces: there is a tab."
    if "cannot start any token" in problem and line[mark.column : mark.column + 1] in tuple(_RESERVED):
        return f"Put a text that begins with {line[mark.column]} in quotes."
    if "escape character" in problem:
        return r"Write it in single quotes, as in '\d+': double quotes read \ themselves."
    if "scanning a quoted scalar" in context:
        return f"Close the quotes that begin in line {_line_of(error.context_mark)}."
    for kind, (noun, end) in _ENDS.items():
        if f"parsing a flow {kind}" in context:
            return f"Close the {noun} that begins in line {_line_of(error.context_mark)} with {end}."
    if "scanning an alias" in context or "scanning an anchor" in context:
        return f"Put a text that begins with {'*' if 'alias' in context else '&'} in quotes."
    if any(map(_BRACE_TEXT.search, lines[max(mark.line - 1, 0) : mark.line + 1])):
        return "Put a text that begins with { in quotes."
    if "mapping values" in problem and _KEY_IN_VALUE.match(line):
        return "Put a text with ': ' in quotes."
    if "mapping values" in problem or "expected ':'" in problem:
        for number in range(mark.line, max(mark.line - 2, -1), -1):
            if joined := _NO_SPACE.match(lines[number]) if number < len(lines) else None:
                return f"Put a space after '{joined[1]}' in line {number + 1}."
    return _advise_indentation(lines, mark.line)


def _line_of(mark: Mark | None) -> int:
    return 1 if mark is None else mark.line + 1


def _advise_indentation(lines: Sequence[str], number: int) -> str:
    """Where a line begins further in or out than the one above it."""
    above = next((line for line in reversed(lines[:number]) if line.strip()), "")
    line = lines[number] if number < len(lines) else ""
    if not above or not line.strip():
        return ""
    own, other = (len(each) - len(_BEFORE_KEY.sub("", each, count=1)) for each in (line, above))
    if own == other:
        return ""
    return f"Line up the keys of one object: this one begins in column {own + 1}, the one above it in {other + 1}."


DEEPEST = 190
MOST_ALIASED = 1_000_000
"""Characters and values that aliases may expand to in one file."""

_WORDS = {"null": None, "": None, "true": True, "false": False}
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LONGEST_INTEGER = 21

# libyaml where the wheel has it: the same events, ten times as fast.
_LOADER = getattr(yaml, "CLoader", yaml.Loader)


_OPEN: Final = object()
"""What an anchor names while its value is being read."""


class YamlDocument:
    """A YAML file: its values, and the place of each."""

    def __init__(self, data: bytes) -> None:
        self._text = data.decode()
        self._lines = _Lines(self._text)
        self._places: dict[Path, tuple[int, int]] | None = None
        builder = _Builder(self._text, self._lines, None)
        self.tree: Any = builder.document()
        self.diagnostics: list[PathDiagnostic] = builder.diagnostics

    def place(self, path: Path, *, key: bool = False) -> Place:
        if self._places is None:
            self._places = {}
            _Builder(self._text, self._lines, self._places).document()
        for length in range(len(path), -1, -1):
            offsets = self._places.get(path[:length])
            if offsets:
                return self._lines.place(offsets[0] if key and length == len(path) else offsets[1])
        return 1, 1


class _Lines:
    """Offsets of characters as lines and columns; lines end with a line feed and nothing else."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(m.end() for m in re.finditer("\n", text))]
        self._length = len(text)

    def place(self, offset: int) -> Place:
        offset = min(offset, self._length)
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


class _Builder:
    """Events to plain values. Keeps the place of every value if given a place to keep them in."""

    def __init__(self, text: str, lines: _Lines, places: dict[Path, tuple[int, int]] | None) -> None:
        self._events = _events(text, lines)
        self._lines = lines
        self._places = places
        self._anchors: dict[str, object] = {}
        self._aliased = 0
        self.diagnostics: list[PathDiagnostic] = []

    def document(self) -> Any:
        first = self._next()
        if isinstance(first, StreamEndEvent):
            raise refuse("the file is empty. `carob init` writes a first suite.", "empty-file")
        value = self._build(self._next(), (), 0)
        while not isinstance(event := self._next(), StreamEndEvent):
            if not isinstance(event, DocumentEndEvent):
                raise self._refuse(event, "a second document starts here. Put one suite in a file.", "not-yaml", ())
        return value

    def _next(self) -> object:
        return next(self._events)

    def _build(self, event: Any, path: Path, depth: int, key: int | None = None) -> object:
        offset = _start(event)
        if self._places is not None:
            self._places[path] = (offset if key is None else key, offset)
        if isinstance(event, AliasEvent):
            return self._alias(event, path, depth)
        if depth > DEEPEST:
            raise self._refuse(event, f"nested too deeply: more than {DEEPEST} levels.", "too-deep", ())
        if event.tag is not None:
            message = f"the tag {quoted(event.tag)} has no meaning here. Write the value without it."
            self._add_diagnostic(event, message, "yaml-tag", path)
        if event.anchor is not None:
            self._anchors[event.anchor] = _OPEN
        built: object
        if isinstance(event, ScalarEvent):
            built = self._scalar(event, path)
        elif isinstance(event, SequenceStartEvent):
            built = self._sequence(path, depth)
        else:
            built = self._mapping(path, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = built
        return built

    def _sequence(self, path: Path, depth: int) -> list[object]:
        items: list[object] = []
        while not isinstance(event := self._next(), SequenceEndEvent):
            items.append(self._build(event, (*path, len(items)), depth + 1))
        return items

    def _mapping(self, path: Path, depth: int) -> dict[str, object]:
        entries: dict[str, object] = {}
        while not isinstance(event := self._next(), MappingEndEvent):
            if not isinstance(event, ScalarEvent):
                message = "a key must be a plain string. Quote it, or write it out."
                raise self._refuse(event, message, "wrong-type", path)
            name = event.value
            here = (*path, name)
            if name in entries:
                self._add_diagnostic(event, "duplicate key. Keep one.", "duplicate-key", here)
            entries[name] = self._build(self._next(), here, depth + 1, _start(event))
        return entries

    def _alias(self, event: Any, path: Path, depth: int) -> object:
        built = self._anchors.get(event.anchor, _OPEN)
        if built is _OPEN:
            inside = event.anchor in self._anchors
            flaw = (
                "is inside the value that it names. Write the value out."
                if inside
                else "names no anchor above it. Put a text that begins with * in quotes."
            )
            raise self._refuse(event, f"the alias {quoted('*' + event.anchor)} {flaw}", "yaml-alias", path)
        size, height = _measure(built)
        self._aliased += size
        if self._aliased > MOST_ALIASED or depth + height > DEEPEST:
            raise self._refuse(
                event, "the aliases of this file expand to too much. Write the values out.", "yaml-alias", path
            )
        return copy.deepcopy(built)

    def _scalar(self, event: Any, path: Path) -> object:
        text: str = event.value
        if not text.isascii() and _SURROGATE.search(text):
            message = "half of a surrogate pair is missing. Write the character itself."
            raise self._refuse(event, message, "lone-surrogate", path)
        return self._read_plain(event, text, path) if event.style is None or event.style == "" else text

    def _read_plain(self, event: object, text: str, path: Path) -> object:
        if text in _WORDS:
            return _WORDS[text]
        if not _FLOAT.fullmatch(text):
            return text
        integer = _INTEGER.fullmatch(text)
        number = float(text) if not integer or len(text) > _LONGEST_INTEGER else int(text)
        if not holds(number) or (integer and isinstance(number, float)):
            self._add_diagnostic(event, OUT_OF_RANGE, "out-of-range", path)
            return 1
        return number

    def _add_diagnostic(self, event: object, message: str, slug: str, path: Path) -> None:
        place = self._lines.place(_start(event))
        self.diagnostics.append(PathDiagnostic(path, message, slug, place=place))

    def _refuse(self, event: object, message: str, slug: str, path: Path) -> RefusedError:
        return refuse(message, slug, self._lines.place(_start(event)), path)


def _measure(value: object) -> tuple[int, int]:
    """How much text and how many values a value holds, and how deep it goes."""
    if not isinstance(value, dict | list):
        return 1 + len(str(value)), 0
    parts = [_measure(part) for part in (value.values() if isinstance(value, dict) else value)]
    return 1 + sum(size for size, _ in parts), 1 + max((height for _, height in parts), default=0)


def _events(text: str, lines: _Lines) -> Iterator[object]:
    """The events of a file from its first document on, with YAML's own errors in our words."""
    try:
        events = yaml.parse(text, Loader=_LOADER)
        next(events)
        yield from events
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = lines.place(mark.index) if mark else (1, 1)
        message = f"not YAML: {visible(error.problem or error.context or 'unreadable')}. {advise(error, text)}"
        raise refuse(message.rstrip(), "not-yaml", place) from None
    except yaml.reader.ReaderError as error:
        message = f"not YAML: the character U+{_code(error.character):04X} is not allowed in it."
        raise refuse(message, "not-yaml", lines.place(error.position)) from None


def _start(event: Any) -> int:
    offset: int = event.start_mark.index
    return offset


def _code(character: Any) -> int:
    return character if isinstance(character, int) else ord(character)
