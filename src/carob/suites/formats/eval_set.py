"""Eval sets 0.1 to 0.3: an object with `cases`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from carob.model.check import Field
from carob.model.suite import Suite
from carob.suites.declared import declared_keys
from carob.suites.diagnostics import Json, Path, PathDiagnostic
from carob.suites.documents.yaml_text import text
from carob.suites.formats.base import Carob1Parts, JsonObject, ParsedSuite, SuiteCatalog, SuiteFile, complete_schema
from carob.suites.formats.builder import expected_shape
from carob.suites.formats.language import (
    LABEL,
    NO_CHECKS,
    PASS_RATE,
    PROMPT,
    SCORING,
    TEXT,
    CaseReader,
    CasesShape,
    Language,
    add_metadata,
    any_of,
    name_notes,
    scoring_shape,
    sound_keys,
    split_notes,
    weightless,
)
from carob.suites.formats.spelling import Commented
from carob.suites.listing import is_eval_set
from carob.suites.shapes.containers import Key, KnownKeys, ListShape, RecordShape
from carob.suites.shapes.scalars import AnyShape, ChoiceShape, Found, Schema
from carob.text.wording import join_words, quoted

VERSIONS = ("0.1", "0.2", "0.3")

_PATCHED = re.compile(r"\A([0-9]+\.[0-9]+)\.[0-9]+\Z")
_CAROB_1 = ("1", "1.0", "1.0.0")
"""What people write for the version of a Carob 1 suite."""
_SCORING_SINCE = "0.2"
_TOP = ("$schema", "version", "captured_at", "integration_baseline", "metadata", "cases")
"""Keys that do not stay as they are in Carob 1."""
_NOTES = ("captured_at", "integration_baseline")
_KEPT = ("$schema", "captured_at", "integration_baseline")


class VersionShape(ChoiceShape, frozen=True):
    """A version, which may have a patch number: that changes nothing."""

    def validate(self, value: object) -> Found:
        if str(value) in _CAROB_1:
            message = f"an eval set has no version {value}. A suite in Carob's own format has 'carob: 1' instead."
            return [PathDiagnostic((), message, "unknown-value")]
        return super().validate(without_patch(value))

    def schema(self, defs: dict[str, Schema]) -> Schema:
        known_ones = "|".join(str(version).replace(".", r"\.") for version in self.values)
        return {"type": "string", "pattern": rf"^({known_ones})(\.[0-9]+)?$"}


def without_patch(version: object) -> object:
    """`0.1.0` as `0.1`."""
    return _PATCHED.sub(r"\1", version) if isinstance(version, str) else version


class EvalSetShape(NamedTuple):
    """An eval set in the words of some checks."""

    suite: RecordShape
    case: RecordShape


@lru_cache(maxsize=8)
def shape(fields: Mapping[str, Field], groups: tuple[str, ...]) -> EvalSetShape:
    known_keys = KnownKeys()
    scoring = Key(scoring_shape(groups, known_keys), SCORING)
    expected = expected_shape(fields, known_keys, scoring=scoring, min_pass_rate=PASS_RATE)
    keys = {
        "id": Key(LABEL, "A name that is unique in the suite.", required=True),
        "category": Key(LABEL, "What kind of case it is, to select by."),
        "setup_prompts": Key(ListShape(PROMPT), "Prompts sent first in the same conversation, not judged."),
        "preconditions": Key(ListShape(TEXT), "What must be true before the case, as a note for people."),
        "prompt": Key(PROMPT, "What the agent is asked.", required=True),
        "expected": Key(expected, "What is expected of the answer.", required=True),
        "scoring": scoring,
    }
    case = RecordShape("Case", "One prompt and what is expected of the answer.", keys, known_keys)
    around = {
        "$schema": Key(TEXT, "The JSON Schema that editors check this file with."),
        "name": Key(TEXT, "The name of the suite."),
        "version": Key(VersionShape(VERSIONS), "The version of the format."),
        "description": Key(TEXT, "What the suite is for."),
        "captured_at": Key(AnyShape(), "When the expectations were written down."),
        "integration_baseline": Key(AnyShape(), "What the suite was written against."),
        **declared_keys(known_keys),
        "cases": Key(CasesShape(case), "The cases.", required=True),
    }
    about = "A Carob eval set: prompts, and what is expected of the answers."
    known_keys.add("at the top of the file", around)
    known_keys.add("in the case itself", keys)
    known_keys.add("under 'expected'", expected.keys)
    return EvalSetShape(RecordShape("EvalSet", about, around, known_keys), case)


class EvalSet(Language):
    """Prompts, and what is expected of the answers."""

    name = "eval-set"
    title = "Carob eval set"
    description = "an object with 'cases' (eval set)"

    def recognizes(self, file: SuiteFile) -> bool:
        return is_eval_set(file.tree)

    def read(self, file: SuiteFile, catalog: SuiteCatalog) -> ParsedSuite:
        tree = file.tree
        shapes = shape(catalog.fields, tuple(catalog.groups))
        notes, _, wrong = split_notes(tree, shapes.suite.validate(tree))
        reader = _Reader(self, shapes.case, file, catalog)
        reader.read(tree["cases"], ("cases",))
        if diagnostics := [*wrong, *reader.diagnostics]:
            return ParsedSuite("", (), _without_carob_1(tree, diagnostics, catalog))
        return ParsedSuite(
            reader.version,
            tuple(reader.cases),
            [],
            [*_versionless(tree), *reader.newer_fields(), *reader.warnings],
            name=tree.get("name", ""),
            description=tree.get("description", ""),
            metadata={key: tree[key] for key in _KEPT if key in tree} | dict(name_notes(notes)),
        )

    def schema(self, catalog: SuiteCatalog) -> JsonObject:
        defs: JsonObject = {}
        schema = shape(catalog.fields, tuple(catalog.groups)).suite.full_schema(defs)
        _add_rules(defs)
        return complete_schema(schema, self.title, defs)

    def case_converter(self, catalog: SuiteCatalog) -> Callable[[JsonObject], Commented]:
        return _convert_case

    def find_contradictions(self, raw: JsonObject, path: Path, faults: set[Path]) -> Iterator[PathDiagnostic]:
        expected = raw["expected"]
        if "scoring" not in raw and "scoring" not in expected:
            return
        if "scoring" in raw and "scoring" in expected:
            message = "scoring is in the case as well. Keep one."
            yield PathDiagnostic((*path, "expected", "scoring"), message, "duplicate-field", key=True)
        yield from weightless(sound_keys(raw, faults).get("scoring"), path)
        yield from weightless(sound_keys(expected, faults, "expected").get("scoring"), (*path, "expected"))

    def convert(self, file: SuiteFile, suite: Suite, catalog: SuiteCatalog) -> Carob1Parts:
        origin = f"Carob 1 from the eval set {quoted(file.name)}."
        return Carob1Parts(_convert_top(file.tree), map(_convert_case, file.tree["cases"]), origin, exact=True)

    def fields(self, version: str, all_fields: Iterable[Field]) -> frozenset[str]:
        newest = _numbers(version) or (sys.maxsize,)
        return frozenset(field.name for field in all_fields if _numbers(field.since) <= newest)


class _Reader(CaseReader):
    """Notes which fields of a suite are newer than the version that it names."""

    def __init__(self, language: Language, case_shape: RecordShape, file: SuiteFile, catalog: SuiteCatalog) -> None:
        super().__init__(language, case_shape, file, catalog)
        version = without_patch(file.tree.get("version", VERSIONS[-1]))
        self.version = version if isinstance(version, str) and version in VERSIONS else VERSIONS[-1]
        since = {name: field.since for name, field in catalog.fields.items()} | {"scoring": _SCORING_SINCE}
        self._newer = {name: first for name, first in since.items() if _numbers(first) > _numbers(self.version)}
        self._used: dict[str, tuple[Path, int]] = {}

    def _read(self, raw: Json, path: Path) -> None:
        super()._read(raw, path)
        if self._newer and isinstance(raw, dict):
            self._note_newer(raw, path)
            if isinstance(expected := raw.get("expected"), dict):
                self._note_newer(expected, (*path, "expected"))

    def _note_newer(self, keys: JsonObject, path: Path) -> None:
        for name in self._newer.keys() & keys.keys():
            first, count = self._used.get(name, ((*path, name), 0))
            self._used[name] = first, count + 1

    def newer_fields(self) -> Iterator[PathDiagnostic]:
        """One warning per field that the suite's version does not have yet, at its first use."""
        for name, (path, count) in self._used.items():
            more = f" It is used {count} times." if count > 1 else ""
            message = (
                f"this field is new in version {self._newer[name]}, the suite says {self.version}. "
                f"It is checked anyway.{more}"
            )
            yield PathDiagnostic(path, message, "newer-field", key=True)


