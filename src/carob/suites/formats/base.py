"""A suite format is one class: it recognises a file, reads it, gives its JSON Schema and is converted to Carob 1."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path as FilePath
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import msgspec

from carob.errors import UsageError
from carob.model.check import Field, Vocabulary
from carob.model.suite import Case, Suite
from carob.suites.diagnostics import Document, Json, Path, PathDiagnostic, RefusedError
from carob.suites.documents.source import read_bytes, utf8
from carob.suites.formats.spelling import Commented, WrittenCase, shared_rules, spell_cases
from carob.suites.shapes.containers import KnownKeys, RecordShape
from carob.suites.shapes.types import shape_of
from carob.text.wording import quoted

if TYPE_CHECKING:
    from carob.suites.listing import Row

DIALECT = "https://json-schema.org/draft/2020-12/schema"
YAML_SUFFIXES = (".yaml", ".yml")
PROJECT_MARKS = (".git", "carob.toml", "pyproject.toml", "package.json")

JsonObject = dict[str, Any]
"""An object whose shape was validated, which a type checker cannot follow."""


class CaseExpectations(NamedTuple):
    """What a case expects, or a turn of it, where the case is, and where each of the fields is.

    `whole`: nothing that is expected had to be left out for being of the wrong shape. `answered`: that there is an
    answer at all is judged even where no outcome is asked for.
    """

    expected: JsonObject
    case: Path
    where: Callable[[str], Path]
    whole: bool = True
    answered: bool = True
    turns: tuple[CaseExpectations, ...] = ()
    """What the turns of a conversation expect, where the case itself is asked for."""
    places: tuple[Path, ...] | None = None
    """Where each check comes from, for formats that do not write them as fields of `expected`."""


class SuiteRule(NamedTuple):
    """A rule that was read: the arguments of its check, its place, and the cases that it is for."""

    id: str
    args: Mapping[str, Json]
    label: str
    """What reports call it: `rules[2]`, or with the file that it is from."""
    needs_tags: tuple[str, ...] = ()
    excepts_tags: tuple[str, ...] = ()

    def is_for(self, tags: Sequence[str]) -> bool:
        """Whether it holds in a case with these tags."""
        is_meant = not self.needs_tags or not set(self.needs_tags).isdisjoint(tags)
        return is_meant and set(self.excepts_tags).isdisjoint(tags)


class ParsedSuite(NamedTuple):
    """A file as its format reads it. `target`: the one that it names, with its options, where the user names none.

    `document` is where the paths of its diagnostics are found, if that is not the JSON or YAML tree of the file.
    """

    version: str
    cases: tuple[Case, ...]
    diagnostics: Sequence[PathDiagnostic] = ()
    warnings: Sequence[PathDiagnostic] = ()
    name: str = ""
    description: str = ""
    metadata: Mapping[str, Json] = {}
    target: str = ""
    document: Document | None = None
    target_options: Mapping[str, Json] = {}
    target_is_code: bool = False
    draft: bool = False
    written: Sequence[WrittenCase] = ()
    """Its cases as they were put together, from which they are converted."""
    rules: Sequence[SuiteRule] = ()
    """What holds in every case of the file."""


class Carob1Parts(NamedTuple):
    """A suite as Carob 1: the keys around its cases, and the cases. `exact`: it reads back to the same cases."""

    top: Commented
    cases: Iterable[Commented]
    origin: str
    exact: bool = False
    tables: tuple[str, ...] = ()
    """Tables that it names, which must be next to it."""


class SuiteFile:
    """A file that is being read: its bytes, its text or its tree, and the other files that it names.

    `expectations` collects what each case expects, if that is wanted.
    """

    def __init__(self, data: bytes, path: str, *, locate: bool = False) -> None:
        self.data = data
        self.path = path
        self.expectations: list[CaseExpectations] | None = [] if locate else None
        self.others: dict[str, bytes] = {}
        """Other files that were read for it, by name: they belong to the hash of the suite."""
        self._parsed: Document | RefusedError | None = None

    @property
    def name(self) -> str:
        return PurePath(self.path).name

    @property
    def folder(self) -> FilePath:
        return FilePath(self.path).parent

    @property
    def is_yaml(self) -> bool:
        return PurePath(self.path).suffix.lower() in YAML_SUFFIXES

    @cached_property
    def text(self) -> str:
        """The text. Raises RefusedError if it is not UTF-8."""
        return utf8(self.data).decode()

    @property
    def document(self) -> Document:
        """The values of a JSON or, by its suffix, a YAML file. Raises RefusedError if it is neither."""
        if self._parsed is None:
            try:
                self._parsed = self._parse()
            except RefusedError as refused:
                self._parsed = refused
        if isinstance(self._parsed, RefusedError):
            raise self._parsed
        return self._parsed

    def peek_document(self) -> Document | None:
        """The document, if it was asked for and could be parsed."""
        return None if isinstance(self._parsed, RefusedError) else self._parsed

    @property
    def tree(self) -> Any:
        """The values of the document."""
        return self.document.tree

    def _parse(self) -> Document:
        # Each reader loads a parser, and a file needs one of them.
        if self.is_yaml:
            from carob.suites.documents.yaml import YamlDocument

            return YamlDocument(utf8(self.data))
        from carob.suites.documents.json import JsonDocument

        return JsonDocument(utf8(self.data))

    @cached_property
    def root(self) -> FilePath:
        """The folder that a file of a suite may not be outside of: that of its project, else its own."""
        folder = FilePath(os.path.realpath(self.folder))
        return next(
            (up for up in (folder, *folder.parents) if any((up / mark).exists() for mark in PROJECT_MARKS)), folder
        )

    def refuse_outside(self, name: str, path: Path = ()) -> None:
        """Raise RefusedError for a file outside of the project of the suite."""
        if "\0" in name:
            raise RefusedError(PathDiagnostic(path, f"{quoted(name)} is not the name of a file.", "missing-file"))
        full = FilePath(os.path.realpath(self.folder / name))
        if os.path.isabs(name) or not full.is_relative_to(os.path.realpath(self.root)):
            message = f"{quoted(name)} is outside the project of the suite. Move it inside{self._wider_root(full)}."
            raise RefusedError(PathDiagnostic(path, message, "outside"))

    def _wider_root(self, outside: FilePath) -> str:
        """Where the project of the suite would have to begin to have a file in it, if that is not everywhere."""
        common = FilePath(os.path.commonpath([outside, os.path.realpath(self.root)]))
        if common == FilePath(common.anchor):
            return ""
        return f", or make {os.path.relpath(common, os.path.realpath(self.folder))} the project: put a carob.toml there"

    def read_other(self, name: str, path: Path = ()) -> bytes:
        """The bytes of a file that the suite names at `path`, in its project. Raises RefusedError."""
        self.refuse_outside(name, path)
        return self.read_named(name, self.folder / name, name, path)

    def read_named(self, key: str, file: FilePath, name: str, named_at: Path) -> bytes:
        """The bytes of a file, read once: they belong to the hash of the suite. Raises RefusedError."""
        if key not in self.others:
            try:
                self.others[key] = read_bytes(file)
            except UsageError as error:
                message = f"{quoted(name)}: {error.message} {error.fix}".rstrip()
                raise RefusedError(PathDiagnostic(named_at, message, error.slug)) from None
        return self.others[key]


class SuiteCatalog(Vocabulary, Protocol):
    """What reading a suite needs to know: the checks, and the formats that suites may have."""

    @property
    def formats(self) -> Sequence[Format]: ...


class Format:
    """Base of every suite format. `description` completes "a suite is ..."; `title` is that of its JSON Schema.

    `shape` is the typed dictionary that a JSON or YAML file of this format is: the JSON Schema follows from it, and
    `SuiteBuilder.validate` checks a tree against it.
    """

    name: ClassVar[str]
    title: ClassVar[str] = ""
    description: ClassVar[str] = ""
    shape: ClassVar[type | None] = None

    def recognizes(self, file: SuiteFile) -> bool:
        """Whether a file is of this format, by its name, its bytes or its tree."""
        raise NotImplementedError

    def read(self, file: SuiteFile, catalog: SuiteCatalog) -> ParsedSuite:
        """The cases of a file, and everything that is wrong with it, by path."""
        raise NotImplementedError

    def schema(self, catalog: SuiteCatalog) -> dict[str, Any]:
        """The JSON Schema of a file, with every check that the catalog knows."""
        if self.shape is None:
            return {"$schema": DIALECT, "title": self.title or self.name, "description": self.description}
        defs: dict[str, Any] = {}
        return complete_schema(_record(self.shape).full_schema(defs), self.title or self.name, defs)

    def validate(self, tree: object) -> Sequence[PathDiagnostic]:
        """What is wrong with a tree by its `shape`."""
        return () if self.shape is None else _record(self.shape).validate(tree)

    def convert(self, file: SuiteFile, suite: Suite, catalog: SuiteCatalog) -> Carob1Parts:
        """The same suite as Carob 1; what has no equal there is a comment, and counted."""
        top = {key: value for key in ("name", "description", "metadata") if (value := getattr(suite, key))}
        origin = f"Carob 1 from {quoted(file.name)} ({self.title or self.name})."
        if rules := shared_rules(suite.cases):
            top["rules"] = [rule["rule"] for rule in map(msgspec.json.decode, rules)]
        parsed_cases = self.read(file, catalog).written
        exact = bool(parsed_cases) and all(case.is_plain for case in parsed_cases)
        return Carob1Parts(Commented(top), spell_cases(suite.cases, parsed_cases, catalog), origin, exact)

    def fields(self, version: str, all_fields: Iterable[Field]) -> frozenset[str]:
        """The fields of checks that a suite of this version may use: those that `carob audit` may advise."""
        return frozenset(field.name for field in all_fields)

    def rows(self, file: SuiteFile) -> list[Row] | None:
        """Id, category and prompt of each case where that is much faster than reading them; None to read them."""
        return None


def _record(shape: type) -> RecordShape:
    known_keys = KnownKeys()
    record = shape_of(shape, known_keys)
    if not isinstance(record, RecordShape):
        raise TypeError(f"`shape` is {shape!r}, not a TypedDict")
    return record


def complete_schema(schema: dict[str, Any], title: str, defs: dict[str, Any]) -> dict[str, Any]:
    """A JSON Schema (2020-12) with its title and the definitions that it refers to."""
    return {"$schema": DIALECT, **schema, "title": title, "$defs": defs}
