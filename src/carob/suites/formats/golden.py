"""Golden decisions and QA 1.0: a list of cases, each of which may ask in either way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from carob.model.check import Field
from carob.model.suite import Suite
from carob.rules.reading import EACH, FORMS
from carob.suites.diagnostics import Json, Path, PathDiagnostic
from carob.suites.formats.base import Carob1Parts, JsonObject, ParsedSuite, SuiteCatalog, SuiteFile, complete_schema
from carob.suites.formats.builder import check_keys, expected_shape
from carob.suites.formats.language import (
    LABEL,
    NO_CHECKS,
    PASS_RATE,
    PROMPT,
    CaseReader,
    CasesShape,
    Language,
    add_metadata,
    any_of,
)
from carob.suites.formats.spelling import Commented
from carob.suites.listing import is_golden_set
from carob.suites.shapes.containers import Key, KnownKeys, RecordShape, UnionShape
from carob.suites.shapes.scalars import AnyShape, Shape
from carob.text.wording import quoted

VERSION = "1.0"

_CONTAINS = "expected_contains"
_CONSTRAINTS = "constraints"
_LABELS = ("id", "category")


class GoldenShape(NamedTuple):
    """A golden set in the words of some checks: its list, a case, and the checks that are next to `expected`."""

    suite: CasesShape
    case: RecordShape
    flat_fields: tuple[str, ...]


@lru_cache(maxsize=8)
def shape(fields: Mapping[str, Field]) -> GoldenShape:
    known_keys = KnownKeys()
    flat_fields = check_keys({name: field for name, field in fields.items() if field.in_case}, known_keys)
    constraints = Key(AnyShape(), "What the decision had to respect; documentation, not checked.")
    inner = {name: field for name, field in fields.items() if not field.in_case}
    expected = expected_shape(
        inner, known_keys, "What is expected of a decision.", min_pass_rate=PASS_RATE, constraints=constraints
    )
    inside: Shape = expected
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
    known_keys.add("in the case itself", keys)
    known_keys.add("in a rule, in 'rules' of a file with 'carob: 1'", (EACH, *FORMS))
    known_keys.add("under 'expected'", expected.keys)
    case = RecordShape("Case", "One input and what is expected of the answer.", keys, known_keys)
    return GoldenShape(CasesShape(case), case, tuple(flat_fields))


class GoldenSet(Language):
    """Inputs, and what is expected of a decision or of an answer."""

    name = "golden"
    title = "Carob golden set"
    description = (
        "a list of cases with 'input' and an 'expected' object (golden decisions), "
        "or with 'input' and 'expected_contains' or 'must_not_contain' (golden QA)"
    )

    def recognizes(self, file: SuiteFile) -> bool:
        return is_golden_set(file.tree)

    def read(self, file: SuiteFile, catalog: SuiteCatalog) -> ParsedSuite:
        shapes = shape(catalog.fields)
        reader = CaseReader(self, shapes.case, file, catalog)
        reader.read(file.tree, ())
        diagnostics = [*shapes.suite.validate(file.tree), *reader.diagnostics]
        return ParsedSuite(VERSION, tuple(reader.cases), diagnostics, reader.warnings)

    def case_converter(self, catalog: SuiteCatalog) -> Callable[[JsonObject], Commented]:
        return partial(_convert_case, shape(catalog.fields).flat_fields)

    def find_contradictions(self, raw: JsonObject, path: Path, faults: set[Path]) -> Iterator[PathDiagnostic]:
        if _CONTAINS in raw and isinstance(raw.get("expected"), list):
            message = f"a list in 'expected' is another spelling of '{_CONTAINS}', which is here too. Keep one."
            yield PathDiagnostic((*path, "expected"), message, "duplicate-field", key=True)

    def schema(self, catalog: SuiteCatalog) -> JsonObject:
        defs: JsonObject = {}
        schema = shape(catalog.fields).suite.schema(defs)
        _add_rules(defs)
        return complete_schema(schema, self.title, defs)

    def convert(self, file: SuiteFile, suite: Suite, catalog: SuiteCatalog) -> Carob1Parts:
        origin = (
            f"Carob 1 from the golden set {quoted(file.name)}, "
            "with 'input' renamed to 'prompt' and expectations in 'expected'."
        )
        return Carob1Parts(Commented({}), map(self.case_converter(catalog), file.tree), origin, exact=True)

    def fields(self, version: str, all_fields: Iterable[Field]) -> frozenset[str]:
        return frozenset(field.name for field in all_fields if field.since != "1")


def _add_rules(defs: JsonObject) -> None:
    case = defs["Case"]
    flat_fields = [
        key for key in case["properties"] if key not in ("id", "input", "category", "constraints", "metadata")
    ]
    case["anyOf"] = any_of(flat_fields)
    case["not"] = {"required": ["expected", "expected_contains"], "properties": {"expected": {"type": "array"}}}
    expectations = any_of(key for key in defs["Expected"]["properties"] if key not in NO_CHECKS)
    case["if"] = {"not": {"anyOf": any_of(key for key in flat_fields if key != "expected")}}
    case["then"] = {"properties": {"expected": {"anyOf": [{"type": "array"}, {"anyOf": expectations}]}}}


def _convert_case(flat_fields: Sequence[str], raw: JsonObject) -> Commented:
    """Keys next to `expected` go into it, constraints into the metadata."""
    inside = raw.get("expected", {})
    is_short = isinstance(inside, list)
    expected = {_CONTAINS: inside} if is_short else dict(inside) if isinstance(inside, dict) else {}
    moved: dict[str, Path] = {_CONTAINS: ("expected",)} if is_short else {}
    notes: dict[str, Json] = {}
    if _CONSTRAINTS in expected:
        notes[f"expected.{_CONSTRAINTS}"] = expected.pop(_CONSTRAINTS)
    if _CONSTRAINTS in raw:
        notes[_CONSTRAINTS] = raw[_CONSTRAINTS]
    comments = ["Moved into metadata, where they are not judged either: constraints."] if notes else []
    for name in flat_fields:
        if name in raw:
            expected[name] = raw[name]
            moved[name] = (name,)
    converted_keys = (*_LABELS, "input", "expected", _CONSTRAINTS, "metadata", *flat_fields)
    labels = {key: raw[key] for key in _LABELS if key in raw}
    other_keys = {key: value for key, value in raw.items() if key not in converted_keys}
    words = {**labels, "prompt": raw.get("input", ""), **other_keys, **add_metadata(raw, notes), "expected": expected}
    return Commented(words, comments, moved)
