"""Values and calls that are written as Python → plain values. They are read within bounds and never evaluated.

Frameworks hand a tool's result to the model as text: JSON where they can, else what Python prints. So dates, decimals,
enums, sets, dataclasses and models are in it next to plain values.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from carob.text.regexes import lazy

LONGEST = 1 << 18
LONGEST_CALLS = 100_000
DEEPEST = 64

_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)
_SPACE = lazy.pattern(r"\s*")
_STRING = lazy.pattern(r"[bBuU]?'(?:[^'\\]|\\.)*'|[bBuU]?\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_NUMBER = lazy.pattern(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")
_NAME = lazy.pattern(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_FIELD = lazy.pattern(r"([^\W\d]\w*)=(?!=)")
_MEMBER = lazy.pattern(r"<[^\W\d][\w.]*\.\w+: ")
_OPAQUE = lazy.pattern(r"<[^<>]*(?:<[^<>]*>[^<>]*)*>")
_CONSTANTS: dict[str, object] = {"None": None, "True": True, "False": False, "nan": "NaN", "inf": "Infinity"}
_PAIRS = "OrderedDict"


def read_repr(text: str) -> object:
    """The value that `repr` or `str` wrote. Raises ValueError where it is none, or too long, or nested too deeply."""
    if len(text) > LONGEST:
        raise ValueError("it is too long")
    reader = _Reader(text)
    value = reader.fields() if _FIELD.match(text.strip()) else reader.value(0)
    if not reader.at_end():
        raise ValueError("more follows")
    return value


class _Reader:
    """A position in a text, and what is from there on."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def at_end(self) -> bool:
        return not self._next()

    def fields(self) -> dict[str, object]:
        """`name=value name=value`, as models print themselves."""
        fields = {}
        while not self.at_end():
            name = self._match(_FIELD)[1]
            fields[name] = self.value(1)
        return fields

    def value(self, depth: int) -> object:
        if depth > DEEPEST:
            raise ValueError("it is nested too deeply")
        first = self._next()
        if first == "{":
            return self._braces(depth)
        if first in ("[", "("):
            return [self.value(depth + 1) for _ in self._entries("]" if first == "[" else ")")]
        if first == "<":
            return self._angles(depth)
        if string := _STRING.match(self._text, self._at):
            return self._string(string)
        if number := _NUMBER.match(self._text, self._at):
            self._at = number.end()
            return _number(number[0])
        if self._text.startswith("...", self._at):
            self._at += 3
            return "..."
        return self._read_name(depth)

    def _entries(self, closing: str) -> Iterator[None]:
        """Go past an opening bracket, and stop at each entry until the closing one."""
        self._at += 1
        while not self._take_if(closing):
            yield
            if not self._take_if(",") and self._next() != closing:
                raise ValueError("a comma is missing")

    def _braces(self, depth: int) -> dict[str, object] | list[object]:
        """A dict or a set."""
        table: dict[str, object] = {}
        members: list[object] = []
        for _ in self._entries("}"):
            key = self.value(depth + 1)
            if self._take_if(":"):
                table[key if isinstance(key, str) else str(key)] = self.value(depth + 1)
            else:
                members.append(key)
        if table and members:
            raise ValueError("it is half a dict")
        return members or table

    def _angles(self, depth: int) -> object:
        """A member of an enum means its value; any other object is opaque."""
        if member := _MEMBER.match(self._text, self._at):
            self._at = member.end()
            value = self.value(depth + 1)
            if not self._take_if(">"):
                raise ValueError(f"'>' is missing at {self._at}")
            return value
        return self._match(_OPAQUE)[0]

    def _read_name(self, depth: int) -> object:
        """A constant, a member of an enum by its name, or an object that shows what it was made of."""
        start = self._at
        sign = "-" if self._take_if("-") else ""
        name = self._match(_NAME)[0]
        if self._text[self._at : self._at + 1] == "(":
            return self._read_object(name, start, depth)
        if name in _CONSTANTS:
            value = _CONSTANTS[name]
            return f"{sign}{value}" if sign else value
        return name.rpartition(".")[2]

    def _read_object(self, name: str, start: int, depth: int) -> object:
        arguments, keywords = [], {}
        for _ in self._entries(")"):
            self._next()
            if field := _FIELD.match(self._text, self._at):
                self._at = field.end()
                keywords[field[1]] = self.value(depth + 1)
            else:
                arguments.append(self.value(depth + 1))
        if keywords:
            return keywords
        if name.endswith(_PAIRS) and arguments and isinstance(arguments[0], list):
            if not all(isinstance(pair, list) and len(pair) == 2 for pair in arguments[0]):
                raise ValueError("it contains no pairs")
            return {str(key): value for key, value in arguments[0]}
        containers = [value for value in arguments if isinstance(value, dict | list)]
        if containers:
            return containers[-1]
        return arguments[0] if len(arguments) == 1 else self._text[start : self._at]

    def _string(self, string: re.Match[str]) -> str:
        self._at = string.end()
        try:
            value = ast.literal_eval(string[0])  # one string token and nothing else
        except (ValueError, SyntaxError) as error:
            raise ValueError("it contains an invalid string") from error
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        self._next()
        match = pattern.match(self._text, self._at)
        if match is None:
            raise ValueError(f"nothing that Python writes begins at {self._at}")
        self._at = match.end()
        return match

    def _next(self) -> str:
        """The next character that is not white space, which is skipped."""
        space = _SPACE.match(self._text, self._at)
        self._at = space.end() if space else self._at
        return self._text[self._at : self._at + 1]

    def _take_if(self, mark: str) -> bool:
        is_next = self._next() == mark
        self._at += is_next
        return is_next


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


class PythonCall(NamedTuple):
    """A call: the name of its function, its arguments by name, and those that have none."""

    name: str
    arguments: dict[str, Any]
    positional: tuple[Any, ...] = ()


def parse_calls(text: str) -> list[PythonCall]:
    """Calls such as `[move(file='a.txt', to='temp')]`, in a list or alone. Raises ValueError if it is anything else."""
    text = text.strip("`\n ")
    if len(text) > LONGEST_CALLS:
        raise ValueError(f"longer than {LONGEST_CALLS} characters")
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
    keywords = {keyword.arg: _value(keyword.value) for keyword in node.keywords if keyword.arg}
    return PythonCall(ast.unparse(node.func), keywords, tuple(map(_value, node.args)))


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
