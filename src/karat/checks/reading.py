"""How a check is read from `expected` where the field of its name gives its arguments as they are.

`read = read_each("phrase")` in the class of a check is all that most of them need.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from karat.checks.base import Check, CheckRequest, each
from karat.model.check import Expected


def keep_given(expected: Expected, *fields: str) -> dict[str, Any]:
    """Those of the fields that are there."""
    return {field: expected[field] for field in fields if field in expected}


def read_whole(argument: str = "") -> Any:
    """One check: the field is this argument, or without one an object of all arguments."""

    def read(cls: type[Check], expected: Expected) -> Iterator[CheckRequest]:
        if cls.name in expected:
            value = expected[cls.name]
            yield CheckRequest({argument: value} if argument else value, (cls.name,))

    return classmethod(read)


def read_each(argument: str = "", *more: str) -> Any:
    """One check per entry of a list, which is this argument, or without one an object of all arguments."""

    def read(cls: type[Check], expected: Expected) -> Iterator[CheckRequest]:
        if argument:
            return each(cls.name, argument, expected, *more)
        return (CheckRequest(rule, (cls.name, index)) for index, rule in enumerate(expected.get(cls.name) or ()))

    return classmethod(read)


def read_members(key: str, value: str) -> Any:
    """One check per member of an object: its key and its value are these arguments."""

    def read(cls: type[Check], expected: Expected) -> Iterator[CheckRequest]:
        for name, member in expected.get(cls.name, {}).items():
            yield CheckRequest({key: name, value: member}, (cls.name, name))

    return classmethod(read)
