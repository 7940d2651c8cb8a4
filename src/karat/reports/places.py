"""The places of the cases of a run: the suite as its repository knows it, and their lines if it is unchanged."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from karat.checks.catalog import CheckCatalog
from karat.errors import KaratError
from karat.journal.views import RunView
from karat.model.run import Header
from karat.suites.documents.source import read_bytes
from karat.suites.reading import case_lines

LARGEST: Final = 4 << 20
"""The size up to which a suite is shown."""


class SuitePlace(NamedTuple):
    """The file of a suite, relative to its repository, and the lines of its cases as far as they are known."""

    file: str
    lines: Mapping[str, int]


def suite_place(run: RunView) -> SuitePlace:
    """The suite file of a run and the lines of its cases. Reads the suite again, so only reports with lines use it."""
    suite, folder = run.header.suite, run.catalog.project.folder
    path = os.path.abspath(os.path.join(folder, suite))
    return SuitePlace(_in_repository(suite, path), _lines(path, run.header.suite_sha256, run.catalog))


def suite_lines(header: Header, catalog: CheckCatalog) -> list[str]:
    """The lines of a suite's file; none if it is not at hand as it was run, for a journal may name any file."""
    path = os.path.abspath(os.path.join(catalog.project.folder, header.suite))
    with suppress(KaratError, ValueError, OSError):
        if os.path.isfile(path) and os.path.getsize(path) <= LARGEST:
            data = read_bytes(path)
            if hashlib.sha256(data).hexdigest() == header.suite_sha256 or _lines(path, header.suite_sha256, catalog):
                return data.decode("utf-8", "replace").splitlines()
    return []


@lru_cache(maxsize=4)
def _lines(suite: str, sha256: str, catalog: CheckCatalog) -> Mapping[str, int]:
    # What was recorded can be reported without the file; a journal may name anything, a pipe or a device too.
    with suppress(KaratError, ValueError):
        if os.path.isfile(suite):
            return case_lines(read_bytes(suite), suite, sha256, catalog)
    return {}


def _in_repository(suite: str, path: str) -> str:
    """The path as forges write it: from the folder that holds `.git`, else as the run had it."""
    with suppress(OSError, ValueError):
        for folder in Path(path).parents:
            if (folder / ".git").exists():
                return Path(path).relative_to(folder).as_posix()
    return suite.replace(os.sep, "/")
