"""What only some systems have: flags of files, reading and writing at a place, numbers of users."""

from __future__ import annotations

import os
import sys
from typing import Any, Final

BYTES: Final[int] = getattr(os, "O_BINARY", 0)
"""Windows changes the ends of lines without it."""
NO_LINK: Final[int] = getattr(os, "O_NOFOLLOW", 0) | BYTES
NO_WAIT: Final[int] = getattr(os, "O_NONBLOCK", 0) | BYTES
FOLDER: Final[int] = getattr(os, "O_DIRECTORY", 0)
CLOSE_ON_EXEC: Final[int] = getattr(os, "O_CLOEXEC", 0)
_pread: Final[Any] = getattr(os, "pread", None)
_pwrite: Final[Any] = getattr(os, "pwrite", None)


def read_at(descriptor: int, size: int, start: int) -> bytes:
    """So many bytes from this place, or fewer at the end of the file."""
    if _pread is None:
        os.lseek(descriptor, start, os.SEEK_SET)
        return os.read(descriptor, size)
    data: bytes = _pread(descriptor, size, start)
    return data


def write_at(descriptor: int, data: bytes | memoryview, start: int) -> int:
    """Write at this place; how many bytes were written."""
    if _pwrite is None:
        os.lseek(descriptor, start, os.SEEK_SET)
        return os.write(descriptor, data)
    count: int = _pwrite(descriptor, data, start)
    return count


def is_linux() -> bool:
    return sys.platform == "linux"


def start_method() -> str:
    """How `multiprocessing` starts a process: elsewhere a copy of this one may hang, or cannot be made."""
    return "fork" if is_linux() and hasattr(os, "fork") else "spawn"


def own_user() -> int:
    """The number of the user who runs this process; 0, which owns every file, on Windows."""
    number: int = getattr(os, "geteuid", int)()
    return number


def require_processes() -> None:
    """Raise PlatformError where there are no process groups."""
    if not hasattr(os, "killpg"):
        from carob.errors import PlatformError  # late: who loads this needs little

        raise PlatformError("Windows cannot end a process with all that it started.", fix="Run this in WSL.")
