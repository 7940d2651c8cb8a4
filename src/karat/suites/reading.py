"""The one way from bytes to a suite: a document, its format, its cases one after another."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from karat.errors import SuiteError
from karat.model.check import Vocabulary
from karat.model.suite import Suite
from karat.suites.documents.source import utf8
from karat.suites.findings import Document, Finding, RefusedError, problems
from karat.suites.formats import eval_set, golden, karat1
from karat.suites.formats.cases import Asking, Read
from karat.suites.recognise import recognise
from karat.text.wording import did_you_mean

YAML_SUFFIXES = (".yaml", ".yml")

_FORMATS = (
    "a suite is an object with 'karat: 1' and 'cases' (Karat 1), an object with 'cases' (eval set), "
    "a list of cases with 'input' and an 'expected' object (golden decisions), "
    "or a list of cases with 'input' and 'expected_contains' or 'must_not_contain' (golden QA)."
)


FORMATS: dict[str, Callable[[Any, Vocabulary, list[Asking] | None, Path], Read]] = {
    eval_set.FORMAT: eval_set.read,
    golden.FORMAT: golden.read,
    karat1.FORMAT: karat1.read,
}


class Located(NamedTuple):
    """A suite with the file that it came from: what each case expects, and where all of that stands."""

    suite: Suite
    askings: tuple[Asking, ...]
    document: Document
    warnings: list[Finding]


def read_suite(data: bytes, file: str, vocabulary: Vocabulary, *, lines: bool = True) -> Suite:
    """The suite that a file holds, or every problem that it has. `lines`: the user knows them, and the file."""
    return _located(data, file, vocabulary, None, file if lines else "").suite


def located(data: bytes, file: str, vocabulary: Vocabulary) -> Located:
    """The suite that a file holds with its places, or every problem that it has."""
    return _located(data, file, vocabulary, [], file)


def _located(data: bytes, file: str, vocabulary: Vocabulary, askings: list[Asking] | None, told: str) -> Located:
    document: Document | None = None
    try:
        document = parse(data, file)
        read = _read(document, vocabulary, askings, Path(file).parent)
        if document.findings or read.findings:
            raise RefusedError(*document.findings, *read.findings)
    except RefusedError as refused:
        raise SuiteError(tuple(problems(told, refused.findings, document))) from None
    suite = Suite(
        file=file,
        format=read.format,
        version=read.version,
        sha256=hashlib.sha256(b"".join((data, *read.files))).hexdigest(),
        name=read.name,
        description=read.description,
        cases=read.cases,
        metadata=dict(read.metadata),
        warnings=tuple(map(str, problems(told, read.warnings, document, warning=True))),
    )
    return Located(suite, tuple(askings or ()), document, read.warnings)


def parse(data: bytes, file: str) -> Document:
    """The values of a file, by its suffix YAML or JSON."""
    if PurePath(file).suffix.lower() in YAML_SUFFIXES:
        from karat.suites.documents.yaml import YamlDocument

        return YamlDocument(utf8(data))
    from karat.suites.documents.json import JsonDocument

    return JsonDocument(utf8(data))


def _read(document: Document, vocabulary: Vocabulary, askings: list[Asking] | None, folder: Path) -> Read:
    tree: Any = document.tree
    seen = recognise(tree)
    if seen is not None:
        return FORMATS[seen.format](tree, vocabulary, askings, folder)
    near = next((hint for key in tree if (hint := did_you_mean(key, ["cases"]))), "") if isinstance(tree, dict) else ""
    raise RefusedError(*document.findings, Finding((), f"not a suite: {_FORMATS} {near}".rstrip(), "unknown-format"))
