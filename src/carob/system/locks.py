"""Locks of files and folders, which go with the process that holds them. No other module locks anything."""

from __future__ import annotations

import errno
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, Final

LOCKED_BYTE: Final = 0x7FFF_FFFE
"""Windows locks bytes, and keeps others from reading them: one that no file of ours reaches."""
PAUSE: Final = 0.01
# What network file systems answer that lock nothing.
_NO_LOCKS: Final = frozenset({errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})


def _load(name: str) -> Any:
    with suppress(ModuleNotFoundError):
        return import_module(name)
    return None


_posix, _windows = _load("fcntl"), _load("msvcrt")


def lock(descriptor: int, *, wait: bool = True) -> None:
    """Lock an open file. Raises OSError if it cannot be locked, or if another holds it and this is not to wait."""
    if _posix is not None:
        _posix.flock(descriptor, _posix.LOCK_EX | (0 if wait else _posix.LOCK_NB))
        return
    while True:
        try:
            _change_byte(descriptor, _windows.LK_NBLCK)
            return
        except OSError as error:
            if not wait or error.errno not in {errno.EACCES, errno.EDEADLK}:
                raise
        time.sleep(PAUSE)


def unlock(descriptor: int) -> None:
    """Let others lock the file."""
    if _posix is not None:
        _posix.flock(descriptor, _posix.LOCK_UN)
    else:
        _change_byte(descriptor, _windows.LK_UNLCK)


def _change_byte(descriptor: int, how: int) -> None:
    place = os.lseek(descriptor, 0, os.SEEK_CUR)
    try:
        os.lseek(descriptor, LOCKED_BYTE, os.SEEK_SET)
        _windows.locking(descriptor, how, 1)
    finally:
        os.lseek(descriptor, place, os.SEEK_SET)


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Keep other processes that ask for it from a folder. No file is left in it. Raises OSError."""
    if _posix is not None:
        descriptor = os.open(folder, os.O_RDONLY)
    else:  # Windows opens no folders
        name = sha256(os.fsencode(folder.resolve())).hexdigest()
        descriptor = os.open(Path(tempfile.gettempdir(), f"carob-{name}.lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        try:
            lock(descriptor)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
        yield
    finally:
        os.close(descriptor)
