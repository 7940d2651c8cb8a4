"""Writing a journal: one line per record, in one write each, so that a killed run loses only cases in flight."""

from __future__ import annotations

import os
from types import TracebackType

import msgspec

from karat.errors import ArtifactError
from karat.model.run import CaseRecord, Footer, Header

_encode = msgspec.json.Encoder().encode


def encode(record: Header | CaseRecord | Footer) -> bytes:
    """A record as its line of the journal, without the line end."""
    return _encode(record)


class JournalWriter:
    """Appends to a journal that was created for this run alone. A line that does not fit on the disk is taken back."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise _not_written(path, error) from error
        self._end = os.fstat(self._fd).st_size

    def write(self, line: bytes) -> None:
        """Append one line. It is with the kernel when this returns: a kill of this process cannot lose it."""
        data = memoryview(line + b"\n")
        try:
            while data:
                data = data[os.write(self._fd, data) :]
        except OSError as error:
            os.ftruncate(self._fd, self._end)
            raise _not_written(self.path, error) from error
        self._end += len(line) + 1

    def __enter__(self) -> JournalWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            os.fsync(self._fd)
        except OSError as broken:
            if error is None:
                raise _not_written(self.path, broken) from broken
        finally:
            os.close(self._fd)


def _not_written(path: str, error: OSError) -> ArtifactError:
    fix = "What was journalled can be resumed elsewhere: karat resume JOURNAL --results-dir D."
    return ArtifactError(
        f"the journal could not be written: {error.strerror}.", where=path, fix=fix, slug="journal-write"
    )
