"""`-k` expressions as pytest reads them: parts of names with `and`, `or`, `not` and parentheses. Nothing is evaluated.

With nothing but the standard library: `karat list` must start as fast as click alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from karat.errors import UsageError

Matcher = Callable[[Sequence[str]], bool]
"""Whether one of the names, in small letters, is meant."""

_TOKEN = re.compile(r"\s*(?:(?P<mark>[()])|(?P<name>[\w:+\-.\[\]\\/*]+)|(?P<wrong>\S))")
_DEEPEST = 100
_END = ""


def keyword(expression: str) -> Matcher:
    """What tells by its names whether a case is meant; a name is meant where the part stands anywhere in it."""
    if not expression.strip():
        return lambda names: True
    reading = _Reading(expression)
    matcher = reading.either(0)
    reading.expect(_END)
    return matcher


class _Reading:
    """An expression being read, one word at a time."""

    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._words = self._tokens()
        self._word, self._column = next(self._words)

    def either(self, depth: int) -> Matcher:
        parts = [self._both(depth)]
        while self._take("or"):
            parts.append(self._both(depth))
        return parts[0] if len(parts) == 1 else lambda names: any(part(names) for part in parts)

    def expect(self, word: str) -> None:
        if self._word != word:
            raise self._wrong({_END: "its end", ")": "a right parenthesis"}[word])
        if word != _END:
            self._word, self._column = next(self._words)

    def _both(self, depth: int) -> Matcher:
        parts = [self._not(depth)]
        while self._take("and"):
            parts.append(self._not(depth))
        return parts[0] if len(parts) == 1 else lambda names: all(part(names) for part in parts)

    def _not(self, depth: int) -> Matcher:
        if depth > _DEEPEST:
            raise self._wrong("fewer of them within each other")
        if self._take("not"):
            inner = self._not(depth + 1)
            return lambda names: not inner(names)
        if self._take("("):
            inner = self.either(depth + 1)
            self.expect(")")
            return inner
        word = self._word.lower()
        if word in ("", ")", "and", "or"):
            raise self._wrong("a name, `not` or a left parenthesis")
        self._word, self._column = next(self._words)
        return lambda names: any(word in name for name in names)

    def _take(self, word: str) -> bool:
        if self._word != word:
            return False
        self._word, self._column = next(self._words)
        return True

    def _tokens(self) -> Iterator[tuple[str, int]]:
        at = 0
        while found := _TOKEN.match(self._expression, at):
            at = found.end()
            if found["wrong"]:
                self._word, self._column = found["wrong"], found.start("wrong") + 1
                raise self._wrong("names with `and`, `or`, `not` and parentheses")
            yield found["mark"] or found["name"], found.start(found.lastgroup or 0) + 1
        yield _END, len(self._expression) + 1

    def _wrong(self, wanted: str) -> UsageError:
        found = repr(self._word) if self._word else "the end"
        message = f"-k {self._expression!r}, column {self._column}: expected {wanted}, found {found}."
        return UsageError(message, fix="Write it as in -k 'refund and not slow'.", slug="bad-keyword")
