"""Which cases a user asks for: by id, with `*` and `?` for parts of one, by category, by tag, and by keyword.

A `-k` expression is read as pytest reads it: parts of names with `and`, `or`, `not` and parentheses. Nothing is
evaluated. With nothing but the standard library: `karat list` must start as fast as click alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from karat.errors import NothingSelectedError, UsageError
from karat.text.wording import did_you_mean, join_words, quoted

if TYPE_CHECKING:
    from karat.model.suite import Suite

_SHOWN = 10
Matcher = Callable[[Sequence[str]], bool]
"""Whether one of the names, in small letters, is meant."""

_TOKEN = re.compile(r"\s*(?:(?P<mark>[()])|(?P<name>[\w:+\-.\[\]\\/*]+)|(?P<wrong>\S))")
_DEEPEST = 100
_END = ""


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


def select(suite: Suite, selection: Selection) -> Suite:
    """The suite with only the cases that are meant in every way that is given, in its own order."""
    if not suite.cases:
        fix = "Name it under `rules` in karat.toml, or in the `rules` of a suite that has cases."
        raise NothingSelectedError(
            "the file has rules and no cases, so there is nothing to run.", where=suite.file, fix=fix
        )
    if selection == EVERYTHING:
        return suite
    if selection.cases is not None:
        refuse_unknown(selection.cases, [case.id for case in suite.cases], suite.file)
    from msgspec.structs import replace  # `karat list` starts without it

    means = selection.matcher()
    cases = tuple([case for case in suite.cases if means(case.id, case.category, case.tags)])
    if not cases:
        raise NothingSelectedError("no case is selected.", where=suite.file, fix=_ways_out(suite, selection))
    return replace(suite, cases=cases)


def select_each(suites: Sequence[Suite], selection: Selection) -> list[Suite]:
    """What is selected of each suite. A case may be of any of them, and suites that have none are left out."""
    if len(suites) == 1:
        return [select(suites[0], selection)]
    asked = selection.cases
    refuse_unknown(asked or (), [c.id for suite in suites for c in suite.cases], ", ".join(s.file for s in suites))
    found: list[Suite] = []
    empty: NothingSelectedError | None = None
    for suite in suites:
        own = asked and [name for name in asked if any(is_meant(case.id, name) for case in suite.cases)]
        try:
            found.append(select(suite, selection._replace(cases=own)))
        except NothingSelectedError as error:
            empty = empty or error
    if not found and empty:
        raise empty
    return found


def refuse_unknown(ids: Iterable[str], known: Sequence[str], where: str) -> None:
    """Raise UsageError for what is not an id and matches none."""
    every = set(known)
    unknown = [
        name for name in dict.fromkeys(ids) if name not in every and not any(is_meant(one, name) for one in known)
    ]
    if unknown:
        named = join_words([quoted(name) for name in unknown], "and")
        what = "no case has the id" if len(unknown) == 1 else "no cases have the ids"
        hints = " ".join(dict.fromkeys(did_you_mean(name, known) for name in unknown[:_SHOWN]))
        raise UsageError(
            f"{what} {named}.", where=where, fix=hints.strip() or _some("Ids are", known), slug="unknown-case"
        )


def _ways_out(suite: Suite, selection: Selection) -> str:
    """What else could have been asked for: of the first thing that no case has."""
    if selection.cases is not None and not selection.cases:
        return "Name at least one case."
    kinds = [case.category for case in suite.cases if case.category]
    tags = [tag for case in suite.cases for tag in case.tags]
    for asked, had, label in (
        (selection.categories, kinds, ("Categories are", "category")),
        (selection.tags, tags, ("Tags are", "tag")),
    ):
        if asked is None or set(asked) & set(had):
            continue
        if not had:
            return f"The cases of this suite have no {label[1]}."
        known = list(dict.fromkeys(had))
        hints = " ".join(dict.fromkeys(did_you_mean(name, known) for name in asked[:_SHOWN]))
        return hints.strip() or _some(label[0], known)
    given = [("id", selection.cases), ("category", selection.categories), ("tag", selection.tags)]
    names = [name for name, asked in given if asked is not None] + ["keyword"] * (selection.keyword is not None)
    if len(names) == 1:
        return f"No case has a name with that {names[0]}; see `karat list`."
    both = "both " if len(names) == 2 else ""
    return f"No case has {both}that {' and that '.join(names)}."


def _some(label: str, names: Sequence[str]) -> str:
    shown = [quoted(name) for name in names[:_SHOWN]]
    return f"{label} {', '.join(shown)}{' ...' if len(names) > _SHOWN else ''}."


def keyword(expression: str) -> Matcher:
    """Decides by its names whether a case is selected; a name is selected where the part is anywhere in it."""
    if not expression.strip():
        return lambda names: True
    reading = _Reading(expression)
    matcher = reading.parse_or(0)
    reading.expect(_END)
    return matcher


class _Reading:
    """An expression being read, one word at a time."""

    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._words = self._tokens()
        self._word, self._column = next(self._words)

    def parse_or(self, depth: int) -> Matcher:
        parts = [self._parse_and(depth)]
        while self._take("or"):
            parts.append(self._parse_and(depth))
        return parts[0] if len(parts) == 1 else lambda names: any(part(names) for part in parts)

    def expect(self, word: str) -> None:
        if self._word != word:
            raise self._wrong({_END: "its end", ")": "a right parenthesis"}[word])
        if word != _END:
            self._word, self._column = next(self._words)

    def _parse_and(self, depth: int) -> Matcher:
        parts = [self._not(depth)]
        while self._take("and"):
            parts.append(self._not(depth))
        return parts[0] if len(parts) == 1 else lambda names: all(part(names) for part in parts)

    def _not(self, depth: int) -> Matcher:
        if depth > _DEEPEST:
            raise self._wrong("fewer nested parts")
        if self._take("not"):
            inner = self._not(depth + 1)
            return lambda names: not inner(names)
        if self._take("("):
            inner = self.parse_or(depth + 1)
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
