"""Golden decisions and QA 1.0: a list of cases, each of which may ask in either way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path as FilePath
from typing import NamedTuple

from karat.model.check import Field, Vocabulary
from karat.model.suite import Case
from karat.suites.findings import Finding, Json, Path
from karat.suites.formats.cases import (
    DEFAULT_OUTCOME,
    LABEL,
    PASS_RATE,
    PROMPT,
    Asking,
    CaseReader,
    CasesShape,
    Examined,
    Notes,
    Read,
    Specs,
    declared,
    named,
    sound,
)
from karat.suites.shapes.containers import Key, RecordShape, UnionShape
from karat.suites.shapes.known_keys import KnownKeys
from karat.suites.shapes.scalars import AnyShape
from karat.suites.shapes.shape import Shape

FORMAT = "golden"
VERSION = "1.0"

_IN_EXPECTED = "golden-expected"
_IN_CASE = "golden-case"
_CONTAINS = "expected_contains"
_RATE = "min_pass_rate"
_CONSTRAINTS = "constraints"
_NO_CHECKS = (_RATE, _CONSTRAINTS)


class GoldenShape(NamedTuple):
    """A golden set in the words of some checks: its list, a case, and the checks that stand beside `expected`."""

    suite: CasesShape
    case: RecordShape
    beside: tuple[str, ...]


@lru_cache(maxsize=8)
def shape(fields: tuple[Field, ...]) -> GoldenShape:
    known = KnownKeys()
    beside = declared(fields, known, _IN_CASE)
    constraints = Key(AnyShape(), "What the decision had to respect; documentation, not checked.")
    asked = {**declared(fields, known, _IN_EXPECTED), _RATE: PASS_RATE, _CONSTRAINTS: constraints}
    inside: Shape = RecordShape("Expected", "What is expected of a decision.", asked, known)
    if _CONTAINS in beside:
        inside = UnionShape((inside, beside[_CONTAINS].shape))
    keys = {
        "id": Key(LABEL, "A name that no other case of the set has.", required=True),
        "category": Key(LABEL, "What kind of case it is, to select by."),
        "input": Key(PROMPT, "What the agent is asked.", required=True),
        "expected": Key(inside, "What is expected of a decision, or the phrases that a QA answer contains."),
        _CONSTRAINTS: constraints,
        **beside,
    }
    known.add("in the case itself", keys)
    known.add("under 'expected'", asked)
    case = RecordShape("Case", "One input and what is expected of the answer.", keys, known)
    return GoldenShape(CasesShape(case), case, tuple(beside))


def read(tree: Sequence[Json], vocabulary: Vocabulary, askings: list[Asking] | None, folder: FilePath) -> Read:
    """The cases of a golden set. `folder`: where the texts are that it names."""
    made = shape(tuple(vocabulary.fields))
    reader = CaseReader(GoldenCases(made.case, made.beside), vocabulary, askings, folder)
    reader.read(tree, ())
    found = [*made.suite.examine(tree), *reader.findings]
    return Read(FORMAT, VERSION, tuple(reader.cases), found, reader.warnings, files=tuple(reader.files.values()))


class GoldenCases(NamedTuple):
    """How a golden set spells a case."""

    case_shape: RecordShape
    beside: tuple[str, ...]

    def askings(self, raw: Examined, path: Path, faults: set[Path]) -> list[Asking]:
        """Both kinds of keys as one `expected`, each still known by where it stands."""
        usable = sound(raw, [fault[:1] for fault in faults if fault[0] != "expected"])
        flat_keys = {name: usable[name] for name in self.beside if name in usable}
        inside = raw.get("expected", {})
        short = isinstance(inside, list)
        if short:
            inside = {} if any(fault[0] == "expected" for fault in faults) else {_CONTAINS: inside}
        inside = sound(inside, faults, "expected") if isinstance(inside, dict) else {}

        def where(field: str) -> Path:
            if field in flat_keys:
                return (*path, field)
            return (*path, "expected") if short and field == _CONTAINS else (*path, "expected", field)

        asked = {name: value for name, value in inside.items() if name not in _NO_CHECKS}
        return [Asking({**asked, **flat_keys}, path, where, whole=not faults)]

    def wrong(self, raw: Examined, path: Path, faults: set[Path]) -> Iterator[Finding]:
        if _CONTAINS in raw and isinstance(raw.get("expected"), list):
            message = f"a list in 'expected' is another spelling of '{_CONTAINS}', which is here too. Keep one."
            yield Finding((*path, "expected"), message, "duplicate-field", key=True)

    def case(self, raw: Examined, path: Path, specs: Sequence[Specs], notes: Notes) -> Case:
        kept = dict(named(notes)) if notes else {}
        expected = raw.get("expected")
        inside = expected if isinstance(expected, dict) else {}
        return Case(
            id=raw["id"],
            prompt=raw["input"],
            category=raw.get("category", ""),
            outcome=inside.get("outcome", DEFAULT_OUTCOME),
            checks=specs[0],
            min_pass_rate=inside.get(_RATE),
            metadata={**_constraints(inside, "expected."), **_constraints(raw), **kept},
        )


def _constraints(keys: Examined, where: str = "") -> dict[str, Json]:
    return {f"{where}{_CONSTRAINTS}": keys[_CONSTRAINTS]} if _CONSTRAINTS in keys else {}
