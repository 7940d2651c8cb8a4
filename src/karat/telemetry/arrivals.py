"""How often a file came to stand at a path, as Linux tells it: so that no generation of a log is missed."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from pathlib import Path

CREATED, MOVED_TO, OVERFLOW = 0x100, 0x80, 0x4000
_EVENT = struct.Struct("iIII")
_BUFFER = 1 << 16


class Arrivals:
    """Counts from when it is made. Where nobody can tell, because it is not Linux or there is no folder, it says so."""

    def __init__(self, path: Path) -> None:
        self._name = os.fsencode(path.name)
        self._fd = _watching(path.parent)
        self._count = 0
        self._lost = False

    def count(self) -> int | None:
        """How many there were by now; None if nobody can tell."""
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


def _watching(folder: Path) -> int | None:
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)
    fd: int = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if fd < 0:
        return None
    if libc.inotify_add_watch(fd, os.fsencode(folder), CREATED | MOVED_TO) < 0:
        os.close(fd)
        return None
    return fd
