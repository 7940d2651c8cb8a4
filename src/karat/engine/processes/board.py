"""Which cases a worker is carrying out, in memory that outlives it: what it said last may be lost, this is not."""

from __future__ import annotations

import mmap
import os
import struct
import sys

PLACE = struct.calcsize("Q")


def new_board(places: int) -> int:
    """The file of a board, in memory where there are such files: a full disk would be the death of who writes to it."""
    if sys.platform == "linux":
        fd = os.memfd_create("karat-board")
    else:
        import tempfile

        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    os.ftruncate(fd, places * PLACE)
    return fd


def tokens_on(fd: int) -> set[int]:
    """The cases on a board whose worker has ended."""
    found = os.pread(fd, os.fstat(fd).st_size, 0)
    return {token for (token,) in struct.iter_unpack("Q", found) if token}


def opened_board(fd: int) -> memoryview:
    """The places of a board, for its worker to write to; none is taken by 0."""
    board = memoryview(mmap.mmap(fd, 0)).cast("Q")
    os.close(fd)
    return board


def wipe(board: memoryview) -> None:
    """Say nothing of who is being carried out: not they, but somebody before them broke the worker."""
    for place in range(len(board)):
        board[place] = 0
