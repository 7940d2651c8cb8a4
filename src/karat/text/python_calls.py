"""Tool calls that are written as Python, such as `[move(file='a.txt', to='temp')]`: parsed, never run."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

LONGEST = 100_000
_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)


class PythonCall(NamedTuple):
    """A call: the name of its function, its arguments by name, and those that have none."""

    name: str
    arguments: dict[str, Any]
    positional: tuple[Any, ...] = ()


def parse_calls(text: str) -> list[PythonCall]:
    """The calls of a text, in a list or alone. Raises ValueError if it is anything else."""
    text = text.strip("`\n ")
    if len(text) > LONGEST:
        raise ValueError(f"longer than {LONGEST} characters")
    text = f"{'' if text.startswith('[') else '['}{text}{'' if text.endswith(']') else ']'}"
    try:
        parsed = ast.parse(text, mode="eval").body
        if not isinstance(parsed, ast.List):
            raise ValueError("not a list of calls")
        return [_call(node) for node in parsed.elts]
    except _ERRORS as error:
        raise ValueError(f"not calls in Python: {error}") from None


def _call(node: ast.expr) -> PythonCall:
    if not isinstance(node, ast.Call):
        raise ValueError("not a call")
    named = {word.arg: _value(word.value) for word in node.keywords if word.arg}
    return PythonCall(ast.unparse(node.func), named, tuple(map(_value, node.args)))


def _value(node: ast.expr) -> Any:
    """A value; a name, a call or another expression is its text."""
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(entry) for entry in node.elts]
    if isinstance(node, ast.Dict):
        keys = [_value(key) if key is not None else "**" for key in node.keys]
        return {str(key): _value(value) for key, value in zip(keys, node.values, strict=True)}
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | bool | None):
        return node.value
    try:
        number = ast.literal_eval(node)
    except _ERRORS:
        number = None
    return number if isinstance(number, int | float) else ast.unparse(node)
