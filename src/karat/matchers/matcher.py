"""A matcher: whether a value is as wanted, and where it differs. Plain values, objects and lists are matchers too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from karat.matchers.values import find_member, format_value, is_same_value


class Difference(NamedTuple):
    """What was expected and found at a place below a value, such as `items[1].price`; the value itself has none."""

    where: str
    expected: str
    actual: str

    def __str__(self) -> str:
        text = f"expected {self.expected}, found {self.actual}"
        return f"{self.where}: {text}" if self.where else text


class Matcher:
    """Base of all matchers. No value at all satisfies only those that are `about_absence`."""

    __slots__ = ()

    @property
    def about_absence(self) -> bool:
        return False

    @property
    def words(self) -> str:
        """What is wanted, such as `at most 50`."""
        raise NotImplementedError

    def holds(self, value: object) -> bool:
        raise NotImplementedError

    def differences(self, value: object, where: str = "") -> Iterator[Difference]:
        """Every place at which a value is not as wanted."""
        if not self.holds(value):
            yield Difference(where, self.words, format_value(value))


class Equal(Matcher, Struct, frozen=True):
    """A plain value."""

    value: object

    @property
    def words(self) -> str:
        return format_value(self.value)

    def holds(self, value: object) -> bool:
        return is_same_value(self.value, value)


class Members(Matcher, Struct, frozen=True):
    """An object that has at least these members."""

    members: Mapping[str, Matcher]

    @property
    def words(self) -> str:
        return f"an object with {', '.join(self.members)}" if self.members else "an object"

    def holds(self, value: object) -> bool:
        return isinstance(value, dict) and all(
            matcher.holds(find_member(value, name)) for name, matcher in self.members.items()
        )

    def differences(self, value: object, where: str = "") -> Iterator[Difference]:
        if not isinstance(value, dict):
            yield Difference(where, self.words, format_value(value))
            return
        for name, matcher in self.members.items():
            yield from matcher.differences(find_member(value, name), f"{where}.{name}" if where else name)


class Entries(Matcher, Struct, frozen=True):
    """A list of just these entries."""

    entries: Sequence[Matcher]

    @property
    def words(self) -> str:
        return f"a list of {len(self.entries)}: {', '.join(entry.words for entry in self.entries)}"

    def holds(self, value: object) -> bool:
        return (
            isinstance(value, list | tuple)
            and len(value) == len(self.entries)
            and all(entry.holds(item) for entry, item in zip(self.entries, value, strict=True))
        )

    def differences(self, value: object, where: str = "") -> Iterator[Difference]:
        if not isinstance(value, list | tuple) or len(value) != len(self.entries):
            yield Difference(where, self.words, format_value(value))
            return
        for index, (entry, item) in enumerate(zip(self.entries, value, strict=True)):
            yield from entry.differences(item, f"{where}[{index}]")


class Every(Matcher, Struct, frozen=True):
    """All of several matchers."""

    matchers: Sequence[Matcher]

    @property
    def about_absence(self) -> bool:
        return any(matcher.about_absence for matcher in self.matchers)

    @property
    def words(self) -> str:
        return " and ".join(matcher.words for matcher in self.matchers)

    def holds(self, value: object) -> bool:
        return all(matcher.holds(value) for matcher in self.matchers)

    def differences(self, value: object, where: str = "") -> Iterator[Difference]:
        for matcher in self.matchers:
            yield from matcher.differences(value, where)
