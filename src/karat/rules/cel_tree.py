"""The tree of a compiled CEL expression, read from its serialized form: what it reads, and whether it can be false.

The library checks an expression and does not show what is in it. The serialized form is a `cel.expr.CheckedExpr`, of
which a few fields are enough: https://github.com/google/cel-spec/blob/master/proto/cel/expr/syntax.proto
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from karat.rules.values import Steps

_TREE: Final = 4
_CONSTANT, _NAME, _MEMBER, _CALL, _LIST, _OBJECT, _LOOP = 3, 4, 5, 6, 7, 8, 9
_ALWAYS_EQUAL: Final = frozenset(("_==_", "_<=_", "_>=_"))


class CelNode(NamedTuple):
    """One part of an expression. `text`: a name, the member that is read, the function that is called, a constant."""

    kind: int
    text: bytes = b""
    parts: tuple[CelNode, ...] = ()

    @property
    def name(self) -> str:
        return self.text.decode()


def read_tree(serialized: bytes) -> CelNode:
    """The tree of an expression as the library serializes it: an `Any` around a `CheckedExpr`."""
    checked = _first(serialized, 2)
    return _read_node(_first(checked, _TREE))


def find_paths(node: CelNode, names: Collection[str]) -> Iterator[tuple[str, Steps]]:
    """The values of events that an expression reads, as deep as it says; a loop may hide a part of one."""
    steps: list[str] = []
    inner = node
    while inner.kind == _MEMBER:
        steps.append(inner.name)
        inner = inner.parts[0]
    if inner.kind == _NAME and inner.name in names:
        yield inner.name, tuple(reversed(steps))
        return
    for part in inner.parts:
        yield from find_paths(part, names)


def always_holds(node: CelNode) -> bool:
    """Whether an expression is true whatever happens, as far as its form shows it: `true`, `x == x`, `a || !a`."""
    if node.kind == _CONSTANT:
        return node.text == b"true"
    if node.kind != _CALL:
        return False
    parts = node.parts
    if node.name in _ALWAYS_EQUAL:
        return parts[0] == parts[1]
    if node.name == "_||_":
        return any(map(always_holds, parts)) or any(_is_denial(part, parts) for part in parts)
    if node.name == "_&&_":
        return all(map(always_holds, parts))
    return node.name == "_?_:_" and all(map(always_holds, parts[1:]))


def _is_denial(node: CelNode, others: tuple[CelNode, ...]) -> bool:
    return node.kind == _CALL and node.name == "!_" and node.parts[0] in others


def _read_node(data: bytes) -> CelNode:
    for field, value in _fields(data):
        if field == _CONSTANT:
            return CelNode(_CONSTANT, _read_constant(value))
        if field == _NAME:
            return CelNode(_NAME, _first(value, 1))
        if field == _MEMBER:
            return CelNode(_MEMBER, _first(value, 2), (_read_node(_first(value, 1)),))
        if field == _CALL:
            parts = tuple(_read_node(part) for number, part in _fields(value) if number in (1, 3))
            return CelNode(_CALL, _first(value, 2), parts)
        if field == _LIST:
            return CelNode(_LIST, parts=tuple(_read_node(part) for number, part in _fields(value) if number == 1))
        if field == _OBJECT:
            entries = [entry for number, entry in _fields(value) if number == 2]
            values = [part for entry in entries for number, part in _fields(entry) if number in (3, 4)]
            return CelNode(_OBJECT, parts=tuple(map(_read_node, values)))
        if field == _LOOP:
            names = b" ".join(name for number, name in _fields(value) if number in (1, 3))
            values = [part for number, part in _fields(value) if number in (2, 4, 5, 6, 7)]
            return CelNode(_LOOP, names, tuple(map(_read_node, values)))
    return CelNode(0)


def _read_constant(data: bytes) -> bytes:
    """A constant as bytes that differ from those of any other; a truth value by its name."""
    for field, value in _fields(data):
        if field == 2:
            return b"true" if value == b"\x01" else b"false"
    return data


def _first(data: bytes, field: int) -> bytes:
    return next((value for number, value in _fields(data) if number == field), b"")


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a message in the wire format of protocol buffers."""
    at = 0
    while at < len(data):
        tag, at = _read_number(data, at)
        kind = tag & 7
        start = at
        if kind == 0:
            _, at = _read_number(data, at)
        elif kind == 1:
            at += 8
        elif kind == 2:
            size, start = _read_number(data, at)
            at = start + size
        elif kind == 5:
            at += 4
        else:
            raise ValueError(f"unknown wire type {kind}")
        yield tag >> 3, data[start:at]


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return number, at
        shift += 7
