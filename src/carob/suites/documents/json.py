"""JSON, of which no more is in memory than its text and the case that is looked at."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, overload

import jiter
import msgspec
from msgspec import Raw

from carob.suites.diagnostics import Json, Path, PathDiagnostic, Place, RefusedError, Tree, refuse
from carob.suites.documents.source import OUT_OF_RANGE, byte_place, fit_numbers, may_misfit, utf8

_WORDS = {b"True": "true", b"False": "false", b"None": "null"}
_WORD = re.compile(rb"True|False|None")
_BY_CHARACTER = {
    "'": "Put texts in double quotes.",
    "“": "Put texts in straight double quotes.",
    "/": "JSON has no comments: remove it.",
    "#": "JSON has no comments: remove it.",
}
_BY_REASON = (
    ("trailing comma", "Remove the comma before it."),
    ("trailing characters", "A suite is one JSON value. A journal has one on each line: carob rescore JOURNAL."),
    ("EOF while", "The file ends too early: close what is open."),
    ("control character", r"Write a line break in a text as \n."),
    ("invalid escape", r"Write \\ for \ in a text."),
    ("expected `,`", "Put a comma before it."),
    ("key must be a string", "Put keys in double quotes."),
)
NOT_A_SUITE = "A suite is JSON, or YAML in a .yaml file."


def advise(why: str, data: bytes, offset: int) -> str:
    """How to fix the text at the place of an error; empty where its message says enough."""
    if why == "expected value" and not data[:offset].strip():
        return NOT_A_SUITE
    if word := _WORD.match(data, offset):
        return f"Write {_WORDS[word[0]]}."
    character = data[offset : offset + 4].decode(errors="replace")[:1]
    return _BY_CHARACTER.get(character) or next((fix for reason, fix in _BY_REASON if why.startswith(reason)), "")


_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)'
_BRACKET = re.compile(rb'[^"\[\]{}]*+(?:' + _STRING + rb'[^"\[\]{}]*+)*+([\[\]{}])', re.DOTALL)
"""What is between two brackets, and the second one: those within strings are not brackets."""
_KEY = re.compile(rb"[\s,]*+(" + _STRING + rb")\s*+:", re.DOTALL)
_VALUE = re.compile(rb"[\s,]*+(?=[^\s,\]}])")
_SCALAR = re.compile(_STRING + rb"|[^\s,\[\]{}]++", re.DOTALL)


class _Member(NamedTuple):
    """An entry of an object or array, as offsets; the key of an array's entry is the entry itself."""

    step: str | int
    key: int
    start: int
    stop: int


