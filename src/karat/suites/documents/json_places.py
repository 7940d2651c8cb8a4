"""Lines and columns of the keys and values of a JSON text, found only when a diagnostic needs them."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from karat.suites.diagnostics import Path, PathDiagnostic, Place

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
