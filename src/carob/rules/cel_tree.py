"""The tree of a compiled CEL expression, read from its serialized form: what it reads, and whether it can be false.

The library checks an expression and does not show what is in it. The serialized form is a `cel.expr.CheckedExpr`, of
which a few fields are enough: https://github.com/google/cel-spec/blob/master/proto/cel/expr/syntax.proto
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from enum import IntEnum
from typing import Any, Final, NamedTuple

from carob.matchers.values import MISSING
from carob.rules.values import Steps

_TREE: Final = 4
_ALWAYS_EQUAL: Final = frozenset(("_==_", "_<=_", "_>=_"))


class NodeKind(IntEnum):
    """What a part of an expression is: the fields of `cel.expr.Expr`. `PRESENCE` is the macro `has`."""

    NOTHING = 0
    CONSTANT = 3
    NAME = 4
    MEMBER = 5
    CALL = 6
    LIST = 7
    OBJECT = 8
    LOOP = 9
    PRESENCE = -5


class CelNode(NamedTuple):
    """One part of an expression. `text`: a name, the member that is read, the function that is called, a constant."""

    kind: NodeKind
    text: bytes = b""
    parts: tuple[CelNode, ...] = ()

    @property
    def name(self) -> str:
        return self.text.decode()


class CelLoop(NamedTuple):
    """A macro over the elements of a list: what is gathered begins with `start`, and each element makes a `step`."""

    element: str
    gathered: str
    elements: CelNode
    start: CelNode
    goes_on: CelNode
    step: CelNode
    outcome: CelNode

    @classmethod
    def of(cls, node: CelNode) -> CelLoop:
        """The macro of a node."""
        element, gathered = node.name.split(" ")
        return cls(element, gathered, *node.parts)


def read_tree(serialized: bytes) -> CelNode:
    """The tree of an expression as the library serializes it: an `Any` around a `CheckedExpr`."""
    checked = _first(serialized, 2)
    return _read_node(_first(checked, _TREE))


def find_paths(node: CelNode, names: Collection[str]) -> Iterator[tuple[str, Steps]]:
    """The values of events that an expression reads, as deep as it says; a loop may hide a part of one."""
    steps: list[str] = []
    inner = node
    while inner.kind in (NodeKind.MEMBER, NodeKind.PRESENCE):
        steps.append(inner.name)
        inner = inner.parts[0]
    if inner.kind == NodeKind.NAME and inner.name in names:
        yield inner.name, tuple(reversed(steps))
        return
    for part in inner.parts:
        yield from find_paths(part, names)


def always_holds(node: CelNode) -> bool:
    """Whether an expression is true whatever happens, as far as its form shows it: `true`, `x == x`, `a || !a`."""
    if node.kind == NodeKind.CONSTANT:
        return node.text == b"true"
    if node.kind != NodeKind.CALL:
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
    return node.kind == NodeKind.CALL and node.name == "!_" and node.parts[0] in others


def _read_node(data: bytes) -> CelNode:
    for field, value in _fields(data):
        if field == NodeKind.CONSTANT:
            return CelNode(NodeKind.CONSTANT, _read_constant(value))
        if field == NodeKind.NAME:
            return CelNode(NodeKind.NAME, _first(value, 1))
        if field == NodeKind.MEMBER:
            kind = NodeKind.PRESENCE if _first(value, 3) == b"\x01" else NodeKind.MEMBER
            return CelNode(kind, _first(value, 2), (_read_node(_first(value, 1)),))
        if field == NodeKind.CALL:
            parts = tuple(_read_node(part) for number, part in _fields(value) if number in (1, 3))
            return CelNode(NodeKind.CALL, _first(value, 2), parts)
        if field == NodeKind.LIST:
            return CelNode(
                NodeKind.LIST, parts=tuple(_read_node(part) for number, part in _fields(value) if number == 1)
            )
        if field == NodeKind.OBJECT:
            entries = [entry for number, entry in _fields(value) if number == 2]
            values = [part for entry in entries for number, part in _fields(entry) if number in (3, 4)]
            return CelNode(NodeKind.OBJECT, parts=tuple(map(_read_node, values)))
        if field == NodeKind.LOOP:
            names = b" ".join(name for number, name in _fields(value) if number in (1, 3))
            values = [part for number, part in _fields(value) if number in (2, 4, 5, 6, 7)]
            return CelNode(NodeKind.LOOP, names, tuple(map(_read_node, values)))
    return CelNode(NodeKind.NOTHING)


def read_constant(node: CelNode) -> Any:
    """The value of a constant; MISSING for one that Python has no value for."""
    if node.text in (b"true", b"false"):
        return node.text == b"true"
    field, value = next(_fields(node.text), (0, b""))
    if field == 3:
        number, _ = _read_number(value, 0)
        return number - (1 << 64) if number >= 1 << 63 else number
    if field == 5:
        return struct.unpack("<d", value)[0]
    return value.decode() if field == 6 else MISSING


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