class JsonPlaces:
    """The places of one text. A text that is not JSON has places up to its first error."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._known: dict[int, dict[str | int, _Member]] = {}
        # Where its line starts, its offset and its column, of the last place: places are asked for in the order of
        # the file, and a file may be one long line.
        self._counted = (0, 0, 1)

    @cached_property
    def _root(self) -> int:
        first = _VALUE.match(self._data)
        return first.end() if first else 0

    @cached_property
    def _stops(self) -> dict[int, int]:
        """Where each object and array ends, by where it starts: nothing has to be read twice to be skipped."""
        stops: dict[int, int] = {}
        opened: list[int] = []
        stop = 0
        while bracket := _BRACKET.match(self._data, stop):  # a search would read what follows the last bracket again
            stop = bracket.end()
            if bracket[1] in b"{[":
                opened.append(stop - 1)
            elif opened:
                stops[opened.pop()] = stop
        return stops

    @cached_property
    def _lines(self) -> list[int]:
        return [0, *(newline.end() for newline in re.finditer(b"\n", self._data))]

    def place(self, path: Path, *, key: bool = False) -> Place:
        """Return line and column of the value at a path, or of its key; of the nearest value around it if absent."""
        at = self._root
        for depth, step in enumerate(path):
            if at not in self._known:
                self._known[at] = {member.step: member for member in self._members(at)}
            entry = self._known[at].get(step)
            if entry is None:
                break
            at = entry.key if key and depth == len(path) - 1 else entry.start
        return self._place(at)

    def _place(self, offset: int) -> Place:
        line = bisect_right(self._lines, offset)
        start = self._lines[line - 1]
        known_start, known_offset, column = self._counted
        if known_start != start or known_offset > offset:
            known_offset, column = start, 1
        column += len(self._data[known_offset:offset].decode())
        self._counted = start, offset, column
        return line, column

    @cached_property
    def duplicates(self) -> list[PathDiagnostic]:
        """Keys that are twice in their object, in the order of the file."""
        repeated: list[tuple[int, Path]] = []
        pending: list[tuple[Path, int]] = [((), self._root)]
        while pending:
            path, at = pending.pop()
            steps: set[str | int] = set()
            for step, key, start, _ in self._members(at):
                if step in steps:
                    repeated.append((key, (*path, step)))
                steps.add(step)
                if start in self._stops:
                    pending.append(((*path, step), start))
        message = "duplicate key. Keep one."
        return [
            PathDiagnostic(path, message, "duplicate-key", place=self._place(key)) for key, path in sorted(repeated)
        ]

    def path_at(self, offset: int) -> Path:
        """Return the path of the value that holds a byte, or whose key does."""
        path: list[str | int] = []
        inner: _Member | None = _Member(0, self._root, self._root, len(self._data))
        while inner is not None and inner.start <= offset:
            inner = next((member for member in self._members(inner.start) if offset < member.stop), None)
            if inner is None or offset < inner.key:
                break
            path.append(inner.step)
        return tuple(path)

    def _members(self, at: int) -> Iterator[_Member]:
        """Scan the entries of the object or array at an offset; a scalar has none."""
        data, kind, index = self._data, self._data[at : at + 1], 0
        if kind not in (b"{", b"["):
            return
        at += 1
        while True:
            key = _KEY.match(data, at) if kind == b"{" else None
            value = _VALUE.match(data, key.end() if key else at)
            if value is None or (key is None and kind == b"{"):
                return
            start = value.end()
            at = self._stop(start)
            yield _Member(_decode(key[1]), key.start(1), start, at) if key else _Member(index, start, start, at)
            index += 1

    def _stop(self, start: int) -> int:
        if self._data[start] in b"{[":
            return self._stops.get(start, len(self._data))
        scalar = _SCALAR.match(self._data, start)
        return scalar.end() if scalar else len(self._data)


def _decode(key: bytes) -> str:
    if b"\\" not in key:
        return key[1:-1].decode()
    try:
        text: str = json.loads(key, strict=False)
    except ValueError:  # a text that is not JSON has keys that are none, and still places
        return key[1:-1].decode()
    return text


_AT = re.compile(r" at line (\d+) column (\d+)$")
_ESCAPE = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
_NOT_A_NUMBER = re.compile(rb"-?(?:NaN|Infinity)")


class _Key(str):
    __slots__ = ()


class JsonDocument:
    """A JSON file: its values, and the place of each."""

    def __init__(self, data: bytes) -> None:
        self._places = JsonPlaces(data)
        self.diagnostics: list[PathDiagnostic] = []
        self.tree = _outline(data, _Parser(data, self._places, self.diagnostics))

    def place(self, path: Path, *, key: bool = False) -> Place:
        return self._places.place(path, key=key)


class _Parser:
    """Parses parts of one file. What is odd about them is among the diagnostics then."""

    def __init__(self, data: bytes, places: JsonPlaces, diagnostics: list[PathDiagnostic]) -> None:
        self._data = data
        self._places = places
        self._diagnostics = diagnostics

    def value(self, text: bytes, path: Path) -> Json:
        try:
            value: Json = jiter.from_json(text, allow_inf_nan=False, catch_duplicate_keys=True)
        except ValueError:
            value = self._parse_odd(text)
        return fit_numbers(value, path, self._diagnostics) if may_misfit(text) else value

    def _parse_odd(self, text: bytes) -> Json:
        try:
            value: Json = jiter.from_json(text, allow_inf_nan=False)
        except ValueError:
            raise self._syntax() from None
        self._diagnostics += self._places.duplicates
        return value

    def _syntax(self) -> RefusedError:
        """Why the file is not JSON, in our words, at the place the parser names."""
        try:
            jiter.from_json(self._data, allow_inf_nan=False)
        except ValueError as error:
            return _refusal(self._data, str(error), self._places.path_at)
        return refuse("not JSON.", "not-json")


class _Pieces(Sequence[Json]):
    """The entries of a list, each parsed anew when it is asked for."""

    def __init__(self, texts: Sequence[Raw], parser: _Parser, path: Path) -> None:
        self._texts = texts
        self._parser = parser
        self._path = path

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, index: int) -> Json: ...
    @overload
    def __getitem__(self, index: slice) -> list[Json]: ...
    def __getitem__(self, index: int | slice) -> Json:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return self._parser.value(bytes(self._texts[index]), (*self._path, index))


def _outline(data: bytes, parser: _Parser) -> Tree:
    """The values of a file, those of a list of cases in pieces."""
    keys: list[str] = []

    def key(kind: type[_Key], name: str) -> _Key:
        keys.append(name)
        return kind(name)

    try:
        outline = msgspec.json.decode(data, type=dict[_Key, Raw] | list[Raw], dec_hook=key)
    except (msgspec.MsgspecError, RecursionError):
        return parser.value(data, ())
    if isinstance(outline, list):
        return _Pieces(outline, parser, ())
    if len(outline) < len(keys):
        return parser.value(data, ())
    return {str(name): _member(name, raw, parser) for name, raw in outline.items()}


def _member(name: str, raw: Raw, parser: _Parser) -> Json | Sequence[Json]:
    if name == "cases" and bytes(memoryview(raw)[:1]) == b"[":
        return _Pieces(msgspec.json.decode(raw, type=list[Raw]), parser, (name,))
    return parser.value(bytes(raw), (name,))


def _refusal(data: bytes, message: str, path_at: Callable[[int], Path]) -> RefusedError:
    at = _AT.search(message)
    place, offset = _offset(data, int(at[1]), int(at[2])) if at else ((1, 1), 0)
    why = _AT.sub("", message)
    if "surrogate" in why or "hex escape" in why:
        halves = "half of a surrogate pair is missing. Write the character itself, or both halves."
        lone = [
            PathDiagnostic(path_at(offset), halves, "lone-surrogate", place=byte_place(data, offset))
            for offset in _lone_surrogates(data)
        ]
        if lone:
            return RefusedError(*lone)
    if "recursion limit" in why:
        return refuse("nested too deeply: more than 200 levels.", "too-deep", place)
    if "number out of range" in why:
        return refuse(OUT_OF_RANGE, "out-of-range", place)
    word = _NOT_A_NUMBER.match(data, offset)
    if word:
        return refuse(f"{word[0].decode()} is not JSON. Write a number, or leave the key out.", "not-json", place)
    return refuse(f"not JSON: {why}. {advise(why, data, offset)}".rstrip(), "not-json", place)


def _offset(data: bytes, line: int, column: int) -> tuple[Place, int]:
    start = 0
    for _ in range(line - 1):
        start = data.find(b"\n", start) + 1
    offset = min(start + max(column - 1, 0), len(data))
    return byte_place(data, offset), offset


def _lone_surrogates(data: bytes) -> Iterator[int]:
    high: re.Match[bytes] | None = None
    for escape in _ESCAPE.finditer(data):
        code = int(escape[1], 16) if escape[1] else 0
        paired = high is not None and high.end() == escape.start() and 0xDC00 <= code < 0xE000
        if high is not None and not paired:
            yield high.start()
        if 0xDC00 <= code < 0xE000 and not paired:
            yield escape.start()
        high = escape if 0xD800 <= code < 0xDC00 else None
    if high is not None:
        yield high.start()


class JsonLinesDocument:
    """A list of the values of all lines; the first step of a path is the number of a value among them."""

    def __init__(self, data: bytes) -> None:
        self.rows: list[Json] = []
        self.tree: Tree = self.rows
        self.diagnostics: list[PathDiagnostic] = []
        self._lines: list[tuple[int, bytes]] = []
        for number, line in enumerate(utf8(data).splitlines(), 1):
            if not line.strip():
                continue
            self._lines.append((number, line))
            try:
                value = jiter.from_json(line, allow_inf_nan=False, catch_duplicate_keys=True)
            except ValueError as error:
                why = str(error).partition(" at line")[0]
                self.diagnostics.append(
                    PathDiagnostic((), f"the line is not JSON: {why}.", "syntax", place=(number, 1))
                )
                value = None
            self.rows.append(value)

    def place(self, path: Path, *, key: bool = False) -> Place:
        if not path or not isinstance(path[0], int) or path[0] >= len(self._lines):
            return 1, 1
        number, line = self._lines[path[0]]
        return number, JsonPlaces(line).place(path[1:], key=key)[1]
