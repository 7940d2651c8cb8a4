"""Suites of every format as Karat 1 in YAML, with a comment on what had no equal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from karat.errors import ConfigError, SuiteError, UsageError
from karat.model.suite import Suite
from karat.suites.documents.yaml_text import block, item
from karat.suites.formats.base import SuiteCatalog, SuiteFile
from karat.suites.formats.catalog import blame
from karat.suites.formats.karat1 import Karat1
from karat.suites.formats.spelling import NO_EQUAL, Commented
from karat.suites.reading import read_file, read_suite
from karat.text.wording import join_words, pluralize, quoted, visible


class Converted(NamedTuple):
    """A suite in Karat 1 as text, the tables that it names, and how many expectations have no equal there."""

    text: str
    tables: tuple[str, ...]
    unequal: int


def convert(data: bytes, path: str, catalog: SuiteCatalog) -> Converted:
    """The suite that a file holds as Karat 1 in YAML, proved to read back to the same cases."""
    file = SuiteFile(data, path)
    suite, _, suite_format, *_ = read_file(file, catalog)
    with blame(suite_format, file):
        # Reading takes notes out of the tree: this needs it whole.
        top, converted, origin, exact, tables = suite_format.convert(SuiteFile(data, path), suite, catalog)
        cases = list(converted)
    if file.is_yaml and isinstance(suite_format, Karat1):
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
        raise ConfigError(message, where=path, fix="Fix its `convert`; see docs/extending.md.")
    return Converted(text, tables, unequal)


def _conversations(suite: Suite) -> list[tuple[str, tuple[str, ...]]]:
    return [(case.id, case.user_texts) for case in suite.cases]


def _write_suite(top: Commented, cases: Iterable[Commented], head: Iterable[str]) -> str:
    lines = [*_comments([*head, *top.comments]), *block({"karat": 1, **top.value}), "cases:"]
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
        yield f"{pluralize(unequal, 'expectation')} without an equivalent in Karat 1: see '{NO_EQUAL}' below."
