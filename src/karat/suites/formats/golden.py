"""Golden decisions and QA 1.0: a list of cases, each of which may ask in either way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from karat.model.check import Field
from karat.model.suite import Case, Suite
from karat.suites.diagnostics import Json, Path, PathDiagnostic
from karat.suites.formats.base import (
    CaseExpectations,
    Format,
    JsonObject,
    Karat1Parts,
    ParsedSuite,
    SuiteCatalog,
    SuiteFile,
    complete_schema,
)
from karat.suites.formats.cases import (
    DEFAULT_OUTCOME,
    LABEL,
    NO_CHECKS,
    PASS_RATE,
    PROMPT,
    CaseReader,
    CasesShape,
    Notes,
    Specs,
    add_metadata,
    any_of,
    check_keys,
    name_notes,
    sound_keys,
)
from karat.suites.formats.spelling import Commented
from karat.suites.listing import is_golden_set
from karat.suites.shapes.containers import Key, KnownKeys, RecordShape, UnionShape
from karat.suites.shapes.scalars import AnyShape, Shape
from karat.text.wording import quoted

VERSION = "1.0"

_CONTAINS = "expected_contains"
_RATE = "min_pass_rate"
_CONSTRAINTS = "constraints"
_NO_CHECKS = (_RATE, _CONSTRAINTS)
_LABELS = ("id", "category")


class GoldenShape(NamedTuple):
    """A golden set in the words of some checks: its list, a case, and the checks that are next to `expected`."""

    suite: CasesShape
    case: RecordShape
    flat_fields: tuple[str, ...]


@lru_cache(maxsize=8)
def shape(fields: tuple[Field, ...]) -> GoldenShape:
    known = KnownKeys()
    flat_fields = check_keys([field for field in fields if field.in_case], known)
    constraints = Key(AnyShape(), "What the decision had to respect; documentation, not checked.")
    inner = check_keys([field for field in fields if not field.in_case], known)
    asked = {**inner, _RATE: PASS_RATE, _CONSTRAINTS: constraints}
    inside: Shape = RecordShape("Expected", "What is expected of a decision.", asked, known)
    if _CONTAINS in flat_fields:
        inside = UnionShape((inside, flat_fields[_CONTAINS].shape))
    keys = {
        "id": Key(LABEL, "A name that is unique in the set.", required=True),
        "category": Key(LABEL, "What kind of case it is, to select by."),
        "input": Key(PROMPT, "What the agent is asked.", required=True),
        "expected": Key(inside, "What is expected of a decision, or the phrases that a QA answer contains."),
        _CONSTRAINTS: constraints,
        **flat_fields,
    }
    known.add("in the case itself", keys)
    known.add("under 'expected'", asked)
    case = RecordShape("Case", "One input and what is expected of the answer.", keys, known)
    return GoldenShape(CasesShape(case), case, tuple(flat_fields))


class GoldenSet(Format):
    """Inputs, and what is expected of a decision or of an answer."""

    name = "golden"
    title = "Karat golden set"
    description = (
        "a list of cases with 'input' and an 'expected' object (golden decisions), "
        "or with 'input' and 'expected_contains' or 'must_not_contain' (golden QA)"
    )

    def recognizes(self, file: SuiteFile) -> bool:
        return is_golden_set(file.tree)

    def read(self, file: SuiteFile, catalog: SuiteCatalog) -> ParsedSuite:
        made = shape(tuple(catalog.fields))
        reader = CaseReader(GoldenCases(made.case, made.flat_fields), catalog, file)
        reader.read(file.tree, ())
        found = [*made.suite.validate(file.tree), *reader.diagnostics]
        return ParsedSuite(VERSION, tuple(reader.cases), found, reader.warnings)

    def schema(self, catalog: SuiteCatalog) -> JsonObject:
        defs: JsonObject = {}
        made = shape(tuple(catalog.fields)).suite.schema(defs)
        _add_rules(defs)
        return complete_schema(made, self.title, defs)

    def convert(self, file: SuiteFile, suite: Suite, catalog: SuiteCatalog) -> Karat1Parts:
        flat_fields = shape(tuple(catalog.fields)).flat_fields
        origin = (
            f"Karat 1 from the golden set {quoted(file.name)}, "
            "with 'input' renamed to 'prompt' and expectations in 'expected'."
        )
        return Karat1Parts(Commented({}), (_convert_case(case, flat_fields) for case in file.tree), origin, exact=True)

    def fields(self, version: str, known: Iterable[Field]) -> frozenset[str]:
        return frozenset(field.name for field in known if field.since != "1")


class GoldenCases(NamedTuple):
    """How a golden set spells a case."""

    case_shape: RecordShape
    flat_fields: tuple[str, ...]

    def expectations(self, raw: JsonObject, path: Path, faults: set[Path]) -> list[CaseExpectations]:
        """Both kinds of keys as one `expected`, each each still known by its place."""
        usable = sound_keys(raw, [fault[:1] for fault in faults if fault[0] != "expected"])
        flat_keys = {name: usable[name] for name in self.flat_fields if name in usable}
        inside = raw.get("expected", {})
        short = isinstance(inside, list)
        if short:
            inside = {} if any(fault[0] == "expected" for fault in faults) else {_CONTAINS: inside}
        inside = sound_keys(inside, faults, "expected") if isinstance(inside, dict) else {}

        def where(field: str) -> Path:
            if field in flat_keys:
                return (*path, field)
            return (*path, "expected") if short and field == _CONTAINS else (*path, "expected", field)

        asked = {name: value for name, value in inside.items() if name not in _NO_CHECKS}
        return [CaseExpectations({**asked, **flat_keys}, path, where, whole=not faults)]

    def wrong(self, raw: JsonObject, path: Path, faults: set[Path]) -> Iterator[PathDiagnostic]:
        if _CONTAINS in raw and isinstance(raw.get("expected"), list):
            message = f"a list in 'expected' is another spelling of '{_CONTAINS}', which is here too. Keep one."
            yield PathDiagnostic((*path, "expected"), message, "duplicate-field", key=True)

    def case(self, raw: JsonObject, path: Path, specs: Sequence[Specs], notes: Notes) -> Case:
        kept = dict(name_notes(notes)) if notes else {}
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


def _constraints(keys: JsonObject, where: str = "") -> dict[str, Json]:
    return {f"{where}{_CONSTRAINTS}": keys[_CONSTRAINTS]} if _CONSTRAINTS in keys else {}


def _add_rules(defs: JsonObject) -> None:
    case = defs["Case"]
    flat_fields = [
        key for key in case["properties"] if key not in ("id", "input", "category", "constraints", "metadata")
    ]
    case["anyOf"] = any_of(flat_fields)
    case["not"] = {"required": ["expected", "expected_contains"], "properties": {"expected": {"type": "array"}}}
    asked = any_of(key for key in defs["Expected"]["properties"] if key not in NO_CHECKS)
    case["if"] = {"not": {"anyOf": any_of(key for key in flat_fields if key != "expected")}}
    case["then"] = {"properties": {"expected": {"anyOf": [{"type": "array"}, {"anyOf": asked}]}}}


def _convert_case(case: JsonObject, flat_fields: Sequence[str]) -> Commented:
    """A golden case. Keys next to `expected` go into it, constraints into the metadata."""
    given = case.get("expected", {})
    asked = dict(given) if isinstance(given, dict) else {"expected_contains": given}
    notes: dict[str, Json] = {}
    comments = []
    if "constraints" in asked:
        notes["expected.constraints"] = asked.pop("constraints")
    if "constraints" in case:
        notes["constraints"] = case["constraints"]
    if notes:
        comments.append("Moved into metadata, where they are not judged either: constraints.")
    asked |= {key: case[key] for key in flat_fields if key in case}
    moved = ("id", "category", "input", "expected", "constraints", "metadata", *flat_fields)
    kept = {key: value for key, value in case.items() if key not in moved}
    labels = {key: case[key] for key in _LABELS if key in case}
    return Commented(
        {**labels, "prompt": case["input"], **kept, **add_metadata(case, notes), "expected": asked}, comments
    )
