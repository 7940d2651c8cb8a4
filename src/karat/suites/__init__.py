"""Bytes to a Suite: every problem of a file at once, each at its line and column.

Importing this package loads nothing heavy, so that `karat list` can use `karat.suites.listing` alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from karat.model.suite import Suite
    from karat.suites.formats.base import SuiteCatalog


def load(path: str | Path, catalog: SuiteCatalog) -> Suite:
    """Read a suite file. Raises UsageError if it cannot be read, SuiteError with every problem that it holds."""
    from karat.suites.documents.source import read_bytes

    return loads(read_bytes(path), str(path), catalog)


def loads(data: bytes, file: str, catalog: SuiteCatalog) -> Suite:
    """Read a suite from bytes. `file` names it in messages, and its suffix decides between YAML and JSON."""
    from karat.suites.reading import read_suite

    return read_suite(data, file, catalog)
