"""What a value of a suite may be, and those that hold no others: strings, numbers, true and false, a few words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import ClassVar, Protocol

from msgspec import Struct

from carob.suites.diagnostics import Json, PathDiagnostic
from carob.text.wording import did_you_mean, join_words, kind, quoted

Schema = dict[str, "Schema | Json"]
Found = Sequence[PathDiagnostic]

FINE: Found = ()


class Shape(Protocol):
    """A kind of value. `types`: those of Python that such values have."""

    @property
    def words(self) -> str: ...
    @property
    def types(self) -> Collection[type]: ...
    def validate(self, value: object) -> Found:
        """What is wrong with a value, with paths below it."""
        ...

    def schema(self, defs: dict[str, Schema]) -> Schema:
        """The JSON Schema of it, which may refer to those that are known."""
        ...


_LEADING_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_HOW_TO_WRITE = {
    ("a list", dict): "Write [ ] around it, or '- ' before each.",
    ("an object", list): "Write its keys without [ ] and '- '.",
    ("a string", list): "Write one text.",
    ("a string", dict): "Put a text with ': ' in quotes.",
    ("a string", type(None)): "Write a text: what follows # is a comment, unless it is in quotes.",
}
"""How a value is written that is of another type than expected, by what is expected and its type."""


def wrong_type(expected: str, value: object, fix: str = "") -> Found:
    actual = f"{value}" if expected == "a whole number" and isinstance(value, float) else kind(value)
    if isinstance(value, str) and expected.endswith("number") and (number := _LEADING_NUMBER.match(value)):
        fix = f"Write {number[0]}, without quotes and units."
    fix = fix or _HOW_TO_WRITE.get((expected, type(value)), "")
    return [PathDiagnostic((), f"expected {expected}, found {actual}. {fix}".rstrip(), "wrong-type")]


def check_size(value: str | list[Json] | dict[str, Json], least: int, most: int | None, unit: str) -> Found:
    size = len(value)
    if size >= least and (most is None or size <= most):
        return FINE
    if not size:
        empty = "string" if isinstance(value, str) else "list" if isinstance(value, list) else "object"
        message = f"an empty {empty} expects nothing. Say what is expected, or leave the field out."
        return [PathDiagnostic((), message, "empty-expectation")]
    bound = f"at least {least}" if size < least else f"at most {most}"
    return [PathDiagnostic((), f"must have {bound} {unit}, found {size}.", "invalid-value")]


def given_limits(limits: Mapping[str, Json]) -> Schema:
    return {name: limit for name, limit in limits.items() if limit is not None}


CONTROL = r"\u0000-\u001f\u007f-\u009f\u2028\u2029"
ONE_LINE = rf"^[^{CONTROL}]*[^\s{CONTROL}][^{CONTROL}]*$"
"""One line that is not blank."""
NOT_BLANK = r"\S"
"""A text that is not blank."""


class AnyShape:
    """Whatever JSON can say."""

    words = "anything"
    types = (dict, list, str, int, float, bool, type(None))

    def validate(self, value: object) -> Found:
        return FINE

    def schema(self, defs: dict[str, Schema]) -> Schema:
        return {}


class PlainShape(Struct, frozen=True):
    """A value that can only be of the right type: true or false, null."""

    words: str
    types: tuple[type, ...]
    name: str

    def validate(self, value: object) -> Found:
        return FINE if type(value) in self.types else wrong_type(self.words, value)

    def schema(self, defs: dict[str, Schema]) -> Schema:
        return {"type": self.name}


class TextShape(Struct, frozen=True):
    """A string."""

    shortest: int = 0
    longest: int | None = None
    pattern: str | None = None
    words: ClassVar = "a string"
    types: ClassVar = (str,)

    def validate(self, value: object) -> Found:
        if type(value) is not str:
            quoted = f'Put it in quotes: "{_as_json(value)}".' if isinstance(value, int | float) else ""
            return wrong_type(self.words, value, quoted)
        if self.pattern is not None and not _compile(self.pattern).search(value):
            return [_off_pattern(value, self.pattern)]
        if self.longest is None and len(value) >= self.shortest:
            return FINE
        return check_size(value, self.shortest, self.longest, "characters")

    def schema(self, defs: dict[str, Schema]) -> Schema:
        limits = {"minLength": self.shortest or None, "maxLength": self.longest, "pattern": self.pattern}
        return {"type": "string", **given_limits(limits)}


class NumberShape(Struct, frozen=True):
    """A number, whole or not, within limits."""

    whole: bool = False
    over: float | None = None
    least: float | None = None
    under: float | None = None
    most: float | None = None
    step: float | None = None

    @property
    def words(self) -> str:
        return "a whole number" if self.whole else "a number"

    @property
    def types(self) -> Collection[type]:
        return (int,) if self.whole else (int, float)

    def validate(self, value: object) -> Found:
        if type(value) is not int and (self.whole or type(value) is not float):
            return wrong_type(self.words, value)
        broken = next(self._broken_limits(value), None)
        return FINE if broken is None else [PathDiagnostic((), f"must be {broken}, found {value:g}.", "out-of-range")]

    def _broken_limits(self, value: float) -> Iterator[str]:
        if self.over is not None and not value > self.over:
            yield f"over {self.over:g}"
        if self.least is not None and not value >= self.least:
            yield f"at least {self.least:g}"
        if self.under is not None and not value < self.under:
            yield f"under {self.under:g}"
        if self.most is not None and not value <= self.most:
            yield f"at most {self.most:g}"
        if self.step is not None and value % self.step:
            yield f"a multiple of {self.step:g}"

    def schema(self, defs: dict[str, Schema]) -> Schema:
        limits = {
            "exclusiveMinimum": self.over,
            "minimum": self.least,
            "exclusiveMaximum": self.under,
            "maximum": self.most,
            "multipleOf": self.step,
        }
        return {"type": "integer" if self.whole else "number", **given_limits(limits)}


class ChoiceShape(Struct, frozen=True):
    """One of a few values."""

    values: tuple[str | bool | int | None, ...]

    @property
    def words(self) -> str:
        return join_words([_as_json(value) for value in self.values])

    @property
    def types(self) -> Collection[type]:
        return {type(value) for value in self.values}

    def validate(self, value: object) -> Found:
        if any(value == choice and type(value) is type(choice) for choice in self.values):
            return FINE
        if not all(isinstance(choice, str) for choice in self.values):
            return [PathDiagnostic((), f"expected {self.words}, found {self._describe_found(value)}", "wrong-type")]
        if not isinstance(value, str):
            quote = f' Did you mean "{value}"?' if str(value) in self.values else ""
            message = f"expected {self.words} as a string, found {kind(value)}.{quote}"
            return [PathDiagnostic((), message, "wrong-type")]
        choices = [str(choice) for choice in self.values]
        parts = f"unknown value {quoted(value)}.", did_you_mean(value, choices), f"Known: {join_words(choices, 'and')}."
        return [PathDiagnostic((), " ".join(filter(None, parts)), "unknown-value")]

    def _describe_found(self, value: object) -> str:
        if isinstance(value, str) and value in map(_as_json, self.values):
            return f"the text {quoted(value)}. Write it without quotes."
        actual = str(value) if isinstance(value, int) and not isinstance(value, bool) else kind(value)
        return f"{actual}.{' Leave the field out if it should not be checked.' if self.values[0] is True else ''}"

    def schema(self, defs: dict[str, Schema]) -> Schema:
        return {"const": self.values[0]} if len(self.values) == 1 else {"enum": list(self.values)}


@lru_cache(maxsize=64)
def _compile(pattern: str) -> re.Pattern[str]:
    """JSON Schema means the very end by `$`, Python also a line end before it."""
    return re.compile(f"{pattern[:-1]}\\Z" if pattern.endswith("$") else pattern)


def _off_pattern(value: str, pattern: str) -> PathDiagnostic:
    if not value.strip():
        return PathDiagnostic((), "must not be blank.", "empty-value")
    if pattern in (ONE_LINE, NOT_BLANK):
        message = "contains a control character. Write it on one line, without tabs and escapes."
        return PathDiagnostic((), message, "control-character")
    return PathDiagnostic((), f"{quoted(value)} is not of the form {pattern}.", "invalid-value")


def _as_json(value: str | bool | float | None) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)
