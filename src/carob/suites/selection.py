"""Which cases a user asks for: by id, with `*` and `?` for parts of one, by category (or a tag
of that name), by tag, and by keyword.

A `-k` expression is read as pytest reads it: parts of names with `and`, `or`, `not` and parentheses. Nothing is
evaluated. With nothing but the standard library: `carob run --list` must start as fast as click alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from carob.errors import NothingSelectedError, UsageError
from carob.text.wording import did_you_mean, join_words, quoted

if TYPE_CHECKING:
    from carob.model.suite import Suite

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
    def of_journal(cls, fields: Mapping[str, object]) -> Selection:
        """The selection of a recorded run."""
        cases, categories, tags = (_names(fields.get(key)) for key in KEPT_AS)
        return cls(cases, categories, tags, str(fields["keyword"]) if "keyword" in fields else None)

    @property
    def kept(self) -> dict[str, object]:
        """The selection as journals hold it."""
        chosen = {**dict(zip(KEPT_AS, self, strict=False)), "keyword": self.keyword}
        return {
            key: value if isinstance(value, str) else list(value) for key, value in chosen.items() if value is not None
        }

    def matcher(self) -> Callable[[str, str, Sequence[str]], bool]:
        """Whether a case of this id, category and tags is meant. Raises UsageError if the keyword cannot be read."""
        matches_keyword = None if self.keyword is None else keyword(self.keyword)

        def means(name: str, category: str, tags: Sequence[str]) -> bool:
            if self.cases is not None and not any(is_meant(name, pattern) for pattern in self.cases):
                return False
            if self.categories is not None and not {category, *tags} & set(self.categories):
                return False
            if self.tags is not None and not set(tags) & set(self.tags):
                return False
            return matches_keyword is None or matches_keyword([part.lower() for part in (name, category, *tags)])

        return means


EVERYTHING = Selection()
KEPT_AS = ("cases", "category", "tags")


def _names(field: object) -> list[str] | None:
    return [str(name) for name in field] if isinstance(field, list) else None


def is_meant(name: str, pattern: str) -> bool:
    """Whether this is the case of that id, or one of those that fit."""
    return name == pattern or (("*" in pattern or "?" in pattern) and fnmatchcase(name, pattern))


def select(suite: Suite, selection: Selection) -> Suite:
    """The suite with only the cases that are meant in every way that is given, in its own order."""
    if suite.rules and not suite.cases:
        fix = "Name it under `rules` in carob.toml, or in the `rules` of a suite that has cases."
        raise NothingSelectedError(
            "the file has rules and no cases, so there is nothing to run.", where=suite.file, fix=fix
        )
    if selection == EVERYTHING:
        return suite
    if selection.cases is not None:
        refuse_unknown(selection.cases, [case.id for case in suite.cases], suite.file)
    from msgspec.structs import replace  # `carob run --list` starts without it

    means = selection.matcher()
    cases = tuple([case for case in suite.cases if means(case.id, case.category, case.tags)])
    if not cases:
        raise NothingSelectedError("no case is selected.", where=suite.file, fix=_ways_out(suite, selection))
    return replace(suite, cases=cases)


def select_each(suites: Sequence[Suite], selection: Selection) -> list[Suite]:
    """What is selected of each suite. A case may be of any of them, and suites that have none are left out."""
    if len(suites) == 1:
        return [select(suites[0], selection)]
    ids = selection.cases
    refuse_unknown(ids or (), [c.id for suite in suites for c in suite.cases], ", ".join(s.file for s in suites))
    selected: list[Suite] = []
    empty: NothingSelectedError | None = None
    for suite in suites:
        ids_of_suite = ids and [name for name in ids if any(is_meant(case.id, name) for case in suite.cases)]
        try:
            selected.append(select(suite, selection._replace(cases=ids_of_suite)))
        except NothingSelectedError as error:
            empty = empty or error
    if not selected and empty:
        raise empty
    return selected


def refuse_unknown(ids: Iterable[str], case_ids: Sequence[str], where: str) -> None:
    """Raise UsageError for what is not an id and matches none."""
    every = set(case_ids)
    unknown = [
        name
        for name in dict.fromkeys(ids)
        if name not in every and not any(is_meant(case_id, name) for case_id in case_ids)
    ]
    if unknown:
        names = join_words([quoted(name) for name in unknown], "and")
        subject = "no case has the id" if len(unknown) == 1 else "no cases have the ids"
        hints = " ".join(dict.fromkeys(did_you_mean(name, case_ids) for name in unknown[:_SHOWN]))
        raise UsageError(
            f"{subject} {names}.", where=where, fix=hints.strip() or _some("Ids are", case_ids), slug="unknown-case"
        )


def _ways_out(suite: Suite, selection: Selection) -> str:
    """What else could have been asked for: of the first thing that no case has."""
    if selection.cases is not None and not selection.cases:
        return "Name at least one case."
    tags = [tag for case in suite.cases for tag in case.tags]
    kinds = [case.category for case in suite.cases if case.category] + tags
    for choice, had, label in (
        (selection.categories, kinds, ("Categories are", "category")),
        (selection.tags, tags, ("Tags are", "tag")),
    ):
        if choice is None or set(choice) & set(had):
            continue
        if not had:
            return f"The cases of this suite have no {label[1]}."
        names_there = list(dict.fromkeys(had))
        hints = " ".join(dict.fromkeys(did_you_mean(name, names_there) for name in choice[:_SHOWN]))
        return hints.strip() or _some(label[0], names_there)
    choices = [("id", selection.cases), ("category", selection.categories), ("tag", selection.tags)]
    names = [name for name, choice in choices if choice is not None] + ["keyword"] * (selection.keyword is not None)
    if len(names) == 1:
        return f"No case has a name with that {names[0]}; see `carob run --list`."
    both = "both " if len(names) == 2 else ""
    return f"No case has {both}that {' and that '.join(names)}."


def _some(label: str, names: Sequence[str]) -> str:
    first_names = [quoted(name) for name in names[:_SHOWN]]
    return f"{label} {', '.join(first_names)}{' ...' if len(names) > _SHOWN else ''}."


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
        while token := _TOKEN.match(self._expression, at):
            at = token.end()
            if token["wrong"]:
                self._word, self._column = token["wrong"], token.start("wrong") + 1
                raise self._wrong("names with `and`, `or`, `not` and parentheses")
            yield token["mark"] or token["name"], token.start(token.lastgroup or 0) + 1
        yield _END, len(self._expression) + 1

    def _wrong(self, expected: str) -> UsageError:
        actual = repr(self._word) if self._word else "the end"
        message = f"-k {self._expression!r}, column {self._column}: expected {expected}, found {actual}."
        return UsageError(message, fix="Write it as in -k 'refund and not slow'.", slug="bad-keyword")
