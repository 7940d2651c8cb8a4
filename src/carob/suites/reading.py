"""The one way from bytes to a suite: a file, its format, its cases one after another; and from a suite to Carob 1."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from carob.errors import ConfigError, SuiteError, UsageError
from carob.model.check import CheckSpec
from carob.model.suite import Suite, remember_catalog
from carob.suites.diagnostics import Document, Path, PathDiagnostic, RefusedError, problems
from carob.suites.formats.base import CaseExpectations, Format, SuiteCatalog, SuiteFile, SuiteRule
from carob.suites.formats.carob1 import Carob1
from carob.suites.formats.catalog import blame, detect_format
from carob.suites.formats.spelling import NO_EQUAL, Commented
from carob.suites.rules import with_rules
from carob.system.gc_pause import gc_paused
from carob.text.wording import join_words, pluralize, quoted, visible

if TYPE_CHECKING:
    from carob.suites.listing import Row

CheckKey: TypeAlias = tuple[int | None, str]
"""A check of a case: its turn from 1, or None for all of it, and its path, such as `must_not_say[1]`."""


class LocatedSuite(NamedTuple):
    """A suite with the file that it came from: its format, what each case expects, and where all of that is."""

    suite: Suite
    file: SuiteFile
    format: Format
    document: Document
    warnings: tuple[PathDiagnostic, ...]
    rules: tuple[SuiteRule, ...] = ()

    @property
    def expectations(self) -> tuple[CaseExpectations, ...]:
        return tuple(self.file.expectations or ())

    def case_lines(self) -> dict[str, int]:
        """The line of each case by its id."""
        cases = zip(self.suite.cases, self.expectations, strict=True)
        return {case.id: self.document.place(expected.case)[0] for case, expected in cases}

    def check_lines(self, number: int, catalog: SuiteCatalog) -> dict[CheckKey, int]:
        """The line of each check of a case by its turn and path, without those that come from elsewhere in the file."""
        case, about = self.suite.cases[number], self.expectations[number]
        lines = dict(self._lines_of(None, case.checks, about, catalog))
        for turn, (turn_of_case, expected) in enumerate(zip(case.turns, about.turns, strict=False), 1):
            lines |= self._lines_of(turn, turn_of_case.checks, expected, catalog)
        return lines

    def _lines_of(
        self, turn: int | None, checks: Sequence[CheckSpec], about: CaseExpectations, catalog: SuiteCatalog
    ) -> Iterator[tuple[CheckKey, int]]:
        place = self.document.place
        for name, field, path in _check_paths(checks, about, catalog):
            # A value that a variable fills in has no place of its own: the line is that of what holds it.
            while len(path) > field and place(path) == place(path[:-1]):
                path = path[:-1]
            if place(path) != place(path[:-1]):
                yield (turn, name), place(path, key=True)[0]


def _check_paths(
    checks: Sequence[CheckSpec], about: CaseExpectations, catalog: SuiteCatalog
) -> Iterator[tuple[str, int, Path]]:
    """Each check with the path that asks for it, and how long the path of its field is."""
    if about.places is not None:
        yield from ((spec.path, len(path), path) for spec, path in zip(checks, about.places, strict=False))
        return
    for check in catalog.read(about.expected):
        field = about.where(str(check.path[0]))
        yield check.spec.path, len(field), (*field, *check.path[1:])


def read_suite(data: bytes, file: str, catalog: SuiteCatalog) -> Suite:
    """The suite that a file holds. Raises SuiteError with every problem that it has."""
    return read_file(SuiteFile(data, file), catalog).suite


def locate_suite(data: bytes, file: str, catalog: SuiteCatalog) -> LocatedSuite:
    """The suite that a file holds with its places. Raises SuiteError with every problem that it has."""
    return read_file(SuiteFile(data, file, locate=True), catalog)


def read_file(file: SuiteFile, catalog: SuiteCatalog) -> LocatedSuite:
    """The suite that a file holds. Raises SuiteError with every problem that it has."""
    document: Document | None = None
    try:
        suite_format = detect_format(file, catalog.formats)
        with blame(suite_format, file), gc_paused():
            parsed = suite_format.read(file, catalog)
            document = parsed.document or file.document
        if document.diagnostics or parsed.diagnostics:
            raise RefusedError(*document.diagnostics, *parsed.diagnostics)
        parsed = with_rules(parsed, file, catalog)
    except RefusedError as refused:
        from carob.suites.documents.lines import refuse_lines  # few files are refused

        refuse_lines(file.data, file.path)
        document = document or file.peek_document()
        raise SuiteError(tuple(problems(file.path, refused.diagnostics, document))) from None
    remember_catalog(parsed.cases, catalog)
    suite = Suite(
        file=file.path,
        format=suite_format.name,
        version=parsed.version,
        sha256=hashlib.sha256(b"".join((file.data, *file.others.values()))).hexdigest(),
        name=parsed.name,
        description=parsed.description,
        cases=parsed.cases,
        metadata=dict(parsed.metadata),
        warnings=tuple(map(str, problems(file.path, parsed.warnings, document, warning=True))),
        target=parsed.target,
        target_options=dict(parsed.target_options),
        target_is_code=parsed.target_is_code,
        draft=parsed.draft,
        rules=tuple(rule.id for rule in parsed.rules),
    )
    return LocatedSuite(suite, file, suite_format, document, tuple(parsed.warnings), tuple(parsed.rules))


def list_rows(data: bytes, file: str, catalog: SuiteCatalog) -> list[Row]:
    """Id, category and prompt of every case, by the quick way of its format if it has one."""
    opened = SuiteFile(data, file)
    with suppress(RefusedError):
        suite_format = detect_format(opened, catalog.formats)
        with blame(suite_format, opened):
            rows = suite_format.rows(opened)
        if rows is not None:
            return rows
    from carob.suites.listing import suite_rows

    return suite_rows(read_file(opened, catalog).suite)


def case_lines(data: bytes, file: str, sha256: str, catalog: SuiteCatalog) -> dict[str, int]:
    """The line of each case by its id; none if this is not the file with that hash. Raises as reading a suite does."""
    located = locate_suite(data, file, catalog)
    return located.case_lines() if located.suite.sha256 == sha256 else {}


class Converted(NamedTuple):
    """A suite in Carob 1 as text, the tables that it names, and how many expectations have no equal there."""

    text: str
    tables: tuple[str, ...]
    unequal: int


def convert(data: bytes, path: str, catalog: SuiteCatalog) -> Converted:
    """The suite that a file holds as Carob 1 in YAML, proved to read back to the same cases."""
    file = SuiteFile(data, path)
    suite, _, suite_format, *_ = read_file(file, catalog)
    with blame(suite_format, file):
        # Reading takes notes out of the tree: this needs it whole.
        top, converted, origin, exact, tables = suite_format.convert(SuiteFile(data, path), suite, catalog)
        cases = list(converted)
    if file.is_yaml and isinstance(suite_format, Carob1):
        return Converted(file.text, tables, 0)
    unequal = sum(comment.startswith(NO_EQUAL) for case in (top, *cases) for comment in case.comments)
    text = _write_suite(top, cases, [origin, *_reminders(tables, file.is_yaml, unequal)])
    try:
        again = read_suite(text.encode(), str(file.folder / "converted.yaml"), catalog)
    except SuiteError as error:
        message = f"it cannot be written in YAML: {error.problems[0].message}"
        raise UsageError(message, where=path, fix="Simplify it there.", slug="not-yaml") from None
    if exact and again.cases != suite.cases:
        raise AssertionError(f"{path} does not read back to the same cases")
    if _conversations(again) != _conversations(suite):
        message = f"the format {suite_format.name!r} converts it to different cases."
        raise ConfigError(message, where=path, fix="Fix its `convert`; see `carob help extending`.")
    return Converted(text, tables, unequal)


def _conversations(suite: Suite) -> list[tuple[str, tuple[str, ...]]]:
    return [(case.id, case.user_texts) for case in suite.cases]


def _write_suite(top: Commented, cases: Iterable[Commented], head: Iterable[str]) -> str:
    from carob.suites.documents.yaml_text import block, item

    lines = [*_comments([*head, *top.comments]), *block({"carob": 1, **top.value}), "cases:"]
    for case in cases:
        lines += [*_comments(case.comments, 2), *item(case.value, 2)]
    return "\n".join([*lines, ""])


def _comments(comments: Iterable[str], indent: int = 0) -> Iterator[str]:
    return (f"{' ' * indent}# {visible(comment)}" for comment in comments)


def _reminders(tables: Sequence[str], is_yaml: bool, unequal: int) -> Iterator[str]:
    if tables:
        yield f"These files must be next to this one: {join_words(map(quoted, tables), 'and')}."
    if is_yaml:
        yield "Comments of the source file are not included."
    if unequal:
        yield f"{pluralize(unequal, 'expectation')} without an equivalent in Carob 1: see '{NO_EQUAL}' below."
