"""Where the values of a JSON text stand, by tree-sitter: asked only when there is something to tell."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from karat.suites.diagnostics import Path, PathDiagnostic, Place

if TYPE_CHECKING:
    from tree_sitter import Node


class JsonPlaces:
    """The places of one text."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._members: dict[Path, dict[str | int, tuple[Node, Node]]] = {}
        # Where its line starts, where it stands and its column, of the last place asked for: places are asked for
        # in the order of the file, and a file may be one long line.
        self._counted = (0, 0, 1)

    @cached_property
    def _root(self) -> Node:
        import tree_sitter_json
        from tree_sitter import Language, Parser

        return Parser(Language(tree_sitter_json.language())).parse(self._data).root_node

    def place(self, path: Path, *, key: bool = False) -> Place:
        """The line and column of the value at a path, or of its key; of the nearest value around it if it is absent."""
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

    @cached_property
    def duplicates(self) -> list[PathDiagnostic]:
        """Keys of the file that stand twice in their object."""
        found: list[PathDiagnostic] = []
        pending: list[tuple[Path, Node]] = [((), node) for node in self._root.named_children]
        while pending:
            path, node = pending.pop()
            seen: set[str | int] = set()
            for step, (key, value) in _members(node):
                here = (*path, step)
                if step in seen:
                    message = "duplicate key. Keep one."
                    found.append(PathDiagnostic(here, message, "duplicate-key", place=self._start(key)))
                seen.add(step)
                if value.type in ("object", "array"):
                    pending.append((here, value))
        return found

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
