"""Which cases a user asks for: by id, with `*` and `?` for parts of one, by category, by tag, and by keyword.

With nothing but the standard library: `karat list` must start as fast as click alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from karat.suites.keyword import keyword


class Selection(NamedTuple):
    """What is asked for; None: all that the others leave."""

    cases: Sequence[str] | None = None
    categories: Sequence[str] | None = None
    tags: Sequence[str] | None = None
    keyword: str | None = None

    @classmethod
    def of_journal(cls, kept: Mapping[str, object]) -> Selection:
        """The selection of a recorded run."""
        cases, categories, tags = (_names(kept.get(key)) for key in KEPT_AS)
        return cls(cases, categories, tags, str(kept["keyword"]) if "keyword" in kept else None)

    @property
    def kept(self) -> dict[str, object]:
        """The selection as journals hold it."""
        asked = {**dict(zip(KEPT_AS, self, strict=False)), "keyword": self.keyword}
        return {
            key: value if isinstance(value, str) else list(value) for key, value in asked.items() if value is not None
        }

    def matcher(self) -> Callable[[str, str, Sequence[str]], bool]:
        """Whether a case of this id, category and tags is meant. Raises UsageError if the keyword cannot be read."""
        wanted = None if self.keyword is None else keyword(self.keyword)

        def means(name: str, category: str, tags: Sequence[str]) -> bool:
            if self.cases is not None and not any(is_meant(name, pattern) for pattern in self.cases):
                return False
            if self.categories is not None and category not in self.categories:
                return False
            if self.tags is not None and not set(tags) & set(self.tags):
                return False
            return wanted is None or wanted([part.lower() for part in (name, category, *tags)])

        return means


EVERYTHING = Selection()
KEPT_AS = ("cases", "category", "tags")


def _names(kept: object) -> list[str] | None:
    return [str(name) for name in kept] if isinstance(kept, list) else None


def is_meant(name: str, pattern: str) -> bool:
    """Whether this is the case of that id, or one of those that fit."""
    return name == pattern or (("*" in pattern or "?" in pattern) and fnmatchcase(name, pattern))
