"""A matcher: whether a value is as wanted, and where it differs. Plain values, objects and lists are matchers too.

Those of the `$` keys are here as well.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple
from unicodedata import normalize

from msgspec import Struct

from carob.matchers.values import MISSING, find_member, format_value, is_same_value, nfc
from carob.text.characters import plain
from carob.text.regexes import lazy, safe_regex
from carob.text.wording import join_words

TYPES: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "string": ("a string", lambda value: isinstance(value, str)),
    "number": ("a number", lambda value: is_number(value)),
    "integer": ("a whole number", lambda value: is_number(value) and value == int(value)),  # type: ignore[call-overload]
    "boolean": ("true or false", lambda value: isinstance(value, bool)),
    "array": ("a list", lambda value: isinstance(value, list | tuple)),
    "object": ("an object", lambda value: isinstance(value, dict)),
    "null": ("null", lambda value: value is None),
}
"""What JSON Schema calls the types of values, in words."""
BOUNDS: Mapping[str, tuple[Callable[[float | str, float | str], bool], str]] = {
    "$gt": (operator.gt, "over"),
    "$gte": (operator.ge, "at least"),
    "$lt": (operator.lt, "under"),
    "$lte": (operator.le, "at most"),
}
RELATIVE, ABSOLUTE = 1e-6, 1e-12
_NO_WORD = lazy.pattern(r"[\W_]+")
_NOT_HEARD = lazy.pattern(r"[ ,./\-_*^]")


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def plain_words(text: str) -> str:
    """A text without what `$text` does not look at: case, spacing, punctuation, Unicode form."""
    return _NO_WORD.sub(" ", normalize("NFKC", text).casefold()).strip()


def bare_letters(text: str) -> str:
    """A text without what `$loosely` does not look at: case, spaces, the signs , . / - _ * ^ and the kind of quote."""
    return _NOT_HEARD.sub("", plain(text)).lower().replace("'", '"')


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


class _Several(Matcher, Struct, frozen=True):
    matchers: Sequence[Matcher]

    @property
    def about_absence(self) -> bool:
        return any(matcher.about_absence for matcher in self.matchers)


class Every(_Several, frozen=True):
    """All of several matchers."""

    @property
    def words(self) -> str:
        return " and ".join(matcher.words for matcher in self.matchers)

    def holds(self, value: object) -> bool:
        return all(matcher.holds(value) for matcher in self.matchers)

    def differences(self, value: object, where: str = "") -> Iterator[Difference]:
        for matcher in self.matchers:
            yield from matcher.differences(value, where)


class ValueTest(Matcher, Struct, frozen=True):
    """A value of which something holds as a whole; `words` say what."""

    words: str
    test: Callable[[object], bool]
    about_absence: bool = False

    def holds(self, value: object) -> bool:
        return self.test(value)


def unequal(other: object) -> Matcher:
    """`$ne`: any other value."""
    words = f"anything but {format_value(other)}"
    return ValueTest(words, lambda value: value is not MISSING and not is_same_value(other, value))


def bound(key: str, limit: float | str) -> Matcher:
    """`$gt`, `$gte`, `$lt`, `$lte`: compares two numbers or two strings, such as ISO dates."""
    compare, how = BOUNDS[key]

    def is_within(value: object) -> bool:
        if isinstance(limit, str):
            return isinstance(value, str) and compare(nfc(value), nfc(limit))
        return isinstance(value, int | float) and not isinstance(value, bool) and compare(value, limit)

    return ValueTest(f"{how} {format_value(limit)}", is_within)


def one_of(values: Sequence[object]) -> Matcher:
    """`$in`: one of these values."""
    words = f"one of {format_value(values)}"
    return ValueTest(words, lambda value: any(is_same_value(allowed, value) for allowed in values))


def text_test(words: str, test: Callable[[str], bool]) -> Matcher:
    """`$regex`, `$text`, `$loosely`: a string of which this holds."""
    return ValueTest(words, lambda value: isinstance(value, str) and test(value))


def matches(pattern: str) -> Matcher:
    """`$regex`: a string in which the regex is found, letter case as written."""
    return text_test(f"a match of /{pattern}/", lambda text: safe_regex.is_found_in_value(pattern, text))


def same_text(words: str) -> Matcher:
    """`$text`: a string of the same words, whatever their case, spacing, punctuation and Unicode form."""
    return text_test(f"the text {format_value(words)}", lambda text: plain_words(text) == plain_words(words))


def loose_text(letters: str) -> Matcher:
    """`$loosely`: a string of the same letters, whatever their case, with or without spaces and light punctuation."""
    return text_test(f"loosely {format_value(letters)}", lambda text: bare_letters(text) == bare_letters(letters))


def absent(is_absent: bool) -> Matcher:
    """`$absent`: true for no value at all, false for any, null among them."""
    words = MISSING.value if is_absent else "any value"
    return ValueTest(words, lambda value: (value is MISSING) is is_absent, about_absence=True)


def of_type(names: Sequence[str]) -> Matcher:
    """`$type`: a value of one of these types."""
    words = join_words([TYPES[name][0] for name in names])
    return ValueTest(words, lambda value: any(TYPES[name][1](value) for name in names))


def approx(number: float, rel: float = 0.0, abs: float = 0.0) -> Matcher:
    """`$approx`: a number that is nearly this one."""

    def is_near(value: object) -> bool:
        is_plain = isinstance(value, int | float) and not isinstance(value, bool)
        return is_plain and math.isclose(value, number, rel_tol=rel, abs_tol=abs)  # type: ignore[arg-type]

    return ValueTest(f"about {format_value(number)}", is_near)


class Contains(Matcher, Struct, frozen=True):
    """`$contains`: a string with this text in it, or a list with such an entry."""

    part: Matcher
    text: str | None

    @property
    def words(self) -> str:
        return f"something that contains {self.part.words}"

    def holds(self, value: object) -> bool:
        if isinstance(value, str):
            return self.text is not None and nfc(self.text) in nfc(value)
        return isinstance(value, list | tuple) and any(self.part.holds(entry) for entry in value)


class AnyOf(_Several, frozen=True):
    """`$any`: at least one of these holds."""

    @property
    def words(self) -> str:
        return join_words([matcher.words for matcher in self.matchers])

    def holds(self, value: object) -> bool:
        return any(matcher.holds(value) for matcher in self.matchers)


class OfLength(Matcher, Struct, frozen=True):
    """`$length`: how many characters, entries or members there are."""

    length: Matcher

    @property
    def words(self) -> str:
        return f"a length of {self.length.words}"

    def holds(self, value: object) -> bool:
        return isinstance(value, str | list | tuple | dict) and self.length.holds(len(value))

    def differences(self, value: object, where: str = "") -> Iterator[Difference]:
        if not self.holds(value):
            size = f"{len(value)}: " if isinstance(value, str | list | tuple | dict) else ""
            yield Difference(where, self.words, f"{size}{format_value(value)}")


class Not(Matcher, Struct, frozen=True):
    """`$not`: a value that is otherwise; no value at all is none, unless absence is what is spoken of."""

    matcher: Matcher

    @property
    def about_absence(self) -> bool:
        return self.matcher.about_absence

    @property
    def words(self) -> str:
        return f"not {self.matcher.words}"

    def holds(self, value: object) -> bool:
        return (value is not MISSING or self.about_absence) and not self.matcher.holds(value)


class Each(Matcher, Struct, frozen=True):
    """`$each`: a list that is not empty, and whose every entry is such."""

    entry: Matcher

    @property
    def words(self) -> str:
        return f"entries that are each {self.entry.words}"

    def holds(self, value: object) -> bool:
        return isinstance(value, list | tuple) and bool(value) and all(map(self.entry.holds, value))

    def differences(self, value: object, where: str = "") -> Iterator[Difference]:
        if not isinstance(value, list | tuple) or not value:
            yield Difference(where, self.words, format_value(value))
            return
        for index, item in enumerate(value):
            yield from self.entry.differences(item, f"{where}[{index}]")


class Only(Matcher, Struct, frozen=True):
    """`$only`: an object with these members and no other, but for `optional` ones and for names that `ignored` has."""

    members: Members
    optional: Mapping[str, Matcher] = {}
    ignored: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        return f"only {self.members.words}"

    def holds(self, value: object) -> bool:
        return isinstance(value, dict) and self.members.holds(value) and not any(self._surplus(value))

    def differences(self, value: object, where: str = "") -> Iterator[Difference]:
        yield from self.members.differences(value, where)
        for name, expected in self._surplus(value if isinstance(value, dict) else {}):
            yield Difference(f"{where}.{name}" if where else name, expected, format_value(value[name]))  # type: ignore[index]

    def _is_ignored(self, name: str) -> bool:
        return any(fnmatchcase(name, nfc(pattern).replace("[", "[[]")) for pattern in self.ignored)

    def _surplus(self, value: Mapping[str, object]) -> Iterator[tuple[str, str]]:
        """Members that may not be there, or not like this, each with what could be there."""
        known = {*map(nfc, self.members.members)}
        allowed = {nfc(name): matcher for name, matcher in self.optional.items()}
        for name, member in value.items():
            plain_name = nfc(name)
            if plain_name in known or self._is_ignored(plain_name):
                continue
            optional = allowed.get(plain_name)
            if optional is None:
                yield name, MISSING.value
            elif not optional.holds(member):
                yield name, f"{optional.words} or nothing"


class InAnyOrder(Matcher, Struct, frozen=True):
    """`$set`: a list of just these entries, in any order; each needs an entry of its own."""

    entries: Sequence[Matcher]

    @property
    def words(self) -> str:
        return f"in any order {', '.join(entry.words for entry in self.entries) or 'nothing'}"

    def holds(self, value: object) -> bool:
        if not isinstance(value, list | tuple) or len(value) != len(self.entries):
            return False
        owners: dict[int, int] = {}
        return all(self._place(number, value, owners, set()) for number in range(len(self.entries)))

    def _place(self, number: int, value: Sequence[object], owners: dict[int, int], tried: set[int]) -> bool:
        """Find an entry for a matcher, if need be by finding another one for the matcher that has it."""
        for index, item in enumerate(value):
            if index in tried or not self.entries[number].holds(item):
                continue
            tried.add(index)
            if index not in owners or self._place(owners[index], value, owners, tried):
                owners[index] = number
                return True
        return False
