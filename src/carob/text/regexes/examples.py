"""A text that a regex matches, made from the regex itself; where none can be made, it matches nothing."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from re import _parser as syntax  # type: ignore[attr-defined]  # the standard library's own reading of a regex
from typing import Any

from carob.text.regexes import safe_regex
from carob.text.regexes.syntax import rewrite

TRIES = 300
EXTRA_REPEATS = 2
ALPHABET = "aZ09 \n\t._-:/,;!?'\"()[]{}<>=+*&%$#@é"


class UnreadableError(Exception):
    """The `regex` module knows more than `re`: of such a pattern nothing is said."""


@lru_cache(maxsize=1024)
def example(pattern: str) -> str | None:
    """A text that the pattern matches, or None if some hundred attempts found none. Raises UnreadableError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # what `[[` may mean to `re` some day is not asked here
            tree = syntax.parse(rewrite(pattern), re.IGNORECASE | re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as error:
        raise UnreadableError(pattern) from error
    chance = random.Random(pattern)
    for attempt in range(TRIES):
        try:
            text = "".join(_text(tree, chance, {}))
            if safe_regex.search(pattern, text) is not None:
                return text
        except (safe_regex.RegexTimeout, _NoTextError):
            if attempt > TRIES // 10:
                break
    return None


class _NoTextError(Exception):
    """A set of characters that holds none."""


def _text(nodes: Iterable[Any], chance: random.Random, groups: dict[int, str]) -> Iterator[str]:
    for kind, value in nodes:
        yield _of(str(kind), value, chance, groups)


def _of(kind: str, value: Any, chance: random.Random, groups: dict[int, str]) -> str:
    if kind == "LITERAL":
        return chr(value)
    if kind in ("ANY", "NOT_LITERAL", "IN", "CATEGORY"):
        return _character(kind, value, chance)
    if kind == "BRANCH":
        return "".join(_text(chance.choice(value[1]), chance, groups))
    if kind.endswith("_REPEAT"):
        least, most, inner = value
        times = chance.randint(int(least), min(int(most), int(least) + EXTRA_REPEATS))
        return "".join(part for _ in range(times) for part in _text(inner, chance, groups))
    if kind == "SUBPATTERN":
        text = "".join(_text(value[3], chance, groups))
        if value[0] is not None:
            groups[value[0]] = text
        return text
    if kind in ("ASSERT", "GROUPREF_EXISTS"):
        # What must be before or after is written out; the search says whether it came out right.
        return "".join(_text(value[1] or (), chance, groups))
    if kind == "ATOMIC_GROUP":
        return "".join(_text(value, chance, groups))
    if kind == "GROUPREF":
        return groups.get(value, "")
    return ""  # an anchor, or what must not stand here


def _character(kind: str, value: Any, chance: random.Random) -> str:
    items = value if kind == "IN" else [(kind, value)]
    chars: list[str] = [chr(code) for name, code in items if str(name) == "LITERAL"]
    chars += [chr(end) for name, ends in items if str(name) == "RANGE" for end in ends]
    fitting: list[str] = [char for char in (*chars, *ALPHABET) if _fits(char, items)]
    if not fitting:
        raise _NoTextError
    return chance.choice(fitting)


def _fits(char: str, items: Sequence[tuple[object, object]]) -> bool:
    negated = any(str(name) == "NEGATE" for name, _ in items)
    return any(_one_fits(char, str(name), value) for name, value in items) is not negated


def _one_fits(char: str, name: str, value: Any) -> bool:
    if name == "ANY":
        return char != "\n"
    if name in ("LITERAL", "NOT_LITERAL"):
        return (char.lower() == chr(value).lower()) is (name == "LITERAL")
    if name == "RANGE":
        return any(value[0] <= ord(form) <= value[1] for form in (char.lower(), char.upper()) if len(form) == 1)
    if name == "CATEGORY":
        return _in_category(char, str(value).removeprefix("CATEGORY_"))
    return False


def _in_category(char: str, category: str) -> bool:
    plain = category.removeprefix("NOT_")
    members = {"DIGIT": char.isdecimal(), "SPACE": char.isspace(), "WORD": char.isalnum() or char == "_"}
    return members.get(plain, False) is (plain == category)
