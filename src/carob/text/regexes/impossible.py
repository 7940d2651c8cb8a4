"""Whether no text can match a regex: proved from its tree, never guessed. What is not proved is possible."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from re import _parser as syntax  # type: ignore[attr-defined]  # the standard library's own reading of a regex
from typing import Any, Final, NamedTuple

from carob.text.regexes.syntax import rewrite

KNOWN: Final = 0x3000
"""Characters below it are bits of their own; all others are four: digits, other letters of words, spaces, the rest."""
_CHARS: Final = "".join(map(chr, range(KNOWN)))
_HIGH: Final = {"DIGIT": 0b0001, "WORD": 0b0011, "SPACE": 0b0100}
_OTHER_LETTERS: Final = 0b0010 << KNOWN
"""Where the other case of a letter may be."""
LAST: Final = 0x10FFFF
_ALL: Final = (1 << (KNOWN + 4)) - 1
EDGE: Final = 1 << (KNOWN + 4)
"""The beginning of the text, as what is before; its end, as what is after."""
_ANY: Final = _ALL | EDGE
_NEWLINE: Final = 1 << ord("\n")
_IGNORE: Final = re.IGNORECASE | re.MULTILINE
MOST_STATES: Final = 48
MOST_NODES: Final = 400
MOST_TURNS: Final = 3


class _State(NamedTuple):
    """What the last character may be, and what the next one may be."""

    before: int
    after: int


_ANYWHERE: Final = _State(_ANY, _ANY)


class _UnknownError(Exception):
    """The tree holds what nothing is proved of."""


@lru_cache(maxsize=1024)
def matches_nothing(pattern: str) -> bool:
    """Whether it is proved that no text matches."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            tree = syntax.parse(rewrite(pattern), _IGNORE)
        return not _Walk(tree.state.flags).through(tree, [_ANYWHERE])
    except (re.error, ValueError, OverflowError, RecursionError, _UnknownError):
        return False


