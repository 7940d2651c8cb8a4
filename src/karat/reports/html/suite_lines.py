"""The lines of a suite that ask for the checks of a case, where its file is at hand and is the one that was run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import accumulate
from typing import Final, NamedTuple

from karat.checks.catalog import CheckCatalog
from karat.errors import KaratError
from karat.model.run import Header
from karat.suites.documents.source import read_bytes
from karat.suites.reading import CheckKey, LocatedSuite, locate_suite

LARGEST: Final = 1 << 19
"""To read a larger file takes longer than a page may; its cases are shown as the journal holds them."""
LONGEST_LINE: Final = 2_000
"""A file with a longer line in a case is not one that people read by lines."""


class CaseSource(NamedTuple):
    """A case in its file: the number of its first line, its lines, and the line of each check."""

    first: int
    lines: Sequence[str]
    checks: Mapping[CheckKey, int]


class SuiteLines:
    """A suite file, read when the first case asks for its lines."""

    def __init__(self, header: Header, catalog: CheckCatalog) -> None:
        self._path = os.path.abspath(os.path.join(catalog.project.folder, header.suite))
        self._sha256 = header.suite_sha256
        self._catalog = catalog

    def find(self, case_id: str) -> CaseSource | None:
        """The lines of a case; None where its file is not at hand, was changed since, or is not of lines."""
        found = _read(self._path, self._sha256, self._catalog)
        if found is None or case_id not in found.numbers:
            return None
        number = found.numbers[case_id]
        checks = found.located.check_lines(number, self._catalog)
        start = found.located.document.place(found.located.expectations[number].case)
        last = max([_last_line(found, start), *checks.values()])
        lines = found.lines[start[0] - 1 : last]
        return None if any(len(line) > LONGEST_LINE for line in lines) else CaseSource(start[0], lines, checks)


class _SuiteText(NamedTuple):
    located: LocatedSuite
    text: str
    lines: list[str]
    offsets: list[int]
    numbers: dict[str, int]


@lru_cache(maxsize=2)
def _read(path: str, sha256: str, catalog: CheckCatalog) -> _SuiteText | None:
    # A journal may name any file as its suite, a pipe or a device too, and what was recorded is shown without it.
    with suppress(KaratError, ValueError, OSError):
        if os.path.isfile(path) and os.path.getsize(path) <= LARGEST:
            located = locate_suite(read_bytes(path), path, catalog)
            if located.suite.sha256 == sha256:
                text = located.file.text
                lines = text.split("\n")
                offsets = [0, *accumulate(len(line) + 1 for line in lines)]
                numbers = {case.id: number for number, case in enumerate(located.suite.cases)}
                return _SuiteText(located, text, lines, offsets, numbers)
    return None


def _last_line(suite: _SuiteText, start: tuple[int, int]) -> int:
    """The last line of the value that starts there: where its JSON ends, else before what is indented less."""
    line, column = start
    offset = suite.offsets[line - 1] + column - 1
    if suite.text[offset] == "{":
        with suppress(ValueError, RecursionError):
            return line + suite.text.count("\n", offset, json.JSONDecoder().raw_decode(suite.text, offset)[1])
    last = line
    for number, one in enumerate(suite.lines[line:], line + 1):
        said = one.strip()
        if said and not said.startswith("#"):
            if len(one) - len(one.lstrip(" ")) < column - 1:
                break
            last = number
    return last
