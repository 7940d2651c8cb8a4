"""What a page of the viewer is asked for: features bring pages by name, and the viewer draws each in its frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlencode

import msgspec
from msgspec import structs

from carob.journal.index import CaseFilter, FailureGroup, Index, IndexedRun
from carob.plugins.project import Project
from carob.reports.html.pages import LARGEST, find_own_file
from carob.reports.html.run_view import RunHead

Found = TypeVar("Found")


class MissingPageError(Exception):
    """There is nothing at this address."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What a function of a page is given; it returns the values that its template needs.

    `home` leads to the first page, and `query` is what follows the `?`. `key` is that of the run, if the address has
    one. The frame of the page is given `home`, `key` and `run`, the head of the run. `person` may write, if there is
    one; `memory` is kept as long as the viewer runs.
    """

    index: Index
    project: Project
    home: str
    query: Mapping[str, str]
    key: str
    head: Callable[[IndexedRun], RunHead]
    person: str = ""
    memory: dict[str, Any] = field(default_factory=dict)

    @property
    def run(self) -> IndexedRun:
        return self.find_run(self.key)

    def find_run(self, key: str) -> IndexedRun:
        """Raises MissingPageError if there is none of this key."""
        run = self.index.run(key)
        if run is None:
            raise MissingPageError
        return run


class OfRun:
    """Addresses within one run, from a page that is so far from `home`; what it is filtered by goes along."""

    def __init__(self, home: str, run: str, chosen: CaseFilter) -> None:
        self._at = f"{home}run/{run}"
        self.chosen = chosen
        self._query = query(chosen)
        self.before = self.after = ""
        """The pages of the neighbours of a case, if it has some."""

    @property
    def run(self) -> str:
        return f"{self._at}{self._query}"

    def case(self, index: int, repeat: int) -> str:
        return f"{self._at}/case/{index}/{repeat}{self._query}"

    def file(self, index: int, repeat: int, number: int) -> str:
        return f"{self._at}/case/{index}/{repeat}/file/{number}"

    def record(self, index: int, repeat: int) -> str:
        return f"{self._at}/case/{index}/{repeat}/record"

    def hash(self, anchor: str) -> str:
        return ""

    def group(self, group: FailureGroup) -> str:
        return f"{self._at}{query(CaseFilter(check=group.name, kind=group.kind))}"


def query(chosen: CaseFilter) -> str:
    chosen_fields = {name: value for name, value in structs.asdict(chosen).items() if value}
    return f"?{urlencode(chosen_fields)}" if chosen_fields else ""


def read_next_to(run: IndexedRun, name: str, read: Callable[[bytes], Found], missing: str) -> tuple[Found | None, str]:
    """What a file next to a journal holds, or why it cannot be shown."""
    file = find_own_file(run.path, name)
    if file is None or file.size > LARGEST:
        return None, missing
    try:
        return read(file.path.read_bytes()), ""
    except (msgspec.DecodeError, UnicodeDecodeError, OSError):
        return None, f"{name} cannot be read."
