"""The standings of journals that were read before: kept in the index, and read anew only where a journal changed."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from karat.compare.standings import SaidRecord, Standing, Standings, run_side
from karat.journal.index import Index, file_state
from karat.journal.reader import Journal, header_of
from karat.model.comparison import RunSide
from karat.plugins.project import Project

NAME: Final = "standings 1"
"""Another number whenever a standing is made otherwise."""


class KeptRun(Struct, frozen=True):
    """What the index keeps of a run for comparisons and histories."""

    standings: tuple[Standing, ...]
    incomplete: str = ""


_unpacked = msgspec.msgpack.Decoder(KeptRun).decode


class KeptStandings:
    """The standings of one journal, as `Standings` gives them."""

    def __init__(self, path: Path, index: Index, project: Project) -> None:
        self._project = project
        self._path = path
        self._index = index

    @cached_property
    def journal(self) -> Journal:
        return Journal(self._path, project=self._project)

    @cached_property
    def _run(self) -> KeptRun:
        data = self._index.kept(self._path, NAME)
        if data is not None:
            return _unpacked(zlib.decompress(data))
        state = file_state(self._path)
        source = Standings(self.journal)
        standings = tuple(source)
        run = KeptRun(standings, source.incomplete)
        self._index.keep(self._path, NAME, zlib.compress(msgspec.msgpack.encode(run), 1), state)
        return run

    def __iter__(self) -> Iterator[Standing]:
        return iter(self._run.standings)

    def side(self, cases: int, runs: int, errors: int) -> RunSide:
        """What this run is."""
        return run_side(str(self._path), header_of(self._path), self._run.incomplete, cases, runs, errors)

    def seen(self, standing: Standing, *, passed: bool) -> SaidRecord | None:
        """A run of the case that came out this way, or else its first."""
        return Standings(self.journal).seen(standing, passed=passed)
