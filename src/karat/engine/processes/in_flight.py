"""Which cases a worker is carrying out, in memory that outlives it: what it said last may be lost, this is not."""

from __future__ import annotations

import mmap
import os
import struct
import sys

PLACE = struct.calcsize("Q")


def new_file(places: int) -> int:
    """A file for so many cases, in memory where there are such files: a full disk would be the worker's death."""
    if sys.platform == "linux":
        fd = os.memfd_create("karat-in-flight")
    else:
        import tempfile

        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    os.ftruncate(fd, places * PLACE)
    return fd


def tokens_in(fd: int) -> set[int]:
    """The cases that a worker was carrying out when it ended."""
    tokens = os.pread(fd, os.fstat(fd).st_size, 0)
    return {token for (token,) in struct.iter_unpack("Q", tokens) if token}


class InFlight:
    """The worker's side: each of its places holds the token of a case, or 0."""

    def __init__(self, fd: int) -> None:
        self._places = memoryview(mmap.mmap(fd, 0)).cast("Q")
        os.close(fd)

    def set(self, slot: int, token: int) -> None:
        self._places[slot] = token

    def clear(self) -> None:
        """Say nothing of who is being carried out: not they, but somebody before them broke the worker."""
        for slot in range(len(self._places)):
            self._places[slot] = 0
