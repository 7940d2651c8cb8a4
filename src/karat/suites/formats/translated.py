"""Formats of other projects whose cases are said in the words of Karat 1: read and converted from the same words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from karat.model.suite import Suite
from karat.suites.diagnostics import Document, Path, PathDiagnostic
from karat.suites.formats.base import Format, Karat1Parts, ParsedSuite, SuiteCatalog, SuiteFile
from karat.suites.formats.builder import Expectations, SuiteBuilder
from karat.suites.formats.spelling import Commented
from karat.text.wording import quoted

_COPIED = ("category", "tags", "skip", "setup_prompts", "metadata")


class Expected(NamedTuple):
    """What is expected, as Karat 1 writes it, and where the file asks for each field of it."""

    fields: Mapping[str, Any]
    places: Mapping[str, Path] = {}


class TranslatedTurn(NamedTuple):
    """One prompt of a conversation, and what is expected of the answer to it."""

    prompt: str
    expected: Expected
    path: Path


class TranslatedCase(NamedTuple):
    """A case in the words of Karat 1. `more` holds its category, tags and metadata."""

    id: str
    prompt: str
    expected: Expected
    path: Path
    turns: Sequence[TranslatedTurn] = ()
    more: Mapping[str, Any] = {}


class Translation(NamedTuple):
    """A file in the words of Karat 1, with everything that is wrong with it."""

    cases: Sequence[TranslatedCase]
    problems: Sequence[PathDiagnostic] = ()
    name: str = ""
    document: Document | None = None


class TranslatedFormat(Format):
    """Base of formats that say their cases in the words of Karat 1."""

    def translate(self, file: SuiteFile) -> Translation:
        """The cases of a file. Raises RefusedError if it cannot be read at all."""
        raise NotImplementedError

    def read(self, file: SuiteFile, catalog: SuiteCatalog) -> ParsedSuite:
        found = self.translate(file)
        suite = SuiteBuilder(file, catalog, found.document)
        suite.diagnostics += found.problems
        for one in found.cases:
            case = suite.case(one.id, one.prompt, one.path, **one.more)
            _expect(case, one.expected, one.path)
            for turn in one.turns:
                _expect(case.turn(turn.prompt, turn.path), turn.expected, turn.path)
        return suite.build(name=found.name)

    def convert(self, file: SuiteFile, suite: Suite, catalog: SuiteCatalog) -> Karat1Parts:
        found = self.translate(file)
        origin = f"Karat 1 from {quoted(file.name)} ({self.title})."
        top = {"name": found.name} if found.name else {}
        return Karat1Parts(Commented(top), map(_spell, found.cases), origin, exact=True)


def _expect(place: Expectations, expected: Expected, path: Path) -> None:
    place.expect(expected.fields, path, expected.places)


def _spell(case: TranslatedCase) -> Commented:
    asked = {"turns": [*map(_spell_turn, case.turns)]} if case.turns else {"prompt": case.prompt}
    copied = {key: case.more[key] for key in _COPIED if case.more.get(key)}
    return Commented({"id": case.id, **copied, **asked, **_expected(case.expected)})


def _spell_turn(turn: TranslatedTurn) -> dict[str, Any]:
    return {"prompt": turn.prompt, **_expected(turn.expected)}


def _expected(expected: Expected) -> dict[str, Any]:
    return {"expected": dict(expected.fields)} if expected.fields else {}


class Problems:
    """Collects what is wrong with a file while it is translated."""

    def __init__(self) -> None:
        self.found: list[PathDiagnostic] = []

    def add(self, path: Path, message: str, slug: str = "invalid-value", *, key: bool = False) -> None:
        self.found.append(PathDiagnostic(path, message, slug, key=key))

    def unknown_keys(self, given: Mapping[str, object], known: Sequence[str], path: Path) -> None:
        """Refuse keys that the format does not have: what they ask for would be dropped in silence."""
        from karat.text.wording import did_you_mean

        for key in given:
            if key not in known and not key.startswith(("x-", "_")):
                message = f"unknown key {quoted(key)}. {did_you_mean(key, known)}".rstrip()
                self.add((*path, key), message, "unknown-field", key=True)


def in_order(values: Iterator[Any]) -> list[Any]:
    """Values without those that were there before, for values that have no hash."""
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found
