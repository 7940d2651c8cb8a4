"""Patterns that are compiled when they are first used: a command needs few of the two hundred that there are.

Looking for a word costs a hundredth of looking for a pattern, so one that needs a word is tried where that word is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from re import Pattern
from re import compile as compile_pattern
from typing import TYPE_CHECKING, AnyStr, cast

if TYPE_CHECKING:
    from regex import Pattern as Regex

_USES = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split", "pattern", "flags")


class _Lazy:
    """It becomes the pattern in all that is asked of it, so that only the first use costs more."""

    def __init__(self, compiled: Callable[[], object]) -> None:
        self._compiled = compiled

    def __getattr__(self, name: str) -> object:
        compiled = self._compiled()
        vars(self).update({use: getattr(compiled, use) for use in _USES})
        return getattr(compiled, name)


def pattern(source: AnyStr, flags: int = 0) -> Pattern[AnyStr]:
    """Like `re.compile`, later."""
    return cast("Pattern[AnyStr]", _Lazy(lambda: compile_pattern(source, flags)))


def regex(source: str, flags: int = 0) -> Regex[str]:
    """Like `regex.compile`, later."""

    def compile_now() -> Regex[str]:
        from regex import compile  # the module is loaded by the first one that is used

        return compile(source, flags)

    return cast("Regex[str]", _Lazy(compile_now))


def small_letters(text: str) -> str:
    """The text in small letters, those that patterns take for others if they ignore case as these."""
    small = text.lower()
    return small if small.isascii() else small.replace("i\u0307", "i").replace("ı", "i").replace("ſ", "s")


def holds_any(small: str, words: Iterable[str]) -> bool:
    """Whether a text in small letters holds one of the words, or a part of one, so that a pattern is worth trying."""
    return any(map(small.__contains__, words))


def begins(words: Iterable[str]) -> str:
    """A pattern for places where one of the words may begin: elsewhere none of them is tried."""
    return f"(?=[{''.join(sorted({word[0] for word in words}))}])"