def _versionless(tree: JsonObject) -> Iterator[PathDiagnostic]:
    if "version" not in tree:
        message = (
            f"no version given, read as an eval set {VERSIONS[-1]}. Write 'carob: 1' at the top for a suite in Carob's"
            f""" own format, or "version": "{VERSIONS[-1]}" for an eval set."""
        )
        yield PathDiagnostic(("version",), message, "missing-version")


def _without_carob_1(
    tree: JsonObject, diagnostics: Sequence[PathDiagnostic], catalog: SuiteCatalog
) -> Sequence[PathDiagnostic]:
    """What is wrong with a file; one problem and not many where it is a Carob 1 suite but for its first line."""
    from carob.suites.formats import carob1  # few eval sets are wrong in this way

    carob1_shape = carob1.shape(catalog.fields, tuple(catalog.groups))
    keys_by_depth = {1: carob1_shape.suite.keys, 3: carob1_shape.case.keys}
    unknown = (diagnostic for diagnostic in diagnostics if diagnostic.slug == "unknown-field")
    foreign = [
        diagnostic
        for diagnostic in unknown
        if str(diagnostic.path[-1]).lower() in keys_by_depth.get(len(diagnostic.path), ())
    ]
    if not foreign:
        return diagnostics
    instead = " in place of 'version'" if "version" in tree else " at the top"
    message = (
        f"this file has no 'carob: 1' and is read as an eval set, which has no {quoted(str(foreign[0].path[-1]))}."
        f" Write 'carob: 1'{instead}."
    )
    explained = {diagnostic.path for diagnostic in foreign} | {
        diagnostic.path for diagnostic in diagnostics if diagnostic.slug in ("missing-field", "unknown-value")
    }
    return [
        PathDiagnostic(("carob",), message, "missing-carob"),
        *(diagnostic for diagnostic in diagnostics if diagnostic.path not in explained),
    ]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def _add_rules(defs: JsonObject) -> None:
    """What holds between keys: something is expected, scoring is in one place, and a weight counts."""
    expected = defs["Expected"]
    expected["anyOf"] = any_of(key for key in expected["properties"] if key not in NO_CHECKS)
    defs["Case"]["not"] = {
        "required": ["scoring", "expected"],
        "properties": {"expected": {"type": "object", "required": ["scoring"]}},
    }
    defs["SoftScore"]["properties"]["weights"]["not"] = {"additionalProperties": {"const": 0}}


def _convert_top(tree: JsonObject) -> Commented:
    comments = []
    if "version" in tree:
        comments.append(f"Left out: version {text(tree['version'])}. Carob 1 knows every field.")
    if "$schema" in tree:
        comments.append(
            f"Left out: $schema {text(tree['$schema'])}, that of eval sets. See: carob lint --schema carob-1."
        )
    notes: dict[str, Json] = {key: tree[key] for key in _NOTES if key in tree}
    if notes:
        comments.append(f"Moved into metadata: {join_words(notes, 'and')}.")
    top = {key: value for key, value in tree.items() if key not in _TOP}
    return Commented({**top, **add_metadata(tree, notes)}, comments)


def _convert_case(raw: JsonObject) -> Commented:
    if "scoring" not in raw["expected"]:
        return Commented(raw)
    expected = dict(raw["expected"])
    scoring = expected.pop("scoring")
    return Commented({**raw, "expected": expected, "scoring": scoring}, ["'scoring' was in 'expected'."])
