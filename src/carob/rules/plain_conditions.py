"""Conditions as Python functions: what CEL says of plain values, without the price of converting them for the library.

A function decides only where the answer of CEL is beyond doubt; it raises `Undecided` for everything else, and the
library is asked.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, TypeAlias

from carob.matchers.values import MISSING
from carob.rules.cel_tree import CelLoop, CelNode, NodeKind, read_constant
from carob.rules.events import ConversationEvent
from carob.rules.patterns import MEMBERS, Occurrence
from carob.rules.values import Undecided

Scope: TypeAlias = Mapping[str, Any]
"""Events, and the variables of loops, by name."""
Evaluation: TypeAlias = Callable[[Scope], Any]

FLAGS: Final = ("parallel", "beside_words")
_LARGEST: Final = 2**63
_EXACT: Final = 2**53
"""Up to here an integer and a fraction can be compared."""


def compile_plain(node: CelNode, names: Collection[str]) -> Evaluation | None:
    """The function of an expression on these events, or None if it has parts that only the library knows."""
    try:
        return _compile(node, frozenset(names), frozenset())
    except Undecided:
        return None


def _compile(node: CelNode, events: frozenset[str], variables: frozenset[str]) -> Evaluation:
    if node.kind is NodeKind.CONSTANT:
        constant = read_constant(node)
        if constant is MISSING:
            raise Undecided
        return lambda scope: constant
    if node.kind is NodeKind.NAME:
        if node.name not in variables:
            raise Undecided
        name = node.name
        return lambda scope: scope[name]
    if node.kind in (NodeKind.MEMBER, NodeKind.PRESENCE):
        return _compile_member(node, events, variables)
    parts = [_compile(part, events, variables) for part in node.parts] if node.kind is not NodeKind.LOOP else []
    if node.kind is NodeKind.LIST:
        return lambda scope: [part(scope) for part in parts]
    if node.kind is NodeKind.OBJECT:
        return lambda scope: {_text(parts[n](scope)): parts[n + 1](scope) for n in range(0, len(parts), 2)}
    if node.kind is NodeKind.LOOP:
        return _compile_loop(node, events, variables)
    return _compile_call(node.name, parts)


def _compile_member(node: CelNode, events: frozenset[str], variables: frozenset[str]) -> Evaluation:
    name, inner = node.name, node.parts[0]
    if inner.kind is NodeKind.NAME and inner.name in events and inner.name not in variables:
        if node.kind is NodeKind.PRESENCE or name not in MEMBERS:
            raise Undecided
        event = inner.name
        if name in FLAGS:
            return lambda scope: _flag(scope[event].event, name)
        return lambda scope: _part(scope[event], name)
    value = _compile(inner, events, variables)
    if node.kind is NodeKind.PRESENCE:
        return lambda scope: name in _object(value(scope))
    return lambda scope: _member(value(scope), name)


def _compile_loop(node: CelNode, events: frozenset[str], variables: frozenset[str]) -> Evaluation:
    """A macro such as `all`: what is gathered starts with a value, and each element makes a step."""
    loop = CelLoop.of(node)
    inner = variables | {loop.element, loop.gathered}
    elements, start = _compile(loop.elements, events, variables), _compile(loop.start, events, variables)
    goes_on, step = _compile(loop.goes_on, events, inner), _compile(loop.step, events, inner)
    outcome = _compile(loop.outcome, events, variables | {loop.gathered})

    def run(scope: Scope) -> Any:
        values = elements(scope)
        if not isinstance(values, list):
            raise Undecided
        local = {**scope, loop.gathered: start(scope)}
        for element in values:
            local[loop.element] = element
            if not goes_on(local):
                break
            local[loop.gathered] = step(local)
        return outcome(local)

    return run


def _compile_call(name: str, parts: Sequence[Evaluation]) -> Evaluation:
    if name == "_&&_" and len(parts) == 2:
        first, second = parts
        return lambda scope: _truth(first(scope)) and _truth(second(scope))
    if name == "_||_" and len(parts) == 2:
        first, second = parts
        return lambda scope: _truth(first(scope)) or _truth(second(scope))
    if name == "_?_:_":
        test, then, otherwise = parts
        return lambda scope: then(scope) if _truth(test(scope)) else otherwise(scope)
    if len(parts) == 1 and name in _ONE:
        function, [part] = _ONE[name], parts
        return lambda scope: function(part(scope))
    if len(parts) == 2 and name in _TWO:
        compare, [left, right] = _TWO[name], parts
        return lambda scope: compare(left(scope), right(scope))
    raise Undecided


def _part(event: Occurrence, name: str) -> Any:
    value = event.arguments if name == "arguments" else event.part(name)
    if value is MISSING or event.doubt or (value is None and name == "arguments"):
        raise Undecided
    return value


def _flag(event: ConversationEvent, name: str) -> bool:
    return _truth(event.parallel if name == "parallel" else event.beside_words)


def _member(value: Any, name: str) -> Any:
    if value.__class__ is not dict or name not in value:
        raise Undecided
    return value[name]


def _element(value: Any, key: Any) -> Any:
    if value.__class__ is dict and key.__class__ is str and key in value:
        return value[key]
    if value.__class__ is list and key.__class__ is int and 0 <= key < len(value):
        return value[key]
    raise Undecided


def _truth(value: Any) -> bool:
    if value.__class__ is not bool:
        raise Undecided
    return bool(value)


def _text(value: Any) -> str:
    if value.__class__ is not str:
        raise Undecided
    return str(value)


def _object(value: Any) -> dict[str, Any]:
    if value.__class__ is not dict:
        raise Undecided
    return value


def _size(value: Any) -> int:
    if value.__class__ not in (str, list, dict):
        raise Undecided
    return len(value)


def _check_comparable(left: Any, right: Any) -> None:
    """Raise Undecided unless both are texts, or numbers that lose nothing when they are compared."""
    kinds = left.__class__, right.__class__
    if kinds == (str, str):
        return
    if kinds == (int, int):
        if not (-_LARGEST <= left < _LARGEST and -_LARGEST <= right < _LARGEST):
            raise Undecided
    elif not all(
        kind in (int, float) and abs(value) < _EXACT for kind, value in zip(kinds, (left, right), strict=True)
    ):
        raise Undecided


def _equals(left: Any, right: Any) -> bool:
    if left.__class__ is bool and right.__class__ is bool:
        return left is right
    _check_comparable(left, right)
    return bool(left == right)


def _ordering(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def holds(left: Any, right: Any) -> bool:
        _check_comparable(left, right)
        return compare(left, right)

    return holds


def _arithmetic(compute: Callable[[int, int], int]) -> Callable[[Any, Any], Any]:
    def result(left: Any, right: Any) -> Any:
        if left.__class__ is list and right.__class__ is list and compute is operator.add:
            return left + right
        if left.__class__ is not int or right.__class__ is not int:
            raise Undecided
        value = compute(left, right)
        if not all(-_LARGEST <= number < _LARGEST for number in (left, right, value)):
            raise Undecided
        return value

    return result


def _is_in(value: Any, values: Any) -> bool:
    if value.__class__ is not str:
        raise Undecided
    if values.__class__ is dict:
        return value in values
    if values.__class__ is not list or not all(other.__class__ is str for other in values):
        raise Undecided
    return value in values


_ONE: Final[Mapping[str, Callable[[Any], Any]]] = {
    "!_": lambda value: not _truth(value),
    "size": _size,
    "@not_strictly_false": _truth,
}
_TWO: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "_==_": _equals,
    "_!=_": lambda left, right: not _equals(left, right),
    "_<_": _ordering(operator.lt),
    "_<=_": _ordering(operator.le),
    "_>_": _ordering(operator.gt),
    "_>=_": _ordering(operator.ge),
    "_+_": _arithmetic(operator.add),
    "_-_": _arithmetic(operator.sub),
    "_*_": _arithmetic(operator.mul),
    "_[_]": _element,
    "@in": _is_in,
    "startsWith": lambda text, start: _text(text).startswith(_text(start)),
    "endsWith": lambda text, end: _text(text).endswith(_text(end)),
    "contains": lambda text, part: _text(part) in _text(text),
}
