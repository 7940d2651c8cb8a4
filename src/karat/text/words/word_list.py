"""What a word list is, and how its entries are written down."""

from __future__ import annotations

import re

from msgspec import Struct


class WordList(Struct, frozen=True):
    """One published list; not `replaceable` if it is read when no suite is known, or does not depend on language."""

    name: str
    about: str
    entries: tuple[str, ...]
    replaceable: bool = True

    @property
    def alternatives(self) -> str:
        """A pattern for one of the entries, the longest first."""
        return "|".join(map(re.escape, sorted(self.entries, key=len, reverse=True)))


def lines(text: str) -> tuple[str, ...]:
    """One entry per line, or several with `; ` between them; a line that ends in `|` goes on in the next."""
    lines = "\n".join(line.strip() for line in text.strip().splitlines())
    return tuple(lines.replace("|\n", "|").replace(";\n", "; ").replace("; ", "\n").splitlines())


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())
