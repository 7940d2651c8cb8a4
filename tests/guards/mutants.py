"""Small changes of a function, found in its syntax tree: each takes away one decision, or one step."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Mutant(NamedTuple):
    """A file with one change: `line` and `change` say which."""

    line: int
    change: str
    source: str


def find_functions(tree: ast.AST, above: str = "") -> Iterator[tuple[str, Function]]:
    """The functions of a module by their qualified names."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{above}.{node.name}" if above else node.name
            if not isinstance(node, ast.ClassDef):
                yield name, node
            yield from find_functions(node, name)
        else:
            yield from find_functions(node, above)


def find_function(path: Path, name: str) -> Function | None:
    return next((node for found, node in find_functions(ast.parse(path.read_text("utf-8"))) if found == name), None)


def mutants(source: str, name: str) -> Iterator[Mutant]:
    """Every change of one function: a condition that is never or always true, an operand or a step that is left out."""
    function = next(node for found, node in find_functions(ast.parse(source)) if found == name)
    for index, node in enumerate(ast.walk(function)):
        for change, edit in _edits(node):
            tree = ast.parse(source)
            changed = next(node for found, node in find_functions(tree) if found == name)
            edit(list(ast.walk(changed))[index])
            yield Mutant(getattr(node, "lineno", 0), change, ast.unparse(ast.fix_missing_locations(tree)))


Edit = Callable[[ast.AST], None]


def _edits(node: ast.AST) -> Iterator[tuple[str, Edit]]:
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        yield "never", _set_test(False)
        if not isinstance(node, ast.While):
            yield "always", _set_test(True)
    if isinstance(node, ast.comprehension) and node.ifs:
        yield "no filter", _drop_filters
    if isinstance(node, ast.BoolOp):
        for number in range(len(node.values)):
            yield f"without operand {number + 1}", _drop_operand(number)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await):
        yield "step left out", _drop_step


def _set_test(value: bool) -> Edit:
    def edit(node: ast.AST) -> None:
        assert isinstance(node, ast.If | ast.While | ast.IfExp)
        node.test = ast.Constant(value)

    return edit


def _drop_filters(node: ast.AST) -> None:
    assert isinstance(node, ast.comprehension)
    node.ifs = []


def _drop_operand(number: int) -> Edit:
    def edit(node: ast.AST) -> None:
        assert isinstance(node, ast.BoolOp)
        node.values = [copy.copy(value) for place, value in enumerate(node.values) if place != number]
        if len(node.values) == 1:  # an operation needs two
            node.values *= 2

    return edit


def _drop_step(node: ast.AST) -> None:
    assert isinstance(node, ast.Expr)
    node.value = ast.Constant(None)
