"""Lines that threads and processes append to one file: each whole or not at all, within limits of size and age.

Whoever appends holds the lock of the file that has the name. A full file gets a number under that lock, and the next
one has the name.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from carob.redaction.named import without_secrets
from carob.system.locks import lock, unlock
from carob.system.portable import NO_LINK, NO_WAIT

BLOCK: Final = 1 << 16
# A pipe without a reader is refused: it must not be waited for.
_FLAGS: Final = os.O_CREAT | os.O_APPEND | os.O_WRONLY | NO_LINK | NO_WAIT


class LogLimits(NamedTuple):
    """What is kept. Files that are beyond it are removed when another one is begun."""

    size: int = 16 << 20
    """Bytes after which a file is full."""
    total: int = 128 << 20
    """Bytes of all full files."""
    seconds: float = 90 * 86_400.0
    """How long ago the last line of a file may have been written."""


USUAL_LIMITS: Final = LogLimits()


class AppendLog:
    """One file of lines. Its methods raise OSError where it cannot be written, and then add nothing."""

    def __init__(
        self,
        path: Path,
        header: Callable[[], bytes],
        limits: LogLimits = USUAL_LIMITS,
        footer: Callable[[], bytes] = bytes,
    ) -> None:
        """`header` gives the first line of each file, `footer` its last one, if there is any."""
        self.path = path
        self._header = header
        self._footer = footer
        self._limits = limits
        self._descriptor = -1
        self._begin_process()

    def _begin_process(self) -> None:
        """A process that was forked needs a lock and a descriptor of its own."""
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._close()

    def append(self, make: Callable[[], bytes]) -> None:
        """Add the line that is made, once there is room. It is with the kernel when this returns."""
        with self._hold() as used:
            if is_full := used >= self._limits.size:
                self._set_aside()
            else:
                self._write(make, used)
        if is_full:
            with self._hold() as used:
                self._write(make, used)

    def touch(self) -> None:
        """Begin the file if it is not there, and say that it is still written."""
        with self._hold() as used:
            self._write(None, used)
            os.utime(self._descriptor)

    def set_aside(self) -> None:
        """End the file; the next line begins another."""
        with self._hold() as used:
            if used:
                self._set_aside()

    def close(self) -> None:
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    @contextmanager
    def _hold(self) -> Iterator[int]:
        """Hold the lock of the file that has the name, without what a killed process left of a line; its size."""
        if self._process != os.getpid():
            self._begin_process()
        with self._lock:
            while True:
                if self._descriptor < 0:
                    self._descriptor = os.open(self.path, _FLAGS, 0o600)
                    if sys.platform != "win32":
                        os.set_blocking(self._descriptor, True)
                    self._end = 0
                held = self._descriptor
                lock(held)
                try:
                    if self._has_name():
                        yield self._cut_torn()
                        return
                finally:
                    unlock(held)
                self._close()

    def _has_name(self) -> bool:
        """Whether the file was neither moved nor removed by another process."""
        with suppress(FileNotFoundError):
            return os.path.samestat(os.stat(self.path, follow_symlinks=False), os.fstat(self._descriptor))
        return False

    def _cut_torn(self) -> int:
        """Remove a last line without an end, which was never acknowledged; the size of the file."""
        state = os.fstat(self._descriptor)
        if not stat.S_ISREG(state.st_mode) or state.st_size == self._end:
            return state.st_size
        whole = _find_last_end(self.path, state.st_size)
        if whole < state.st_size:
            os.ftruncate(self._descriptor, whole)
        return whole

    def _write(self, make: Callable[[], bytes] | None, used: int) -> None:
        if not used:
            used = write_whole(self._descriptor, self._header() + b"\n", 0)
            remove_old(self.path, self._limits)
        if make is not None:
            used = write_whole(self._descriptor, make() + b"\n", used)
        self._end = used

    def _set_aside(self) -> None:
        if footer := self._footer():
            write_whole(self._descriptor, footer + b"\n", os.fstat(self._descriptor).st_size)
        number = max(_number_files(self.path), default=0) + 1
        os.rename(self.path, self.path.with_name(f"{self.path.stem}.{number}{self.path.suffix}"))


def write_whole(descriptor: int, data: bytes, end: int) -> int:
    """Write after the end of a file, which is returned as it is then, without secrets that the project names.

    What does not fit on the disk is taken back.
    """
    data = without_secrets(data)
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    except OSError:
        with suppress(OSError):  # who reads the file, or appends next, recognizes a torn last line
            os.ftruncate(descriptor, end)
        raise
    return end + len(data)


def list_files(path: str | Path) -> list[Path]:
    """The files of a log, the oldest first: those that were full, then the one that has the name."""
    numbered = _number_files(Path(path))
    return [*(numbered[number] for number in sorted(numbered)), Path(path)]


def remove_old(path: Path, limits: LogLimits) -> None:
    """Remove full files that are beyond the limits, the oldest first."""
    kept, oldest = 0, time.time() - limits.seconds
    for file in reversed(list_files(path)[:-1]):
        with suppress(OSError):  # another process removed it
            state = file.stat()
            kept += state.st_size
            if kept > limits.total or state.st_mtime < oldest:
                file.unlink()


def _number_files(path: Path) -> dict[int, Path]:
    found: dict[int, Path] = {}
    with suppress(FileNotFoundError):
        for name in os.listdir(path.parent):
            number = name.removeprefix(f"{path.stem}.").removesuffix(path.suffix)
            if number.isdecimal() and name == f"{path.stem}.{number}{path.suffix}":
                found[int(number)] = path.with_name(name)
    return found


def _find_last_end(path: Path, size: int) -> int:
    """Where the last whole line ends."""
    with path.open("rb") as file:
        while size:
            begin = max(size - BLOCK, 0)
            file.seek(begin)
            if (place := file.read(size - begin).rfind(b"\n")) >= 0:
                return begin + place + 1
            size = begin
    return 0
