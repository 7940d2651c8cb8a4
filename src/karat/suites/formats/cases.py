"""What the formats share on the way from a tree to cases."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeGuard

from msgspec import structs

from karat.errors import UsageError
from karat.model.check import CheckSpec, Field, ParsedCheck, Vocabulary
from karat.model.suite import Case
from karat.suites.declared import read_declared, with_declared
from karat.suites.diagnostics import Json, Path, PathDiagnostic, RefusedError, render
from karat.suites.documents.source import read_bytes, utf8
from karat.suites.formats.base import CaseExpectations, JsonObject, SuiteFile
from karat.suites.shapes.containers import FILLER, NOTE, Key, KnownKeys, ListShape, RecordShape
from karat.suites.shapes.scalars import FINE, NOT_BLANK, ONE_LINE, Found, NumberShape, Schema, TextShape, wrong_type
from karat.suites.shapes.types import shape_of
from karat.text.wording import quoted

DEFAULT_OUTCOME = "response_only"
NO_CHECKS = ("scoring", "min_pass_rate", "constraints", "metadata")
"""Keys of `expected` that no check has, in one format or another."""

TEXT = TextShape()
LABEL = TextShape(pattern=ONE_LINE)
PROMPT = TextShape(pattern=NOT_BLANK)
PASS_RATE = Key(
    NumberShape(over=0, most=1), "The share of repeats that must pass, over 0 and at most 1; all by default."
)

Notes = dict[Path, Json]
Specs = tuple[CheckSpec, ...]


class CasesShape(NamedTuple):
    """The list of cases, which is looked at one case at a time."""

    case: RecordShape
    words: str = "a list"
    types: tuple[type, ...] = (list,)

    def validate(self, value: object) -> Found:
        if not is_list(value):
            return wrong_type(self.words, value)
        return FINE if value else [PathDiagnostic((), "the suite has no cases.", "empty-suite")]

    def schema(self, known: dict[str, Schema]) -> Schema:
        return ListShape(self.case, fewest=1).schema(known)


def is_list(value: object) -> TypeGuard[Sequence[Json]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


class CaseFormat(Protocol):
    """How a format spells a case: its shape, what it asks, what is wrong between its fields, and the case itself."""

    @property
    def case_shape(self) -> RecordShape: ...
    def expectations(self, raw: JsonObject, path: Path, faults: set[Path]) -> Sequence[CaseExpectations]: ...
    def wrong(self, raw: JsonObject, path: Path, faults: set[Path]) -> Iterable[PathDiagnostic]: ...
    def case(self, raw: JsonObject, path: Path, specs: Sequence[Specs], notes: Notes) -> Case: ...


class UniqueIds:
    """The ids of a suite, each with the case that has it."""

    def __init__(self) -> None:
        self._first: dict[str, tuple[Path, str]] = {}

    def claim(self, name: str, path: Path, row: str = "") -> PathDiagnostic | None:
        """What is wrong where another case has the id already. `row`: the row of a table that the case is of."""
        claim = path, row
        first = self._first.setdefault(name, claim)
        if first is claim:
            return None
        place, row = first
        where = f"{render(place)}, {row}," if row else render(place)
        message = f"{where} already has the id {quoted(name)}. Give each case its own."
        return PathDiagnostic((*path, "id"), message, "duplicate-id")


class CaseReader:
    """Reads the cases of one file one after another, and holds on to nothing else of them.

    The file takes what each case expects, if that is wanted.
    """

    def __init__(self, dialect: CaseFormat, vocabulary: Vocabulary, file: SuiteFile) -> None:
        self._declared = read_declared(file.tree if isinstance(file.tree, dict) else {}, vocabulary.declared)
        self._dialect = dialect
        self._vocabulary = vocabulary
        self._file = file
        self._expectations = file.expectations
        self._of_files = frozenset(field.name for field in vocabulary.fields if field.holds_files)
        self._row = ""
        """Which row of a table the case is of that is being read."""
        self._ids = UniqueIds()
        self.cases: list[Case] = []
        self.diagnostics: list[PathDiagnostic] = []
        self.warnings: list[PathDiagnostic] = []

    def read(self, listed: object, prefix: Path) -> None:
        """Read the cases of a list. Those that are sound are in `cases` then, what is wrong in `diagnostics`."""
        for index, raw in enumerate(listed if is_list(listed) else ()):
            self._read(raw, (*prefix, index))

    def _read(self, raw: Json, path: Path) -> None:
        found = self._dialect.case_shape.validate(raw)
        notes, fillers, wrong = split_notes(raw, found) if found else NO_NOTES
        self.warnings += [diagnostic.under(*path) for diagnostic in fillers]
        self.diagnostics += [diagnostic.under(*path) for diagnostic in wrong]
        if isinstance(raw, dict):
            if isinstance(name := raw.get("id"), str) and (twice := self._ids.claim(name, path, self._row)):
                self.diagnostics.append(twice)
            self._add(raw, path, {diagnostic.path[:2] for diagnostic in wrong}, notes)

    def _add(self, raw: JsonObject, path: Path, faults: set[Path], notes: Notes) -> None:
        expectations = [*map(self._complete, self._dialect.expectations(raw, path, faults))]
        if not expectations:
            return
        asked = [list(self._vocabulary.read(expectation.expected)) for expectation in expectations]
        wrong = [
            diagnostic for pair in zip(expectations, asked, strict=True) for diagnostic in _find_diagnostics(*pair)
        ]
        if not wrong and all(map(_asks_nothing, expectations, asked)):
            message = "the case checks nothing. Say in 'expected' what you expect."
            wrong.append(PathDiagnostic(path, message, "no-checks"))
        self.diagnostics += [*wrong, *self._dialect.wrong(raw, path, faults)]
        self.warnings += [stray for expectation in expectations for stray in _strays(expectation, self._vocabulary)]
        if not faults:
            case = self._dialect.case(raw, path, [*map(_specs, expectations, asked)], notes)
            words = self._declared.words if case.replies else {}
            self.cases.append(structs.replace(case, words=words) if words else case)
            if self._expectations is not None:
                self._expectations.append(expectations[0]._replace(turns=tuple(expectations[1:])))

    def _complete(self, expectation: CaseExpectations) -> CaseExpectations:
        """What a case expects, with what is declared and the texts of the files that it names."""
        expected = with_declared(expectation.expected, self._declared)
        for field in self._of_files.intersection(expected):
            expected[field] = self._texts(expected[field], expectation.where(field))
        return CaseExpectations(expected, *expectation[1:])

    def _texts(self, names: Sequence[str], path: Path) -> dict[str, str]:
        texts, known = {}, self._file.others
        for index, name in enumerate(names):
            try:
                if name not in known:
                    known[name] = utf8(read_bytes(self._file.folder / name))
                texts[name] = known[name].decode()
            except UsageError as error:
                message = f"{quoted(name)} {error.message} Name a text file next to the suite."
                self.diagnostics.append(PathDiagnostic((*path, index), message, error.slug))
            except RefusedError as refused:
                file = str(self._file.folder / name)
                self.diagnostics += [diagnostic._replace(file=file) for diagnostic in refused.diagnostics]
        return texts


def _specs(expectation: CaseExpectations, asked: Sequence[ParsedCheck]) -> Specs:
    unasked = not expectation.answered and "outcome" not in expectation.expected
    return tuple([a.spec for a in asked if not (unasked and a.path == ("outcome",))])


def _find_diagnostics(expectation: CaseExpectations, asked: Sequence[ParsedCheck]) -> Iterator[PathDiagnostic]:
    for one in asked:
        for flaw in one.problems:
            path = (*expectation.where(str(one.path[0])), *one.path[1:], *flaw.path)
            yield PathDiagnostic(path, flaw.message, flaw.slug, flaw.key)


def _asks_nothing(expectation: CaseExpectations, asked: Sequence[ParsedCheck]) -> bool:
    return (
        expectation.whole and "outcome" not in expectation.expected and all(a.path[:1] == ("outcome",) for a in asked)
    )


def _strays(expectation: CaseExpectations, vocabulary: Vocabulary) -> Iterator[PathDiagnostic]:
    """Fields that only refine one that is not there."""
    for stray in vocabulary.unused_fields(expectation.expected) if expectation.whole else ():
        path = (*expectation.where(str(stray.path[0])), *stray.path[1:])
        yield PathDiagnostic(path, stray.message, stray.slug, key=True)


class SplitNotes(NamedTuple):
    """What validating a tree gave: notes, which were taken out of it; fillers, which were too; and what is wrong."""

    notes: Notes
    fillers: Sequence[PathDiagnostic]
    wrong: Sequence[PathDiagnostic]


NO_NOTES = SplitNotes({}, (), ())


def split_notes(tree: object, found: Iterable[PathDiagnostic]) -> SplitNotes:
    """Take notes and fillers out of a tree, as examining it found them."""
    notes: Notes = {}
    fillers, wrong = [], []
    for diagnostic in found:
        if diagnostic.slug == NOTE:
            notes[diagnostic.path] = _take(tree, diagnostic.path)
        elif diagnostic.slug == FILLER:
            _take(tree, diagnostic.path)
            fillers.append(diagnostic)
        else:
            wrong.append(diagnostic)
    return SplitNotes(notes, fillers, wrong)


def _take(tree: Any, path: Path) -> Json:
    for step in path[:-1]:
        tree = tree[step]
    taken: Json = tree.pop(path[-1])
    return taken


def name_notes(notes: Notes) -> Iterator[tuple[str, Json]]:
    """Notes by name: the entries of `metadata` as they are, notes from deeper down by their path."""
    deeper = {render(path): value for path, value in notes.items() if path != ("metadata",)}
    own = notes.get(("metadata",), {})
    for name, value in own.items() if isinstance(own, dict) else [("metadata", own)]:
        yield f"metadata.{name}" if name in deeper else name, value
    yield from deeper.items()


def sound_keys(keys: JsonObject, faults: Collection[Path], *place: str) -> JsonObject:
    """The keys of an object that nothing is wrong with, so that they can be read whatever the others hold."""
    if not faults:
        return keys
    wrong = {fault[: len(place) + 1] for fault in faults}
    return {key: value for key, value in keys.items() if (*place, key) not in wrong}


def check_keys(fields: Iterable[Field], known: KnownKeys) -> dict[str, Key]:
    """The keys that checks declare."""
    return {field.name: Key(shape_of(field.type, known), field.doc) for field in fields}


def any_of(keys: Iterable[str]) -> list[dict[str, object]]:
    """That at least one of these keys is there, in a JSON Schema."""
    return [{"required": [key]} for key in keys]


def add_metadata(raw: JsonObject, more: dict[str, Json]) -> JsonObject:
    """The metadata of an object with more in it, which gives way to what it has already."""
    if not more:
        return {"metadata": raw["metadata"]} if "metadata" in raw else {}
    own = raw.get("metadata", {})
    return {"metadata": {**more, **(own if isinstance(own, dict) else {"metadata": own})}}
