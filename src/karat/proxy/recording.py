"""What a run records, on its way to the tape: on disk as soon as it came, so that a long run needs no more memory."""

from __future__ import annotations

import os
import tempfile
from time import monotonic
from typing import IO

from msgspec import Struct

from karat.proxy.tape.file import Exchange, Tape, entry_of, unwritable, write_runs

SECONDS_BETWEEN_WRITES = 2.0
"""While cases are recorded, or so many times what a write takes; what a kill in between loses is these seconds."""
TIMES_A_WRITE = 20


class EntryOffset(Struct, frozen=True):
    """Where the entry of an exchange is."""

    start: int
    size: int


class Recording:
    """The runs of cases that a tape is to have: those that it has, but for those that are recorded again."""

    def __init__(self, tape: Tape) -> None:
        self._path = tape.path
        self._size = 0
        self._file = self._open()
        self._runs = {run: [self.add(one) for one in exchanges] for run, exchanges in tape.runs.items()}
        self._next_write = monotonic() + SECONDS_BETWEEN_WRITES

    def _open(self) -> IO[bytes]:
        """It has no name, so that nothing is left of it when the process ends, however that comes."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            return tempfile.TemporaryFile(dir=self._path.parent)
        except OSError as error:
            raise unwritable(self._path, error) from error

    def add(self, one: Exchange) -> EntryOffset:
        """Keep an exchange; `end` says whose it is."""
        entry = entry_of(one)
        self._file.write(entry)
        self._size += len(entry)
        return EntryOffset(self._size - len(entry), len(entry))

    def end(self, case: str, repeat: int, made: list[EntryOffset]) -> None:
        """A run of a case is over."""
        self._runs[case, repeat] = made
        if monotonic() > self._next_write:
            self.write()

    def write(self) -> None:
        """Replace the tape, or leave it as it was. Raises ConfigError."""
        began = monotonic()
        try:
            self._file.flush()
        except OSError as error:
            raise unwritable(self._path, error) from error
        write_runs(self._path, self._runs, self._read)
        ended = monotonic()
        self._next_write = ended + max(SECONDS_BETWEEN_WRITES, TIMES_A_WRITE * (ended - began))

    def close(self) -> None:
        try:
            self.write()
        finally:
            self._file.close()

    def _read(self, kept: EntryOffset) -> bytes:
        return os.pread(self._file.fileno(), kept.size, kept.start)
