"""Formats of other projects whose cases are said in the words of Karat 1: read and converted from the same words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from karat.model.suite import Suite
from karat.suites.diagnostics import Document, Path, PathDiagnostic
from karat.suites.formats.base import Format, Karat1Parts, ParsedSuite, SuiteCatalog, SuiteFile
from karat.suites.formats.builder import Expectations, SuiteBuilder
from karat.suites.formats.spelling import Commented
from karat.text.wording import did_you_mean, quoted

Evaluators = Mapping[str, Mapping[str, Any]]
_COPIED = ("category", "tags", "skip", "setup_prompts", "metadata")


_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")


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
    metadata: Mapping[str, Any] = {}


class TranslatedFormat(Format):
    """Base of formats that say their cases in the words of Karat 1."""

    def translate(self, file: SuiteFile, evaluators: Evaluators) -> Translation:
        """The cases of a file. Raises RefusedError if it cannot be read at all.

        `evaluators`: what karat.toml says that evaluators of the other tool ask for.
        """
        raise NotImplementedError

    def read(self, file: SuiteFile, catalog: SuiteCatalog) -> ParsedSuite:
        found = self.translate(file, catalog.declared.evaluators)
        suite = SuiteBuilder(file, catalog, found.document)
        suite.diagnostics += found.problems
        for one in found.cases:
            case = suite.case(one.id, one.prompt, one.path, **one.more)
            _expect(case, one.expected, one.path)
            for turn in one.turns:
                _expect(case.turn(turn.prompt, turn.path), turn.expected, turn.path)
        return suite.build(name=found.name, metadata=found.metadata)

    def convert(self, file: SuiteFile, suite: Suite, catalog: SuiteCatalog) -> Karat1Parts:
        found = self.translate(file, catalog.declared.evaluators)
        origin = f"Karat 1 from {quoted(file.name)} ({self.title})."
        asked = {"name": found.name, "metadata": dict(found.metadata)}
        top = {key: value for key, value in asked.items() if value}
        return Karat1Parts(Commented(top), map(_spell, found.cases), origin, exact=True)


def _expect(place: Expectations, expected: Expected, path: Path) -> None:
    place.expect(expected.fields, path, expected.places)


def _spell(case: TranslatedCase) -> Commented:
    asked = {"turns": [*map(_spell_turn, case.turns)]} if case.turns else {"prompt": case.prompt}
    copied = {key: case.more[key] for key in _COPIED if case.more.get(key)}
    return Commented({"id": case.id, **copied, **asked, **_expected_table(case.expected)})


def _spell_turn(turn: TranslatedTurn) -> dict[str, Any]:
    return {"prompt": turn.prompt, **_expected_table(turn.expected)}


def _expected_table(expected: Expected) -> dict[str, Any]:
    return {"expected": dict(expected.fields)} if expected.fields else {}


class Problems:
    """Collects what is wrong with a file while it is translated."""

    def __init__(self) -> None:
        self.found: list[PathDiagnostic] = []

    def add(self, path: Path, message: str, slug: str = "invalid-value", *, key: bool = False) -> None:
        self.found.append(PathDiagnostic(path, message, slug, key=key))

    def refuse_unknown_keys(
        self, given: Iterable[str], known: Sequence[str], path: Path, *, only_near: bool = False
    ) -> None:
        """Refuse keys that the format does not have: what they ask for would be dropped in silence.

        `only_near`: the other tool takes any key as a note, so that only one that is nearly a known key is refused.
        """
        for key in given:
            if key in known or key.startswith(("x-", "_")):
                continue
            if (near := did_you_mean(key, known)) or not only_near:
                message = f"unknown key {quoted(key)}. {near}".rstrip()
                self.add((*path, key), message, "unknown-field", key=True)


def fill(template: Any, values: Mapping[str, Any]) -> Any:
    """A table of karat.toml with the values of `{{name}}`: as they are where the text is nothing else."""
    if isinstance(template, dict):
        return {key: fill(value, values) for key, value in template.items()}
    if isinstance(template, list):
        return [fill(value, values) for value in template]
    if not isinstance(template, str):
        return template
    whole = _PLACEHOLDER.fullmatch(template)
    if whole and whole[1] in values:
        return values[whole[1]]
    return _PLACEHOLDER.sub(lambda found: str(values.get(found[1], found[0])), template)


def add_fields(fields: dict[str, Any], more: Mapping[str, Any]) -> bool:
    """Ask for more; lists grow. False if both ask for the same field in ways that cannot be joined."""
    for key, value in more.items():
        there = fields.get(key)
        if there is None or there == value:
            fields[key] = value
        elif isinstance(there, list) and isinstance(value, list):
            fields[key] = [*there, *(one for one in value if one not in there)]
        elif isinstance(there, dict) and isinstance(value, dict) and there.keys().isdisjoint(value):
            fields[key] = {**there, **value}
        else:
            return False
    return True
