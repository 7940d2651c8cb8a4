"""Bytes to a Suite: every problem of a file at once, each at its line and column.

Importing this package loads nothing heavy, so that `carob run --list` can use `carob.suites.listing` alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from carob.model.suite import Suite
    from carob.suites.formats.base import SuiteCatalog


def load(path: str | Path, catalog: SuiteCatalog) -> Suite:
    """Read a suite file. Raises UsageError if it cannot be read, SuiteError with every problem that it holds."""
    from carob.suites.documents.source import read_bytes

    return loads(read_bytes(path), str(path), catalog)


def loads(data: bytes, file: str, catalog: SuiteCatalog) -> Suite:
    """Read a suite from bytes. `file` names it in messages, and its suffix decides between YAML and JSON."""
    from carob.suites.reading import read_suite

    return read_suite(data, file, catalog)
