"""The suite formats that there are: ours, and those of installed packages and of the project."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import takewhile
from pathlib import PurePath
from typing import Any, TypeGuard

from carob.errors import CarobError, ConfigError, UsageError
from carob.model.check import Field
from carob.plugins.features import SuiteFormat, all_features, load, outside_features, own_features
from carob.plugins.packages import FIX, load_all
from carob.plugins.project import Project
from carob.suites.diagnostics import Document, PathDiagnostic, RefusedError
from carob.suites.formats.base import Format, ParsedSuite, SuiteCatalog, SuiteFile
from carob.suites.formats.carob1 import Carob1
from carob.suites.formats.language import Language
from carob.text.wording import did_you_mean, error_text, join_words


class FormatOfFeature(Format):
    """A format that a feature brings. Its module is loaded for a file with one of its marks, which few files have."""

    def __init__(self, row: SuiteFormat) -> None:
        self.name = row.name  # type: ignore[misc]  # of each, where that of a format is of its class
        self._place = row.loads
        self.marks = tuple(mark.encode() for mark in row.marks)

    @cached_property
    def itself(self) -> Format:
        suite_format: Format = load(self._place)()
        return suite_format

    def recognizes(self, file: SuiteFile) -> bool:
        return any(mark in file.data for mark in self.marks) and self.itself.recognizes(file)

    def read(self, file: SuiteFile, catalog: SuiteCatalog) -> ParsedSuite:
        return self.itself.read(file, catalog)

    def fields(self, version: str, all_fields: Iterable[Field]) -> frozenset[str]:
        return self.itself.fields(version, all_fields)


OURS = (Language, FormatOfFeature)
ENTRY_POINTS = "carob.formats"

_REQUIRED = ("recognizes", "read")


def marks_of_features() -> tuple[bytes, ...]:
    """Words of which a file in a format of a feature holds one at least."""
    rows = (row for feature in all_features() for row in feature.formats)
    return tuple(mark.encode() for row in rows for mark in row.marks)


class Formats(Sequence[Format]):
    """The formats in the order in which a file is offered to them: first those of others, then ours.

    The last of ours take any object with `cases`, and any list. They are only loaded for a file that Carob 1 is not.
    """

    def __init__(self, others: Iterable[Format] = ()) -> None:
        self._first = (*others, Carob1())

    @cached_property
    def _all(self) -> tuple[Format, ...]:
        from carob.suites.formats.eval_set import EvalSet
        from carob.suites.formats.golden import GoldenSet

        rows = [row for feature in own_features() for row in feature.formats]
        early, late = ([FormatOfFeature(row) for row in rows if row.late is late] for late in (False, True))
        return (*self._first, *early, EvalSet(), *late, GoldenSet())

    def __iter__(self) -> Iterator[Format]:
        yield from self._first
        yield from self._all[len(self._first) :]

    def __getitem__(self, index: Any) -> Any:
        return self._all[index]

    def __len__(self) -> int:
        return len(self._all)


def known_formats(project: Project) -> Formats:
    """Every format, those of the project and of packages first."""
    others: dict[str, Format] = {}
    for where, fix, candidate in (*load_all(ENTRY_POINTS), *_of_outside_features(), *_of_project(project)):
        if flaw := flaw_of(candidate):
            raise ConfigError(flaw, where=where, fix="Fix it; see `carob help extending`.")
        if not _is_format(candidate):
            continue
        if candidate.name in others or any(candidate.name == ours.name for ours in Formats()):
            raise ConfigError(f"there is another format called {candidate.name!r}.", where=where, fix=fix)
        try:
            others[candidate.name] = candidate()
        except Exception as error:  # the code of others may raise anything
            why = f"it cannot be created: {type(error).__name__}: {error_text(error)}{_last_line(error)}."
            raise ConfigError(why, where=where, fix="Fix it; see `carob help extending`.") from error
    return Formats(others.values())


def _of_outside_features() -> Iterator[tuple[str, str, object]]:
    for feature in outside_features():
        for row in feature.formats:
            yield f"feature {feature.name!r}", FIX, load(row.loads)


def _of_project(project: Project) -> Iterator[tuple[str, str, object]]:
    for name, spec in project.formats.items():
        where, candidate = project.where("formats", name), project.load("formats", name, spec)
        if not flaw_of(candidate) and (called := candidate.name) != name:
            raise ConfigError(f"the format is called {called!r}.", where=where, fix=f"Write {called} = {spec!r}.")
        yield where, "Give it another name.", candidate


def _is_format(candidate: object) -> TypeGuard[type[Format]]:
    return isinstance(candidate, type) and issubclass(candidate, Format)


def flaw_of(candidate: object) -> str:
    """Why something is not a format, else the empty string."""
    if not _is_format(candidate):
        return "it is not a subclass of carob.Format."
    name = getattr(candidate, "name", None)
    if not (isinstance(name, str) and name.replace("-", "_").replace(".", "_").isidentifier()):
        return "it has no `name` of letters, digits, - and _."
    missing = [method for method in _REQUIRED if getattr(candidate, method) is getattr(Format, method)]
    return f"it has no method {join_words([f'`{method}`' for method in missing], 'and')}." if missing else ""


def find_format(name: str, formats: Sequence[Format]) -> Format:
    """The format of this name. Raises UsageError if there is none."""
    for suite_format in formats:
        if suite_format.name == name:
            return suite_format.itself if isinstance(suite_format, FormatOfFeature) else suite_format
    names = [suite_format.name for suite_format in formats]
    fix = did_you_mean(name, names) or f"Known: {join_words(names, 'and')}."
    raise UsageError(f"no suite format is called {name!r}.", fix=fix, slug="unknown-format")


def detect_format(file: SuiteFile, formats: Sequence[Format]) -> Format:
    """The format of a file: the one of others that recognises it, else one of ours.

    Raises RefusedError if none does, or if two of others do.
    """
    recognizing = [
        suite_format
        for suite_format in takewhile(lambda one: not isinstance(one, OURS), formats)
        if _recognizes(suite_format, file)
    ]
    if len(recognizing) > 1:
        names = join_words([suite_format.name for suite_format in recognizing], "and")
        message = f"the formats {names} both recognise this file. Remove one of them, or narrow what it recognises."
        raise RefusedError(PathDiagnostic((), message, "ambiguous-format", place=(1, 1)))
    for suite_format in recognizing or (
        suite_format for suite_format in formats if isinstance(suite_format, OURS) and _recognizes(suite_format, file)
    ):
        if isinstance(suite_format, Language):
            _refuse_former_name(file.document)
        return suite_format.itself if isinstance(suite_format, FormatOfFeature) else suite_format
    document = file.document
    _refuse_former_name(document)
    near = ""
    if isinstance(document.tree, dict) and "rules" in document.tree:
        message = "this file has rules and no 'carob: 1'. Write 'carob: 1' at the top."
        raise RefusedError(*document.diagnostics, PathDiagnostic((), message, "missing-carob"))
    if isinstance(document.tree, dict):
        near = next((hint for key in document.tree if (hint := did_you_mean(key, ["cases"]))), "")
    message = f"not a suite: {_descriptions(formats)} {near}".rstrip()
    raise RefusedError(*document.diagnostics, PathDiagnostic((), message, "unknown-format"))


def _refuse_former_name(document: Document) -> None:
    if isinstance(document.tree, dict) and "karat" in document.tree and "carob" not in document.tree:
        message = "Karat is called Carob now. Write 'carob: 1'."
        raise RefusedError(PathDiagnostic(("karat",), message, "former-name", key=True))


def _descriptions(formats: Iterable[Format]) -> str:
    """What a suite looks like; formats of other tools, which people do not write by hand, are only named."""
    all_formats = [*formats]
    ours = [suite_format for suite_format in all_formats if isinstance(suite_format, Language)]
    added = [suite_format for suite_format in all_formats if not isinstance(suite_format, OURS)]
    named_only = [suite_format.name for suite_format in all_formats if isinstance(suite_format, FormatOfFeature)]
    looks = [suite_format.description or suite_format.name for suite_format in (*ours, *added)]
    more = f" Files of {join_words(named_only, 'and')} are suites too." if named_only else ""
    return f"a suite is {join_words(looks)}.{more}"


def _recognizes(suite_format: Format, file: SuiteFile) -> bool:
    with blame(suite_format, file):
        try:
            return suite_format.recognizes(file)
        except RefusedError:
            return False


@contextmanager
def blame(suite_format: Format, file: SuiteFile | None = None) -> Iterator[None]:
    """Say which format failed, and where, if the code of others raises what it should not."""
    if isinstance(suite_format, OURS):
        yield
        return
    try:
        yield
    except (CarobError, RefusedError):
        raise
    except Exception as error:  # the code of others may raise anything
        why = (
            f"the format {suite_format.name!r} failed: {type(error).__name__}: {error_text(error)}{_last_line(error)}."
        )
        is_ours = type(suite_format).__module__.startswith("carob.")
        fix = "This is a bug in Carob; please report it." if is_ours else FIX
        raise ConfigError(why, where=file.path if file else "", fix=fix) from error


def _last_line(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f" at {PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
