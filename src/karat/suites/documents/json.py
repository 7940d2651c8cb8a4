"""JSON with places. A good file is only parsed; tree-sitter says where things stand when there is something to say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jiter

from karat.suites.documents.numbers import OUT_OF_RANGE, holds, may_misfit
from karat.suites.documents.one_case_at_a_time import in_pieces
from karat.suites.documents.source import byte_place
from karat.suites.findings import Finding, Path, Place, RefusedError, refuse

if TYPE_CHECKING:
    from tree_sitter import Node

SMALL = 1 << 16
"""Bytes up to which a file is read at once: there is nothing to save."""

_AT = re.compile(r" at line (\d+) column (\d+)$")
_ESCAPE = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
_NOT_A_NUMBER = re.compile(rb"-?(?:NaN|Infinity)")


class JsonDocument:
    """A JSON file: its values, and where each of them stands."""

    def __init__(self, data: bytes, *, whole: bool = False) -> None:
        self._data = data
        self._members: dict[Path, dict[str | int, tuple[Node, Node]]] = {}
        # Where its line starts, where it stands and its column, of the last place asked for: places are asked for
        # in the order of the file, and a file may be one long line.
        self._counted = (0, 0, 1)
        self.findings: list[Finding] = []
        self.tree: Any = self._whole() if whole or len(data) <= SMALL else in_pieces(data)

    def _whole(self) -> Any:
        tree = self._parse()
        if may_misfit(self._data):
            self.findings += [Finding(path, OUT_OF_RANGE, "out-of-range") for path in _misfits(tree, ())]
        return tree

    def _parse(self) -> Any:
        try:
            return jiter.from_json(self._data, allow_inf_nan=False, catch_duplicate_keys=True)
        except ValueError as error:
            if not str(error).startswith("Detected duplicate key"):
                raise _syntax(self._data, str(error), self) from None
        try:
            tree = jiter.from_json(self._data, allow_inf_nan=False)
        except ValueError as error:
            raise _syntax(self._data, str(error), self) from None
        self.findings += self._duplicates()
        return tree

    @cached_property
    def _root(self) -> Node:
        import tree_sitter_json
        from tree_sitter import Language, Parser

        return Parser(Language(tree_sitter_json.language())).parse(self._data).root_node

    def place(self, path: Path, *, key: bool = False) -> Place:
        node = next((n for n in self._root.named_children), self._root)
        for depth, step in enumerate(path):
            found = self._below(path[:depth], node).get(step)
            if found is None:
                break
            node = found[0] if key and depth == len(path) - 1 else found[1]
        return self._start(node)

    def _below(self, path: Path, node: Node) -> dict[str | int, tuple[Node, Node]]:
        if path not in self._members:
            self._members[path] = dict(_members(node))
        return self._members[path]

    def _start(self, node: Node) -> Place:
        row, width = node.start_point
        start, stop = node.start_byte - width, node.start_byte
        known_start, known_stop, column = self._counted
        if known_start != start or known_stop > stop:
            known_stop, column = start, 1
        column += len(self._data[known_stop:stop].decode())
        self._counted = start, stop, column
        return row + 1, column

    def _duplicates(self) -> Iterator[Finding]:
        pending: list[tuple[Path, Node]] = [((), node) for node in self._root.named_children]
        while pending:
            path, node = pending.pop()
            seen: set[str | int] = set()
            for step, (key, value) in _members(node):
                here = (*path, step)
                if step in seen:
                    message = "the same key stands twice in this object. Keep one."
                    yield Finding(here, message, "duplicate-key", place=self._start(key))
                seen.add(step)
                if value.type in ("object", "array"):
                    pending.append((here, value))

    def path_at(self, offset: int) -> Path:
        """The path of the value that holds a byte."""
        path: Path = ()
        node: Node | None = self._root.descendant_for_byte_range(offset, offset + 1)
        while node is not None and node.parent is not None:
            if node.parent.type == "array":
                path = (node.parent.named_children.index(node), *path)
            elif node.type == "pair":
                path = (next(_members(node.parent, node))[0], *path)
            node = node.parent
        return path


def _members(node: Node, only: Node | None = None) -> Iterator[tuple[str | int, tuple[Node, Node]]]:
    """What an object or array holds: the step to it, the node of its key, and of its value."""
    if node.type == "array":
        for index, child in enumerate(node.named_children):
            yield index, (child, child)
    elif node.type == "object":
        for pair in [only] if only is not None else node.named_children:
            key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
            if key is not None and value is not None and key.text:
                yield _decoded(key.text), (key, value)


def _decoded(key: bytes) -> str:
    text = json.loads(key, strict=False)
    return text if isinstance(text, str) else key.decode()


def _misfits(value: Any, path: Path) -> Iterator[Path]:
    """Paths of numbers that no journal could hold. Each is made 1, so that the rest of the file can be judged."""
    if not isinstance(value, dict | list):
        return
    for step, below in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(below, int | float) and not holds(below):
            value[step] = 1
            yield (*path, step)
        else:
            yield from _misfits(below, (*path, step))


def _syntax(data: bytes, message: str, document: JsonDocument) -> RefusedError:
    """Why this is not JSON, in our words, at the place the parser named."""
    at = _AT.search(message)
    place, offset = _offset(data, int(at[1]), int(at[2])) if at else ((1, 1), 0)
    why = _AT.sub("", message)
    if "surrogate" in why or "hex escape" in why:
        lone = [
            Finding(
                document.path_at(offset),
                "half of a surrogate pair stands alone. Write the character itself, or both halves.",
                "lone-surrogate",
                place=byte_place(data, offset),
            )
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
    return refuse(f"not JSON: {why}.", "not-json", place)


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
