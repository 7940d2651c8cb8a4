"""The part of a log that was written during a turn, found by byte offset, through rotation and late writes.

A segment is opened before the prompt is sent and holds the file open: what was written before a rotation is still read,
and then the new file from its start. A file that shrank has lost lines, and nobody can say which.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

POLL = 0.02
LARGEST = 64 << 20


class CaptureBrokenError(Exception):
    """The log cannot be relied on for this turn."""


class LogSegment:
    """What is written to a log from now on. `finish` reads it; `close` gives the file back."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = _opened(path)
        self._offset = os.fstat(self._fd).st_size if self._fd is not None else 0
        self._data = b""

    async def finish(
        self, ends: Callable[[str], bool] | None, mine: Callable[[str], bool], seconds: float
    ) -> list[str]:
        """The lines of the turn, once the line that ends it is there (without `ends`: what is there now).

        Raises CaptureBrokenError if the log is missing, shrank, stays silent, or the turn's end does not come in time.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while True:
            self._read()
            lines = [line for line in self._lines() if mine(line)]
            if lines if ends is None else any(map(ends, lines)):
                return lines
            if loop.time() >= deadline:
                raise CaptureBrokenError(self._why(lines, seconds))
            await asyncio.sleep(POLL)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _lines(self) -> list[str]:
        """Whole lines only: a torn one is still being written."""
        whole, _, _ = self._data.rpartition(b"\n")
        return [line for line in whole.decode("utf-8", "replace").split("\n") if line.strip()]

    def _read(self) -> None:
        if self._fd is not None:
            self._take(self._fd)
        if self._rotated():
            self.close()
            self._fd = _opened(self._path)
            self._offset = 0
            if self._data and not self._data.endswith(b"\n"):
                self._data += b"\n"
            if self._fd is not None:
                self._take(self._fd)

    def _take(self, fd: int) -> None:
        size = os.fstat(fd).st_size
        if size < self._offset:
            raise CaptureBrokenError(f"{self._path} was truncated during the turn")
        if size - self._offset + len(self._data) > LARGEST:
            raise CaptureBrokenError(f"more than {LARGEST >> 20} MiB were written to {self._path} during the turn")
        while chunk := os.pread(fd, 1 << 20, self._offset):
            self._data += chunk
            self._offset += len(chunk)

    def _rotated(self) -> bool:
        """Whether the path now names another file than the one that is open."""
        try:
            now = os.stat(self._path)
        except FileNotFoundError:
            return False
        if self._fd is None:
            return True
        mine = os.fstat(self._fd)
        return (mine.st_dev, mine.st_ino) != (now.st_dev, now.st_ino)

    def _why(self, lines: list[str], seconds: float) -> str:
        if self._fd is None:
            return f"{self._path} does not exist"
        if lines:
            return f"{self._path} did not show the end of the turn within {seconds:g} s"
        return f"nothing was written to {self._path} during the turn"


def _opened(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
