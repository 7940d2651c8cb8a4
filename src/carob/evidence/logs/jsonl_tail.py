"""The part of a log that was written during a turn, found by byte offset, through rotation and late writes.

A segment is opened before the prompt is sent and holds the file open: a file that is rotated away is still read, and
the new one from its start. A file that shrank or was rewritten has lost lines, and so has a log that was replaced more
often than files were opened here; which lines is unknown.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

from carob.system.portable import CLOSE_ON_EXEC, NO_WAIT, is_linux, read_at

POLL = 0.02
SETTLE = 1.5
"""Without a line that ends a turn, it has ended when nothing more was written for so long."""
RESTLESS = 10
"""After so many times that time, a log that goes on is taken for one that never comes to rest."""
LARGEST = 64 << 20
CHUNK = 1 << 20
MARK = 128
"""How many bytes before what is read next must stay as they are."""
MOST_FILES = 16

Fits = Callable[[str], bool]


class CaptureBrokenError(Exception):
    """The log cannot be relied on for this turn."""


class LogSegment:
    """The lines that are `mine` of what is written to a log from now on; `ends` knows the line that ends the turn."""

    def __init__(self, path: Path, mine: Fits | None = None, ends: Fits | None = None) -> None:
        self.lines: list[str] = []
        self.ended = False
        self._path = path
        self._mine = mine
        self._ends = ends
        self._taken = 0
        self._files: list[_File] = []
        self._followed = 0
        self._replacements = ReplacementCounter(path)
        try:
            self._begin()
        except CaptureBrokenError:
            self.close()
            raise

    def read(self) -> None:
        """Take in what is there by now. Raises CaptureBrokenError if lines were lost."""
        came = self._replacements.count()
        try:
            self._read_files()
            if self._is_moved():
                self._followed += self._open(from_start=True)
                self._read_files()
        except OSError as error:
            raise CaptureBrokenError(f"{self._path} cannot be read: {error.strerror}") from error
        if came is not None and came - self._before > self._followed:
            raise CaptureBrokenError(f"{self._path} was replaced faster than it could be read")

    async def finish(self, seconds: float) -> list[str]:
        """The lines of the turn, once it has ended.

        Raises CaptureBrokenError if the log is missing, lost lines, or the end does not come in time. Where no line
        ends a turn, there may be none at all: a log of tools has nothing of a turn without any.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        restless = loop.time() + max(seconds, SETTLE * RESTLESS)
        line_count, since = -1, loop.time()
        while True:
            self.read()
            now = loop.time()
            if len(self.lines) != line_count:
                line_count, since = len(self.lines), now
            if self.ended or (self._ends is None and line_count and now - since >= SETTLE):
                return await self._prove_lines()
            if now >= restless and self._ends is None:
                message = f"{self._path} keeps growing, and no line marks the end of the turn: name one that does"
                raise CaptureBrokenError(message)
            if now >= deadline and self._ends is None and not line_count and self._files and self._path.exists():
                return await self._prove_lines()
            if now >= deadline and (self._ends is not None or not line_count):
                raise CaptureBrokenError(self._why(seconds))
            await asyncio.sleep(POLL)

    def close(self) -> None:
        self._replacements.close()
        while self._files:
            self._files.pop().close()

    def _begin(self) -> None:
        """Open the log as it is, and count from there."""
        while True:
            self._exists = self._open(from_start=False)
            self._before = self._replacements.count() or 0
            if not self._is_moved():
                return
            while self._files:
                self._files.pop().close()

    async def _prove_lines(self) -> list[str]:
        """Return the lines, if every file that was at the path was read."""
        if self._followed:
            await asyncio.sleep(POLL)
            self.read()
            came = self._replacements.count()
            is_created = came is None and self._followed == 1 and not self._exists
            if not is_created and came != self._before + self._followed:
                raise CaptureBrokenError(f"{self._path} was replaced during the turn, so lines may be missing")
        return self.lines

    def _read_files(self) -> None:
        for file in self._files:
            for data in file.new_lines():
                self._taken += len(data)
                if self._taken > LARGEST:
                    raise CaptureBrokenError(f"more than {LARGEST >> 20} MiB were written to {self._path} in one turn")
                self._keep(data.decode("utf-8", "replace").rstrip("\r"))

    def _keep(self, line: str) -> None:
        if line.strip() and (self._mine is None or self._mine(line)):
            self.lines.append(line)
            self.ended = self.ended or (self._ends is not None and self._ends(line))

    def _open(self, *, from_start: bool) -> bool:
        fd = _open(self._path)
        if fd is None:
            return False
        self._files.append(_File(fd, 0 if from_start else os.fstat(fd).st_size, self._path))
        if len(self._files) > MOST_FILES:
            raise CaptureBrokenError(f"{self._path} was replaced more than {MOST_FILES} times during the turn")
        return True

    def _is_moved(self) -> bool:
        """Whether the path now names another file than the one that was opened last."""
        try:
            now = os.stat(self._path)
        except FileNotFoundError:
            return False
        return not self._files or self._files[-1].identity != (now.st_dev, now.st_ino)

    def _why(self, seconds: float) -> str:
        if not self._files:
            return f"{self._path} does not exist: check where the app writes it"
        if self.lines:
            late = f"{self._path} did not show the end of the turn within {seconds:g} s"
            return f"{late}: correct the end-of-turn event, or increase `wait_ms`"
        return f"nothing was written to {self._path} in this turn within {seconds:g} s: check where the app writes it"


