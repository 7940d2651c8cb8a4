"""Which format a file is of, and the suite that it holds."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from karat.errors import SuiteError
from karat.model.check import Vocabulary
from karat.model.suite import Suite
from karat.suites.documents.one_case_at_a_time import AmissError
from karat.suites.documents.source import utf8
from karat.suites.findings import Document, Finding, RefusedError, problems
from karat.suites.formats import eval_set, golden
from karat.suites.formats.cases import Asking, Read
from karat.text.wording import did_you_mean

YAML_SUFFIXES = (".yaml", ".yml")

_FORMATS = (
    "a suite is an object with 'cases' (eval set), a list of cases with 'input' and an 'expected' object "
    "(golden decisions), or a list of cases with 'input' and 'expected_contains' or 'must_not_contain' (golden QA)."
)


class Located(NamedTuple):
    """A suite with the file that it came from: what each case expects, and where all of that stands."""

    suite: Suite
    askings: tuple[Asking, ...]
    document: Document
    warnings: list[Finding]


def read_suite(data: bytes, file: str, vocabulary: Vocabulary) -> Suite:
    """The suite that a file holds, or every problem that it has."""
    return _located(data, file, vocabulary, None).suite


def located(data: bytes, file: str, vocabulary: Vocabulary) -> Located:
    """The suite that a file holds with its places, or every problem that it has."""
    return _located(data, file, vocabulary, [])


def _located(
    data: bytes, file: str, vocabulary: Vocabulary, askings: list[Asking] | None, *, whole: bool = False
) -> Located:
    document: Document | None = None
    try:
        document = parse(data, file, whole=whole)
        read = _read(document, vocabulary, askings)
        findings = [*document.findings, *read.findings]
        if findings:
            raise RefusedError(*findings)
    except AmissError:
        return _located(data, file, vocabulary, None if askings is None else [], whole=True)
    except RefusedError as refused:
        raise SuiteError(tuple(problems(file, refused.findings, document))) from None
    suite = Suite(
        file=file,
        format=read.format,
        version=read.version,
        sha256=hashlib.sha256(data).hexdigest(),
        name=read.name,
        description=read.description,
        cases=read.cases,
        metadata=dict(read.metadata),
        warnings=tuple(map(str, problems(file, read.warnings, document, warning=True))),
    )
    return Located(suite, tuple(askings or ()), document, read.warnings)


def parse(data: bytes, file: str, *, whole: bool = False) -> Document:
    """The values of a file, by its suffix YAML or JSON. `whole`: a large one is not taken in pieces."""
    if PurePath(file).suffix.lower() in YAML_SUFFIXES:
        from karat.suites.documents.yaml import YamlDocument

        return YamlDocument(utf8(data))
    from karat.suites.documents.json import JsonDocument

    return JsonDocument(utf8(data), whole=whole)


def _read(document: Document, vocabulary: Vocabulary, askings: list[Asking] | None) -> Read:
    tree: Any = document.tree
    if isinstance(tree, dict) and "cases" in tree:
        return eval_set.read(tree, vocabulary, document.findings, askings)
    if isinstance(tree, Sequence) and not isinstance(tree, str):
        return golden.read(tree, vocabulary, document.findings, askings)
    near = next((hint for key in tree if (hint := did_you_mean(key, ["cases"]))), "") if isinstance(tree, dict) else ""
    raise RefusedError(*document.findings, Finding((), f"not a suite: {_FORMATS} {near}".rstrip(), "unknown-format"))
