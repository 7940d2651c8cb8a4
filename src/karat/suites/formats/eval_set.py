"""Eval sets 0.1 to 0.3: an object with `cases`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path as FilePath
from typing import NamedTuple

from karat.model.check import Field, Vocabulary
from karat.model.suite import Case
from karat.suites.findings import Finding, Path
from karat.suites.formats.cases import (
    DEFAULT_OUTCOME,
    LABEL,
    PASS_RATE,
    PROMPT,
    TEXT,
    Asking,
    CaseReader,
    CasesShape,
    Examined,
    Notes,
    Read,
    Specs,
    declared,
    named,
    sorted_out,
    sound,
)
from karat.suites.formats.scoring import SCORING, read_scoring, scoring_shape, weightless
from karat.suites.shapes.containers import Key, ListShape, RecordShape
from karat.suites.shapes.known_keys import KnownKeys
from karat.suites.shapes.scalars import AnyShape, ChoiceShape
from karat.suites.shapes.shape import Found, Schema

FORMAT = "eval-set"
VERSIONS = ("0.1", "0.2", "0.3")

_PATCHED = re.compile(r"\A([0-9]+\.[0-9]+)\.[0-9]+\Z")
_NO_CHECKS = ("scoring", "min_pass_rate")
_SCORING_SINCE = "0.2"
_KEPT = ("$schema", "captured_at", "integration_baseline")


class VersionShape(ChoiceShape, frozen=True):
    """A version, which may have a patch number: that changes nothing."""

    def examine(self, value: object) -> Found:
        return super().examine(without_patch(value))

    def schema(self, known: dict[str, Schema]) -> Schema:
        known_ones = "|".join(str(one).replace(".", r"\.") for one in self.values)
        return {"type": "string", "pattern": rf"^({known_ones})(\.[0-9]+)?$"}


def without_patch(version: object) -> object:
    """`0.1.0` as `0.1`."""
    return _PATCHED.sub(r"\1", version) if isinstance(version, str) else version


class EvalSetShape(NamedTuple):
    """An eval set in the words of some checks."""

    suite: RecordShape
    case: RecordShape


@lru_cache(maxsize=8)
def shape(fields: tuple[Field, ...], groups: tuple[str, ...]) -> EvalSetShape:
    known = KnownKeys()
    scoring = Key(scoring_shape(groups, known), SCORING)
    asked = {**declared(fields, known, FORMAT), "scoring": scoring, "min_pass_rate": PASS_RATE}
    expected = RecordShape("Expected", "What is expected of the answer.", asked, known)
    keys = {
        "id": Key(LABEL, "A name that no other case of the suite has.", required=True),
        "category": Key(LABEL, "What kind of case it is, to select by."),
        "setup_prompts": Key(ListShape(PROMPT), "Prompts sent first in the same conversation, not judged."),
        "preconditions": Key(ListShape(TEXT), "What must hold before the case, for people to read."),
        "prompt": Key(PROMPT, "What the agent is asked.", required=True),
        "expected": Key(expected, "What is expected of the answer.", required=True),
        "scoring": scoring,
    }
    case = RecordShape("Case", "One prompt and what is expected of the answer.", keys, known)
    around = {
        "$schema": Key(TEXT, "The JSON Schema that editors check this file with."),
        "name": Key(TEXT, "The name of the suite."),
        "version": Key(VersionShape(VERSIONS), "The version of the format."),
        "description": Key(TEXT, "What the suite is for."),
        "captured_at": Key(AnyShape(), "When the expectations were written down."),
        "integration_baseline": Key(AnyShape(), "What the suite was written against."),
        "cases": Key(CasesShape(case), "The cases.", required=True),
    }
    about = "A Karat eval set: prompts, and what is expected of the answers."
    known.add("at the top of the file", around)
    known.add("in the case itself", keys)
    known.add("under 'expected'", asked)
    return EvalSetShape(RecordShape("EvalSet", about, around, known), case)


def read(tree: Examined, vocabulary: Vocabulary, askings: list[Asking] | None, folder: FilePath) -> Read:
    """The cases of an eval set. `folder`: where the texts are that it names."""
    made = shape(tuple(vocabulary.fields), tuple(vocabulary.groups))
    told = made.suite.examine(tree)
    notes, _, wrong = sorted_out(tree, told)
    dialect = EvalCases(made.case, vocabulary, without_patch(tree.get("version", VERSIONS[-1])))
    reader = CaseReader(dialect, vocabulary, askings, folder)
    reader.read(tree["cases"], ("cases",))
    found = [*wrong, *reader.findings]
    if found:
        return Read(FORMAT, "", (), found, [])
    return Read(
        FORMAT,
        dialect.version,
        tuple(reader.cases),
        [],
        [*_versionless(tree), *dialect.newer_fields(), *reader.warnings],
        name=tree.get("name", ""),
        description=tree.get("description", ""),
        metadata={key: tree[key] for key in _KEPT if key in tree} | dict(named(notes)),
        files=tuple(reader.files.values()),
    )


class EvalCases:
    """How an eval set spells a case."""

    def __init__(self, case_shape: RecordShape, vocabulary: Vocabulary, version: object) -> None:
        self.case_shape = case_shape
        self.version = version if isinstance(version, str) and version in VERSIONS else VERSIONS[-1]
        since = {f.name: f.since for f in vocabulary.fields if FORMAT in f.formats} | {"scoring": _SCORING_SINCE}
        self._newer = {name: first for name, first in since.items() if _numbers(first) > _numbers(self.version)}
        self._used: dict[str, tuple[Path, int]] = {}

    def askings(self, raw: Examined, path: Path, faults: set[Path]) -> list[Asking]:
        expected = raw.get("expected")
        if not isinstance(expected, dict):
            return []
        usable = sound(expected, faults, "expected")
        asked = {key: value for key, value in usable.items() if key not in _NO_CHECKS}
        return [Asking(asked, path, lambda field: (*path, "expected", field), whole=len(usable) == len(expected))]

    def wrong(self, raw: Examined, path: Path, faults: set[Path]) -> Iterator[Finding]:
        expected = raw["expected"]
        if "scoring" not in raw and "scoring" not in expected:
            return
        if "scoring" in raw and "scoring" in expected:
            message = "scoring stands in the case as well. Keep one of the two."
            yield Finding((*path, "expected", "scoring"), message, "duplicate-field", key=True)
        yield from weightless(sound(raw, faults).get("scoring"), path)
        yield from weightless(sound(expected, faults, "expected").get("scoring"), (*path, "expected"))

    def case(self, raw: Examined, path: Path, specs: Sequence[Specs], notes: Notes) -> Case:
        expected = raw["expected"]
        if self._newer:
            self._see(raw, path)
            self._see(expected, (*path, "expected"))
        return Case(
            id=raw["id"],
            prompt=raw["prompt"],
            category=raw.get("category", ""),
            setup_prompts=tuple(raw.get("setup_prompts", ())),
            preconditions=tuple(raw.get("preconditions", ())),
            outcome=expected.get("outcome", DEFAULT_OUTCOME),
            checks=specs[0],
            scoring=read_scoring(expected.get("scoring", raw.get("scoring"))),
            min_pass_rate=expected.get("min_pass_rate"),
            metadata=dict(named(notes)) if notes else {},
        )

    def _see(self, keys: Examined, path: Path) -> None:
        for name in self._newer.keys() & keys.keys():
            first, count = self._used.get(name, ((*path, name), 0))
            self._used[name] = first, count + 1

    def newer_fields(self) -> Iterator[Finding]:
        """One warning per field that the suite's version does not have yet, at its first use."""
        for name, (path, count) in self._used.items():
            more = f" It is used {count} times." if count > 1 else ""
            message = (
                f"this field is new in version {self._newer[name]}, the suite says {self.version}. "
                f"It is checked all the same.{more}"
            )
            yield Finding(path, message, "newer-field", key=True)


def _versionless(tree: Examined) -> Iterator[Finding]:
    if "version" not in tree:
        message = f'no version given, read as {VERSIONS[-1]}. Write "version": "{VERSIONS[-1]}".'
        yield Finding(("version",), message, "missing-version")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
