"""What Python's `repr` or `str` wrote → plain values. It reads and never evaluates, within bounds.

Frameworks hand a tool's result to the model as text: JSON where they can, else what Python prints. So dates, decimals,
enums, sets, dataclasses and models are in it next to plain values.
"""

from __future__ import annotations

import ast
import re

from karat.text.regexes import lazy

LONGEST = 1 << 18
DEEPEST = 64

_SPACE = lazy.pattern(r"\s*")
_STRING = lazy.pattern(r"[bBuU]?'(?:[^'\\]|\\.)*'|[bBuU]?\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_NUMBER = lazy.pattern(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")
_NAME = lazy.pattern(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_FIELD = lazy.pattern(r"([^\W\d]\w*)=(?!=)")
_MEMBER = lazy.pattern(r"<[^\W\d][\w.]*\.\w+: ")
_OPAQUE = lazy.pattern(r"<[^<>]*(?:<[^<>]*>[^<>]*)*>")
_WORDS: dict[str, object] = {"None": None, "True": True, "False": False, "nan": "NaN", "inf": "Infinity"}
_PAIRS = "OrderedDict"


def read(text: str) -> object:
    """The value that was written. Raises ValueError where it is none, or too long, or nested too deeply."""
    if len(text) > LONGEST:
        raise ValueError("it is too long")
    reader = _Reader(text)
    value = reader.fields() if _FIELD.match(text.strip()) else reader.value(0)
    if not reader.at_end():
        raise ValueError("more follows")
    return value


class _Reader:
    """A place in a text, and what is from there on."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def at_end(self) -> bool:
        self._skip()
        return self._at == len(self._text)

    def fields(self) -> dict[str, object]:
        """`name=value name=value`, as models print themselves."""
        found = {}
        while not self.at_end():
            name = self._match(_FIELD)[1]
            found[name] = self.value(1)
        return found

    def value(self, depth: int) -> object:
        if depth > DEEPEST:
            raise ValueError("it is nested too deeply")
        self._skip()
        first = self._text[self._at : self._at + 1]
        if first == "{":
            return self._braces(depth)
        if first == "[":
            return self._items("[", "]", depth)
        if first == "(":
            return self._items("(", ")", depth)
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

    def _braces(self, depth: int) -> dict[str, object] | list[object]:
        """A dict or a set."""
        self._take("{")
        table: dict[str, object] = {}
        members: list[object] = []
        while not self._take_if("}"):
            key = self.value(depth + 1)
            if self._take_if(":"):
                table[key if isinstance(key, str) else str(key)] = self.value(depth + 1)
            else:
                members.append(key)
            if not self._take_if(",") and self._next() != "}":
                raise ValueError("a comma is missing")
        if table and members:
            raise ValueError("it is half a dict")
        return members or table

    def _items(self, opening: str, closing: str, depth: int) -> list[object]:
        self._take(opening)
        found = []
        while not self._take_if(closing):
            found.append(self.value(depth + 1))
            if not self._take_if(",") and self._next() != closing:
                raise ValueError("a comma is missing")
        return found

    def _angles(self, depth: int) -> object:
        """A member of an enum means its value; any other object is opaque."""
        if member := _MEMBER.match(self._text, self._at):
            self._at = member.end()
            value = self.value(depth + 1)
            self._take(">")
            return value
        return self._match(_OPAQUE)[0]

    def _read_name(self, depth: int) -> object:
        """A constant, a member of an enum by its name, or an object that shows what it was made of."""
        start = self._at
        sign = "-" if self._take_if("-") else ""
        name = self._match(_NAME)[0]
        if self._text[self._at : self._at + 1] == "(":
            return self._read_object(name, start, depth)
        if name in _WORDS:
            value = _WORDS[name]
            return f"{sign}{value}" if sign else value
        return name.rpartition(".")[2]

    def _read_object(self, name: str, start: int, depth: int) -> object:
        self._take("(")
        given, named = [], {}
        while not self._take_if(")"):
            self._skip()
            if field := _FIELD.match(self._text, self._at):
                self._at = field.end()
                named[field[1]] = self.value(depth + 1)
            else:
                given.append(self.value(depth + 1))
            if not self._take_if(",") and self._next() != ")":
                raise ValueError("a comma is missing")
        if named:
            return named
        if name.endswith(_PAIRS) and given and isinstance(given[0], list):
            return {str(key): value for key, value in given[0]}
        holding = [value for value in given if isinstance(value, dict | list)]
        if holding:
            return holding[-1]
        return given[0] if len(given) == 1 else self._text[start : self._at]

    def _string(self, found: re.Match[str]) -> str:
        self._at = found.end()
        try:
            value = ast.literal_eval(found[0])  # one string token and nothing else
        except (ValueError, SyntaxError) as error:
            raise ValueError("it contains an invalid string") from error
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        self._skip()
        found = pattern.match(self._text, self._at)
        if found is None:
            raise ValueError(f"nothing that Python writes begins at {self._at}")
        self._at = found.end()
        return found

    def _skip(self) -> None:
        space = _SPACE.match(self._text, self._at)
        self._at = space.end() if space else self._at

    def _next(self) -> str:
        self._skip()
        return self._text[self._at : self._at + 1]

    def _take_if(self, mark: str) -> bool:
        taken = self._next() == mark
        self._at += taken
        return taken

    def _take(self, mark: str) -> None:
        if not self._take_if(mark):
            raise ValueError(f"{mark!r} is missing at {self._at}")


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)
