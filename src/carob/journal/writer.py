"""Writing a journal: one line per record, in one write each, so that a killed run loses only cases in flight."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType

import msgspec

from carob.errors import ArtifactError
from carob.journal.append_log import write_whole
from carob.model.run import CaseRecord, Footer, Header
from carob.system.portable import BYTES
from carob.system.unfinished_files import create_unfinished

_encode = msgspec.json.Encoder().encode


def encode(record: Header | CaseRecord | Footer) -> bytes:
    """A record as its line of the journal, without the line end."""
    return _encode(record)


def begin(path: str, header: Header, lines: Iterable[bytes] = (), base: str = "") -> None:
    """Put a journal in its place that holds the header and the lines that are kept from an earlier run.

    A relative path is below `base`, by default this folder.

    It appears at once and whole: a run that is killed while it is being made leaves the earlier journal as the last
    one, so that nothing that is finished is ever run again.
    """
    file = os.path.join(base, path)
    try:
        locked, temporary = create_unfinished(file)
    except OSError as error:
        raise _not_written(path, error, nothing_yet=True) from error
    try:
        with JournalWriter(temporary) as journal:
            journal.write(encode(header))
            for line in lines:
                journal.write(line)
        os.close(locked)
        locked = -1
        os.replace(temporary, file)
    except OSError as error:
        raise _not_written(path, error, nothing_yet=True) from error
    except ArtifactError as error:
        raise ArtifactError(error.message, where=path, fix=_ELSEWHERE, slug=error.slug) from error
    finally:
        if locked >= 0:
            os.close(locked)
        with suppress(FileNotFoundError):
            os.unlink(temporary)


class JournalWriter:
    """Appends to a journal of this run alone. A line that does not fit on the disk is taken back."""

    def __init__(self, path: str, base: str = "") -> None:
        self.path = path
        try:
            self._fd = os.open(os.path.join(base, path), os.O_WRONLY | os.O_APPEND | os.O_CREAT | BYTES, 0o600)
        except OSError as error:
            raise _not_written(path, error, nothing_yet=True) from error
        self._end = os.fstat(self._fd).st_size

    def write(self, line: bytes) -> None:
        """Append one line. It is with the kernel when this returns: a kill of this process cannot lose it."""
        try:
            self._end = write_whole(self._fd, line + b"\n", self._end)
        except OSError as error:
            raise _not_written(self.path, error, nothing_yet=not self._end) from error

    def __enter__(self) -> JournalWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            os.fsync(self._fd)
        except OSError as broken:
            if error is None:
                raise _not_written(self.path, broken, nothing_yet=False) from broken
        finally:
            os.close(self._fd)


_ELSEWHERE = "Free some space, or choose another folder with --results-dir."


def _not_written(path: str, error: OSError, *, nothing_yet: bool) -> ArtifactError:
    resume = f"Continue the run elsewhere: carob run --resume {path} --results-dir FOLDER."
    return ArtifactError(
        f"the journal could not be written: {error.strerror}.",
        where=path,
        fix=_ELSEWHERE if nothing_yet else resume,
        slug="journal-write",
    )
