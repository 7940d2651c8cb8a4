"""What the formats share on the way from a tree to cases."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any, NamedTuple, Protocol, TypeGuard

from karat.errors import UsageError
from karat.model.check import AskedCheck, Field, Vocabulary
from karat.model.suite import Case, CheckSpec
from karat.suites.documents.source import read_bytes, utf8
from karat.suites.findings import Finding, Json, Path, RefusedError, render
from karat.suites.shapes.containers import FILLER, NOTE, Key, ListShape, RecordShape
from karat.suites.shapes.known_keys import KnownKeys
from karat.suites.shapes.scalars import NOT_BLANK, ONE_LINE, NumberShape, TextShape
from karat.suites.shapes.shape import FINE, Found, Schema, wrong_type
from karat.suites.shapes.types import shape_of
from karat.text.wording import quoted

DEFAULT_OUTCOME = "response_only"

TEXT = TextShape()
LABEL = TextShape(pattern=ONE_LINE)
PROMPT = TextShape(pattern=NOT_BLANK)
PASS_RATE = Key(
    NumberShape(over=0, most=1), "The share of repeats that must pass, over 0 and at most 1; all by default."
)

Examined = dict[str, Any]
"""An object whose shape was looked at, which a type checker cannot follow."""
Notes = dict[Path, Json]
Specs = tuple[CheckSpec, ...]


class CasesShape(NamedTuple):
    """The list of cases, which is looked at one case at a time."""

    case: RecordShape
    words: str = "a list"
    types: tuple[type, ...] = (list,)

    def examine(self, value: object) -> Found:
        if not is_list(value):
            return wrong_type(self.words, value)
        return FINE if value else [Finding((), "the suite has no cases.", "empty-suite")]

    def schema(self, known: dict[str, Schema]) -> Schema:
        return ListShape(self.case, fewest=1).schema(known)


def is_list(value: object) -> TypeGuard[Sequence[Json]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


class Asking(NamedTuple):
    """What a case expects, or a turn of it, where the case stands, and where each of the fields does.

    `whole`: nothing that is expected had to be left out for being of the wrong shape. `answered`: that there is an
    answer at all is judged even where no outcome is asked for.
    """

    expected: Examined
    case: Path
    where: Callable[[str], Path]
    whole: bool = True
    answered: bool = True
    turns: tuple[Asking, ...] = ()
    """What the turns of a conversation expect, where the case itself is asked for."""


class Read(NamedTuple):
    """A file as its format reads it."""

    format: str
    version: str
    cases: tuple[Case, ...]
    findings: list[Finding]
    warnings: list[Finding]
    name: str = ""
    description: str = ""
    metadata: Mapping[str, Json] = {}
    files: tuple[bytes, ...] = ()
    """What the file names and the cases hold: tables, and texts that they are held against."""


class CaseFormat(Protocol):
    """How a format spells a case: its shape, what it asks, what is wrong between its fields, and the case itself."""

    @property
    def case_shape(self) -> RecordShape: ...
    def askings(self, raw: Examined, path: Path, faults: set[Path]) -> Sequence[Asking]: ...
    def wrong(self, raw: Examined, path: Path, faults: set[Path]) -> Iterable[Finding]: ...
    def case(self, raw: Examined, path: Path, specs: Sequence[Specs], notes: Notes) -> Case: ...


class CaseReader:
    """Reads the cases of one file one after another, and holds on to nothing else of them.

    `askings` takes what each case asks, if it is wanted. `folder`: where the files are that they name.
    """

    def __init__(
        self, dialect: CaseFormat, vocabulary: Vocabulary, askings: list[Asking] | None, folder: FilePath
    ) -> None:
        self._dialect = dialect
        self._vocabulary = vocabulary
        self._askings = askings
        self._folder = folder
        self._of_files = frozenset(field.name for field in vocabulary.fields if field.holds_files)
        self.files: dict[str, bytes] = {}
        self._row = ""
        """Which row of a table the case is of that is being read."""
        self._first: dict[str, tuple[Path, str]] = {}
        self.cases: list[Case] = []
        self.findings: list[Finding] = []
        self.warnings: list[Finding] = []

    def read(self, listed: object, prefix: Path) -> None:
        """Read cases that stand in a list. Those that are sound are in `cases` then, what is wrong in `findings`."""
        for index, raw in enumerate(listed if is_list(listed) else ()):
            self._read(raw, (*prefix, index))

    def _read(self, raw: Json, path: Path) -> None:
        told = self._dialect.case_shape.examine(raw)
        notes, fillers, wrong = sorted_out(raw, told) if told else NOTHING_TOLD
        self.warnings += [finding.under(*path) for finding in fillers]
        self.findings += [finding.under(*path) for finding in wrong]
        if isinstance(raw, dict):
            self._claim(raw.get("id"), path)
            self._add(raw, path, {finding.path[:2] for finding in wrong}, notes)

    def _claim(self, name: Json, path: Path) -> None:
        if not isinstance(name, str):
            return
        claim = path, self._row
        first = self._first.setdefault(name, claim)
        if first is not claim:
            place, row = first
            where = f"{render(place)}, {row}," if row else render(place)
            message = f"{where} has the id {quoted(name)} already. Give each case its own."
            self.findings.append(Finding((*path, "id"), message, "duplicate-id"))

    def _add(self, raw: Examined, path: Path, faults: set[Path], notes: Notes) -> None:
        askings = [self._with_texts(asking) for asking in self._dialect.askings(raw, path, faults)]
        if not askings:
            return
        asked = [list(self._vocabulary.read(asking.expected)) for asking in askings]
        wrong = [finding for pair in zip(askings, asked, strict=True) for finding in _flaws(*pair)]
        if not wrong and all(map(_asks_nothing, askings, asked)):
            message = "the case checks nothing. Say in 'expected' what the answer must hold."
            wrong.append(Finding(path, message, "no-checks"))
        self.findings += [*wrong, *self._dialect.wrong(raw, path, faults)]
        self.warnings += [stray for asking in askings for stray in _strays(asking, self._vocabulary)]
        if not faults:
            self.cases.append(self._dialect.case(raw, path, [*map(_specs, askings, asked)], notes))
            if self._askings is not None:
                self._askings.append(askings[0]._replace(turns=tuple(askings[1:])))

    def _with_texts(self, asking: Asking) -> Asking:
        """What a case asks, with the texts of the files that it names."""
        named = self._of_files & asking.expected.keys()
        texts = {field: self._texts(asking.expected[field], asking.where(field)) for field in named}
        return asking._replace(expected={**asking.expected, **texts}) if texts else asking

    def _texts(self, names: Sequence[str], path: Path) -> dict[str, str]:
        texts = {}
        for index, name in enumerate(names):
            try:
                if name not in self.files:
                    self.files[name] = utf8(read_bytes(self._folder / name))
                texts[name] = self.files[name].decode()
            except UsageError as error:
                message = f"{quoted(name)} {error.message} Name a text file next to the suite."
                self.findings.append(Finding((*path, index), message, error.slug))
            except RefusedError as refused:
                file = str(self._folder / name)
                self.findings += [finding._replace(file=file) for finding in refused.findings]
        return texts


def _specs(asking: Asking, asked: Sequence[AskedCheck]) -> Specs:
    unasked = not asking.answered and "outcome" not in asking.expected
    return tuple([a.spec for a in asked if not (unasked and a.path == ("outcome",))])


def _flaws(asking: Asking, asked: Sequence[AskedCheck]) -> Iterator[Finding]:
    for one in asked:
        for flaw in one.flaws:
            path = (*asking.where(str(one.path[0])), *one.path[1:], *flaw.path)
            yield Finding(path, flaw.message, flaw.slug, flaw.key)


def _asks_nothing(asking: Asking, asked: Sequence[AskedCheck]) -> bool:
    return asking.whole and "outcome" not in asking.expected and all(a.path[:1] == ("outcome",) for a in asked)


def _strays(asking: Asking, vocabulary: Vocabulary) -> Iterator[Finding]:
    """Fields that only refine one that is not there."""
    for stray in vocabulary.strays(asking.expected) if asking.whole else ():
        path = (*asking.where(str(stray.path[0])), *stray.path[1:])
        yield Finding(path, stray.message, stray.slug, key=True)


class SortedOut(NamedTuple):
    """What was told of a tree: notes, which were taken out of it; fillers, which were too; and what is wrong."""

    notes: Notes
    fillers: Sequence[Finding]
    wrong: Sequence[Finding]


NOTHING_TOLD = SortedOut({}, (), ())


def sorted_out(tree: object, told: Iterable[Finding]) -> SortedOut:
    """Take notes and fillers out of a tree, as examining it found them."""
    notes: Notes = {}
    fillers, wrong = [], []
    for finding in told:
        if finding.slug == NOTE:
            notes[finding.path] = _taken(tree, finding.path)
        elif finding.slug == FILLER:
            _taken(tree, finding.path)
            fillers.append(finding)
        else:
            wrong.append(finding)
    return SortedOut(notes, fillers, wrong)


def _taken(tree: Any, path: Path) -> Json:
    for step in path[:-1]:
        tree = tree[step]
    taken: Json = tree.pop(path[-1])
    return taken


def named(notes: Notes) -> Iterator[tuple[str, Json]]:
    """Notes by name: the entries of `metadata` as they are, notes from deeper down by their path."""
    deeper = {render(path): value for path, value in notes.items() if path != ("metadata",)}
    own = notes.get(("metadata",), {})
    for name, value in own.items() if isinstance(own, dict) else [("metadata", own)]:
        yield f"metadata.{name}" if name in deeper else name, value
    yield from deeper.items()


def sound(keys: Examined, faults: Collection[Path], *place: str) -> Examined:
    """The keys of an object that nothing is wrong with, so that they can be read whatever the others hold."""
    if not faults:
        return keys
    wrong = {fault[: len(place) + 1] for fault in faults}
    return {key: value for key, value in keys.items() if (*place, key) not in wrong}


def declared(fields: Sequence[Field], known: KnownKeys, spelling: str = "") -> dict[str, Key]:
    """The keys that checks declare, for one place of a format or for all."""
    return {f.name: Key(shape_of(f.type, known), f.doc) for f in fields if not spelling or spelling in f.formats}