class _Walk:
    """One way through a tree: the states that are left after each node, none if it cannot match."""

    def __init__(self, flags: int) -> None:
        self._flags = flags
        self._left = MOST_NODES

    def through(self, nodes: Iterable[Any], states: Sequence[_State]) -> list[_State]:
        current = [*states]
        for kind, value in nodes:
            self._left -= 1
            if self._left < 0:
                raise _UnknownError
            current = _merge(self._step(str(kind), value, current)) if current else []
        return current

    def _step(self, kind: str, value: Any, states: list[_State]) -> Iterable[_State]:
        if kind in ("LITERAL", "NOT_LITERAL", "IN", "ANY"):
            chars = self._chars(kind, value)
            return [_State(read, _ANY) for _, after in states if (read := chars & after)]
        if kind == "AT":
            return [left for state in states for left in self._at(str(value), state)]
        if kind == "BRANCH":
            return [left for branch in value[1] for left in self.through(branch, states)]
        if kind == "SUBPATTERN":
            _, added, removed, inner = value
            return [_ANYWHERE] if added or removed else self.through(inner, states)
        if kind.endswith("_REPEAT"):
            return self._repeat(int(value[0]), int(value[1]), value[2], states)
        if kind == "ATOMIC_GROUP":
            return self.through(value, states)
        if kind in ("ASSERT", "ASSERT_NOT"):
            return [left for state in states for left in self._look(kind == "ASSERT", value[0], value[1], state)]
        if kind == "FAILURE":
            return []
        return [*states, _ANYWHERE] if kind in ("GROUPREF", "GROUPREF_EXISTS") else self._give_up()

    def _give_up(self) -> list[_State]:
        raise _UnknownError

    def _repeat(self, least: int, most: int, inner: Any, states: list[_State]) -> list[_State]:
        done = [*states] if least == 0 else []
        for turn in range(1, min(most, max(least, MOST_TURNS)) + 1):
            if turn > MOST_TURNS:
                return [_ANYWHERE]
            states = self.through(inner, states)
            done += states if turn >= least else []
        return [*done, _ANYWHERE] if states and most > MOST_TURNS else done

    def _at(self, place: str, state: _State) -> list[_State]:
        before, after = state
        word = self._category("CATEGORY_WORD")
        if place == "AT_BEGINNING":
            kept = [_State(before & (_NEWLINE | EDGE), after)]
        elif place == "AT_BEGINNING_STRING":
            kept = [_State(before & EDGE, after)]
        elif place == "AT_END":
            kept = [_State(before, after & (_NEWLINE | EDGE))]
        elif place == "AT_END_STRING":
            kept = [_State(before, after & EDGE)]
        elif place in ("AT_BOUNDARY", "AT_NON_BOUNDARY"):
            sides = ((word, _ANY & ~word), (_ANY & ~word, word))
            sides = sides if place == "AT_BOUNDARY" else ((word, word), (_ANY & ~word, _ANY & ~word))
            kept = [_State(before & left, after & right) for left, right in sides]
        else:
            raise _UnknownError
        return [state for state in kept if state.before and state.after]

    def _look(self, wanted: bool, direction: int, inner: Any, state: _State) -> list[_State]:
        """What is left where something must be ahead or before, or must not be."""
        chars = self._chars(str(inner[0][0]), inner[0][1]) if len(inner) == 1 and _is_one(inner) else None
        if not wanted and _matches_everywhere(inner):
            return []
        if chars is None:
            is_dead = wanted and direction > 0 and not self.through(inner, [state])
            return [] if is_dead else [state]
        allowed = chars if wanted else _ANY & ~self._chars(str(inner[0][0]), inner[0][1], sure=True)
        before, after = state
        kept = _State(before, after & allowed) if direction > 0 else _State(before & allowed, after)
        return [kept] if kept.before and kept.after else []

    def _chars(self, kind: str, value: Any, *, sure: bool = False) -> int:
        """The characters of a set: all that may be in it, or with `sure` those alone that are."""
        if kind == "ANY":
            return _ALL if self._flags & re.DOTALL else _ALL & ~_NEWLINE
        items = value if kind == "IN" else [(kind, value)]
        is_denied = any(str(name) in ("NEGATE", "NOT_LITERAL") for name, _ in items)
        chars = 0
        for name, item in items:
            chars |= self._item(str(name), item, sure is not is_denied)
        return _ALL & ~chars if is_denied else chars

    def _item(self, name: str, value: Any, sure: bool) -> int:
        if name == "NEGATE":
            return 0
        if name == "CATEGORY":
            return self._category(str(value))
        if name not in ("LITERAL", "NOT_LITERAL", "RANGE"):
            raise _UnknownError
        low, high = (value, value) if name != "RANGE" else value
        chars = _letters(low, high)
        if high >= KNOWN:
            return chars if sure and not (low <= KNOWN and high == LAST) else chars | 0b1111 << KNOWN
        return chars if sure else chars | _OTHER_LETTERS * (chars >> 0x80 > 0)

    def _category(self, name: str) -> int:
        plain = name.removeprefix("CATEGORY_").removeprefix("NOT_")
        if plain not in _HIGH:
            raise _UnknownError
        chars = _category_chars(plain, bool(self._flags & re.ASCII))
        return _ALL & ~chars if "_NOT_" in name else chars


@cache
def _category_chars(name: str, is_ascii: bool) -> int:
    import regex

    found = regex.findall({"DIGIT": r"\d", "WORD": r"\w", "SPACE": r"\s"}[name], _CHARS, regex.A if is_ascii else 0)
    return _bits(found) | (0 if is_ascii else _HIGH[name] << KNOWN)


@lru_cache(maxsize=4096)
def _letters(low: int, high: int) -> int:
    """The known characters from one to another, in each case."""
    import regex

    if low >= KNOWN:
        return 0
    ends = "-".join(regex.escape(chr(end)) for end in (low, min(high, KNOWN - 1)))
    return _bits(regex.findall(f"[{ends}]", _CHARS, regex.I | regex.V0))


def _bits(chars: Iterable[str]) -> int:
    bits = 0
    for char in chars:
        bits |= 1 << ord(char)
    return bits


def _is_one(nodes: Any) -> bool:
    return str(nodes[0][0]) in ("LITERAL", "NOT_LITERAL", "IN", "ANY")


def _matches_everywhere(nodes: Any) -> bool:
    """Whether these match at every place, because they may match nothing and ask for nothing."""
    return all(
        (str(kind).endswith("_REPEAT") and value[0] == 0)
        or (str(kind) == "SUBPATTERN" and not (value[1] or value[2]) and _matches_everywhere(value[3]))
        or (str(kind) == "BRANCH" and any(map(_matches_everywhere, value[1])))
        for kind, value in nodes
    )


def _merge(states: Iterable[_State]) -> list[_State]:
    distinct = list(dict.fromkeys(states))
    if len(distinct) <= MOST_STATES:
        return distinct
    before = after = 0
    for state in distinct:
        before, after = before | state.before, after | state.after
    return [_State(before, after)]
