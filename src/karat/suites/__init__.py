"""Bytes to a Suite: every problem of a file at once, each at its line and column.

Importing this package loads nothing heavy, so that `karat list` can use `karat.suites.listing` alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from karat.model.check import Vocabulary
    from karat.model.suite import Suite


def load(path: str | Path, vocabulary: Vocabulary) -> Suite:
    """Read a suite file. Raises UsageError if it cannot be read, SuiteError with every problem that it holds."""
    from karat.suites.documents.source import read_bytes

    return loads(read_bytes(path), str(path), vocabulary)


def loads(data: bytes, file: str, vocabulary: Vocabulary) -> Suite:
    """Read a suite from bytes. `file` names it in messages, and its suffix tells YAML from JSON."""
    from karat.suites.reading import read_suite

    return read_suite(data, file, vocabulary)


def load_tree(tree: object, vocabulary: Vocabulary) -> Suite:
    """Read a suite from plain values. Its problems are told by their paths, for there are no lines."""
    import json

    from karat.errors import UsageError
    from karat.suites.reading import read_suite

    try:
        data = json.dumps(tree).encode()
    except (TypeError, ValueError, RecursionError) as error:
        fix = "A suite is made of dictionaries, lists, strings, numbers, booleans and None."
        raise UsageError(f"{error}.", where="the suite", fix=fix, slug="not-json") from None
    return read_suite(data, "suite.json", vocabulary, lines=False)