class _File:
    """One open file of the log, and how far it was read."""

    def __init__(self, fd: int, offset: int, path: Path) -> None:
        self._fd = fd
        self._offset = offset
        self._path = path
        self._rest = b""
        self._mark = self._read_mark()
        self._torn = not self._mark.endswith(b"\n") if self._mark else False
        stat = os.fstat(fd)
        self.identity = stat.st_dev, stat.st_ino

    def new_lines(self) -> Iterator[bytes]:
        """The lines that are whole by now. The end of a line that was started before the turn is skipped."""
        if os.fstat(self._fd).st_size < self._offset:
            raise CaptureBrokenError(f"{self._path} was truncated during the turn")
        if self._read_mark() != self._mark:
            raise CaptureBrokenError(f"{self._path} was rewritten during the turn")
        while chunk := read_at(self._fd, CHUNK, self._offset):
            self._offset += len(chunk)
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            if len(self._rest) > LARGEST:
                raise CaptureBrokenError(f"{self._path} has a line of more than {LARGEST >> 20} MiB")
            yield from self._drop_torn(lines)
        self._mark = self._read_mark()
        if _is_object(self._rest):
            lines, self._rest = [self._rest], b""
            yield from self._drop_torn(lines)

    def close(self) -> None:
        os.close(self._fd)

    def _drop_torn(self, lines: list[bytes]) -> list[bytes]:
        if self._torn and lines:
            self._torn = False
            return lines[1:]
        return lines

    def _read_mark(self) -> bytes:
        return read_at(self._fd, min(MARK, self._offset), max(0, self._offset - MARK))


def _is_object(data: bytes) -> bool:
    """Whether a line without an end is whole all the same: a part of a JSON object is none."""
    if not data.rstrip().endswith(b"}"):
        return False
    try:
        return isinstance(json.loads(data), dict)
    except (ValueError, RecursionError):
        return False


def _open(path: Path) -> int | None:
    """The log, never waiting for a writer. What cannot be read at an offset is not a log."""
    try:
        fd = os.open(path, os.O_RDONLY | NO_WAIT)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CaptureBrokenError(f"{path} cannot be read: {error.strerror}") from error
    try:
        read_at(fd, 1, 0)
    except OSError as error:
        os.close(fd)
        raise CaptureBrokenError(f"{path} is not a log: {error.strerror}") from error
    return fd


CREATED, MOVED_TO, OVERFLOW = 0x100, 0x80, 0x4000
_EVENT = struct.Struct("iIII")
_BUFFER = 1 << 16


class ReplacementCounter:
    """Count the files that appear at a path, by inotify, so that no generation of a log is missed.

    The count is unknown where there is no inotify, or no folder to watch.
    """

    def __init__(self, path: Path) -> None:
        self._name = os.fsencode(path.name)
        self._fd = _watch_folder(path.parent)
        self._count = 0
        self._lost = False

    def count(self) -> int | None:
        """Return the number of files so far; None if it is unknown."""
        if self._fd is None:
            return None
        while True:
            try:
                data = os.read(self._fd, _BUFFER)
            except BlockingIOError:
                return None if self._lost else self._count
            self._take(data)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _take(self, data: bytes) -> None:
        at = 0
        while at < len(data):
            _, mask, _, length = _EVENT.unpack_from(data, at)
            at += _EVENT.size
            name, at = data[at : at + length].rstrip(b"\0"), at + length
            self._lost = self._lost or bool(mask & OVERFLOW)
            self._count += bool(mask & (CREATED | MOVED_TO)) and name == self._name


def _watch_folder(folder: Path) -> int | None:
    if not is_linux():
        return None
    libc = ctypes.CDLL(None)
    fd: int = libc.inotify_init1(NO_WAIT | CLOSE_ON_EXEC)
    if fd < 0:
        return None
    if libc.inotify_add_watch(fd, os.fsencode(folder), CREATED | MOVED_TO) < 0:
        os.close(fd)
        return None
    return fd
