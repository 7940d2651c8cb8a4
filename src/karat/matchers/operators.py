"""The matchers of the `$` keys."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from unicodedata import normalize

from msgspec import Struct

from karat.matchers.matcher import Difference, Matcher, Members
from karat.matchers.values import MISSING, format_value, is_same_value, nfc
from karat.text.regexes import lazy, safe_regex
from karat.text.wording import join_words

Compare = Callable[[float | str, float | str], bool]

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
RELATIVE, ABSOLUTE = 1e-6, 1e-12
_NO_WORD = lazy.pattern(r"[\W_]+")
_NOT_HEARD = lazy.pattern(r"[ ,./\-_*^]")


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class Unequal(Matcher, Struct, frozen=True):
    """`$ne`: any other value."""

    value: object

    @property
    def words(self) -> str:
        return f"anything but {format_value(self.value)}"

    def holds(self, value: object) -> bool:
        return value is not MISSING and not is_same_value(self.value, value)


class Bound(Matcher, Struct, frozen=True):
    """`$gt`, `$gte`, `$lt`, `$lte`: compares two numbers or two strings, such as ISO dates."""

    limit: float | str
    compare: Compare
    how: str

    @property
    def words(self) -> str:
        return f"{self.how} {format_value(self.limit)}"

    def holds(self, value: object) -> bool:
        if isinstance(self.limit, str):
            return isinstance(value, str) and self.compare(nfc(value), nfc(self.limit))
        return isinstance(value, int | float) and not isinstance(value, bool) and self.compare(value, self.limit)


BOUNDS: Mapping[str, tuple[Compare, str]] = {
    "$gt": (operator.gt, "over"),
    "$gte": (operator.ge, "at least"),
    "$lt": (operator.lt, "under"),
    "$lte": (operator.le, "at most"),
}


class OneOf(Matcher, Struct, frozen=True):
    """`$in`: one of these values."""

    values: Sequence[object]

    @property
    def words(self) -> str:
        return f"one of {format_value(self.values)}"

    def holds(self, value: object) -> bool:
        return any(is_same_value(allowed, value) for allowed in self.values)


class Matches(Matcher, Struct, frozen=True):
    """`$regex`: a string in which the regex is found, letter case as written."""

    pattern: str

    @property
    def words(self) -> str:
        return f"a match of /{self.pattern}/"

    def holds(self, value: object) -> bool:
        return isinstance(value, str) and safe_regex.is_found_in_value(self.pattern, value)


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


class Absent(Matcher, Struct, frozen=True):
    """`$absent`: true for no value at all, false for any, null among them."""

    absent: bool

    @property
    def about_absence(self) -> bool:
        return True

    @property
    def words(self) -> str:
        return MISSING.value if self.absent else "any value"

    def holds(self, value: object) -> bool:
        return (value is MISSING) is self.absent


class AnyOf(Matcher, Struct, frozen=True):
    """`$any`: at least one of these holds."""

    matchers: Sequence[Matcher]

    @property
    def about_absence(self) -> bool:
        return any(matcher.about_absence for matcher in self.matchers)

    @property
    def words(self) -> str:
        return join_words([matcher.words for matcher in self.matchers])

    def holds(self, value: object) -> bool:
        return any(matcher.holds(value) for matcher in self.matchers)


class OfType(Matcher, Struct, frozen=True):
    """`$type`: a value of one of these types."""

    types: Sequence[str]

    @property
    def words(self) -> str:
        return join_words([TYPES[name][0] for name in self.types])

    def holds(self, value: object) -> bool:
        return any(TYPES[name][1](value) for name in self.types)


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


class Approx(Matcher, Struct, frozen=True):
    """`$approx`: a number that is nearly this one."""

    value: float
    rel: float = 0.0
    abs: float = 0.0

    @property
    def words(self) -> str:
        return f"about {format_value(self.value)}"

    def holds(self, value: object) -> bool:
        near = isinstance(value, int | float) and not isinstance(value, bool)
        return near and math.isclose(value, self.value, rel_tol=self.rel, abs_tol=self.abs)  # type: ignore[arg-type]


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
    """`$only`: an object with these members and no other."""

    members: Members

    @property
    def words(self) -> str:
        return f"only {self.members.words}"

    def holds(self, value: object) -> bool:
        return (
            isinstance(value, dict)
            and {*map(nfc, value)} <= {*map(nfc, self.members.members)}
            and self.members.holds(value)
        )

    def differences(self, value: object, where: str = "") -> Iterator[Difference]:
        yield from self.members.differences(value, where)
        for name, member in value.items() if isinstance(value, dict) else ():
            if name not in self.members.members:
                yield Difference(f"{where}.{name}" if where else name, MISSING.value, format_value(member))


def plain_words(text: str) -> str:
    """A text without what `$text` does not look at: case, spacing, punctuation, Unicode form."""
    return _NO_WORD.sub(" ", normalize("NFKC", text).casefold()).strip()


class SameText(Matcher, Struct, frozen=True):
    """`$text`: a string of the same words, whatever their case, spacing, punctuation and Unicode form."""

    text: str

    @property
    def words(self) -> str:
        return f"the text {format_value(self.text)}"

    def holds(self, value: object) -> bool:
        return isinstance(value, str) and plain_words(value) == plain_words(self.text)


def bare_letters(text: str) -> str:
    """A text without what `$loosely` does not look at: case, spaces, the signs , . / - _ * ^ and the kind of quote."""
    return _NOT_HEARD.sub("", nfc(text)).lower().replace("'", '"')


class Loosely(Matcher, Struct, frozen=True):
    """`$loosely`: a string of the same letters, whatever their case, with or without spaces and light punctuation."""

    text: str

    @property
    def words(self) -> str:
        return f"loosely {format_value(self.text)}"

    def holds(self, value: object) -> bool:
        return isinstance(value, str) and bare_letters(value) == bare_letters(self.text)


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
