"""Suites of every format as Karat 1 in YAML, with a comment on what had no equal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from karat.errors import SuiteError, UsageError
from karat.model.check import Vocabulary
from karat.suites.diagnostics import Json
from karat.suites.documents.source import utf8
from karat.suites.documents.yaml_text import block, item, text
from karat.suites.formats import eval_set, golden, karat1
from karat.suites.formats.cases import JsonObject
from karat.suites.reading import YAML_SUFFIXES, parse, read_suite
from karat.text.wording import listed, quoted, visible

_TOP = ("$schema", "version", "captured_at", "integration_baseline", "metadata", "cases")
"""Keys of an eval set that do not stay as they are."""
_NOTES: Sequence[str] = ("captured_at", "integration_baseline")
_LABELS: Sequence[str] = ("id", "category")


class Commented(NamedTuple):
    """A part of a suite, and what a reader should know of how it came about."""

    value: JsonObject
    comments: Sequence[str] = ()


class Converted(NamedTuple):
    """A suite in Karat 1 as text, and the tables that it names, which must stand beside it."""

    text: str
    tables: tuple[str, ...]


def convert(data: bytes, file: str, vocabulary: Vocabulary) -> Converted:
    """The suite that a file holds as Karat 1 in YAML, proved to read back to the same cases."""
    suite = read_suite(data, file, vocabulary)
    tree: Any = parse(data, file).tree
    tables = _tables(tree) if suite.format == karat1.FORMAT else ()
    is_yaml = PurePath(file).suffix.lower() in YAML_SUFFIXES
    if is_yaml and suite.format == karat1.FORMAT:
        return Converted(utf8(data).decode(), tables)
    top, cases = _parts(tree, suite.format, vocabulary)
    written = _written(top, cases, [_origin(file, suite.format), *_reminders(tables, is_yaml)])
    try:
        again = read_suite(written.encode(), str(Path(file).with_name("converted.yaml")), vocabulary)
    except SuiteError as error:
        message = f"it cannot be written in YAML: {error.problems[0].message}"
        raise UsageError(message, where=file, fix="Simplify it there.", slug="not-yaml") from None
    if again.cases != suite.cases:
        raise AssertionError(f"{file} does not read back to the same cases")
    return Converted(written, tables)


def _parts(tree: Any, format_name: str, vocabulary: Vocabulary) -> tuple[Commented, Iterable[Commented]]:
    """What stands around the cases, and the cases one after another."""
    if format_name == golden.FORMAT:
        beside = golden.shape(tuple(vocabulary.fields)).beside
        return Commented({}), (_golden_case(case, beside) for case in tree)
    if format_name == eval_set.FORMAT:
        return _eval_set_top(tree), map(_eval_set_case, tree["cases"])
    return Commented({key: tree[key] for key in tree if key not in ("karat", "cases")}), map(Commented, tree["cases"])


def _written(top: Commented, cases: Iterable[Commented], head: Iterable[str]) -> str:
    lines = [*_comments([*head, *top.comments]), *block({"karat": 1, **top.value}), "cases:"]
    for case in cases:
        lines += [*_comments(case.comments, 2), *item(case.value, 2)]
    return "\n".join([*lines, ""])


def _comments(comments: Iterable[str], indent: int = 0) -> Iterator[str]:
    return (f"{' ' * indent}# {visible(comment)}" for comment in comments)


def _origin(file: str, format_name: str) -> str:
    name = quoted(PurePath(file).name)
    if format_name == golden.FORMAT:
        return f"Karat 1 from the golden set {name}, with 'input' as 'prompt' and all that is asked in 'expected'."
    return f"Karat 1 from the {'eval set' if format_name == eval_set.FORMAT else 'suite'} {name}."


def _reminders(tables: Sequence[str], is_yaml: bool) -> Iterator[str]:
    if tables:
        yield f"Beside this file must stand: {listed(map(quoted, tables), 'and')}."
    if is_yaml:
        yield "Comments of the source are not in it."


def _tables(tree: JsonObject) -> tuple[str, ...]:
    named = (case.get("each") for case in tree["cases"])
    return tuple(dict.fromkeys(each for each in named if isinstance(each, str)))


def _eval_set_top(tree: JsonObject) -> Commented:
    comments = []
    if "version" in tree:
        comments.append(f"Left out: version {text(tree['version'])}. Karat 1 knows every field.")
    if "$schema" in tree:
        comments.append(f"Left out: $schema {text(tree['$schema'])}, that of eval sets. See: karat schema karat-1.")
    notes: dict[str, Json] = {key: tree[key] for key in _NOTES if key in tree}
    if notes:
        comments.append(f"Moved into metadata: {listed(notes, 'and')}.")
    kept = {key: value for key, value in tree.items() if key not in _TOP}
    return Commented({**kept, **_noted(tree, notes)}, comments)


def _eval_set_case(case: JsonObject) -> Commented:
    expected = dict(case["expected"])
    if "scoring" not in expected:
        return Commented(case)
    scoring = expected.pop("scoring")
    return Commented({**case, "expected": expected, "scoring": scoring}, ["'scoring' stood in 'expected'."])


def _golden_case(case: JsonObject, beside: Sequence[str]) -> Commented:
    """A golden case. Keys that stand beside `expected` go into it, constraints into the metadata."""
    given = case.get("expected", {})
    asked = dict(given) if isinstance(given, dict) else {"expected_contains": given}
    notes: dict[str, Json] = {}
    comments = []
    if "constraints" in asked:
        notes["expected.constraints"] = asked.pop("constraints")
    if "constraints" in case:
        notes["constraints"] = case["constraints"]
    if notes:
        comments.append("Moved into metadata, where nothing judges them either: constraints.")
    asked |= {key: case[key] for key in beside if key in case}
    moved = ("id", "category", "input", "expected", "constraints", "metadata", *beside)
    kept = {key: value for key, value in case.items() if key not in moved}
    labels = {key: case[key] for key in _LABELS if key in case}
    return Commented({**labels, "prompt": case["input"], **kept, **_noted(case, notes), "expected": asked}, comments)


def _noted(raw: JsonObject, more: dict[str, Json]) -> JsonObject:
    """The metadata of an object with more in it, which gives way to what it has already."""
    if not more:
        return {"metadata": raw["metadata"]} if "metadata" in raw else {}
    own = raw.get("metadata", {})
    return {"metadata": {**more, **(own if isinstance(own, dict) else {"metadata": own})}}
