"""Files that are written next to their target and moved there: `.NAME.NUMBER.part`, locked by whoever writes them.

The lock goes with the process. What a killed one left is removed by the next that writes into the folder.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

from carob.system.locks import lock
from carob.system.portable import BYTES, NO_LINK, NO_WAIT

OLD_ENOUGH = 60
"""Seconds: a file is there a moment before it is locked, and some file systems have no locks."""
# What file systems without hard links answer to a hard link.
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
_NAME = re.compile(r"\..+\.\d+\.part")


def create_unfinished(target: str) -> tuple[int, str]:
    """A new hidden file in the folder of its target, so that giving it its name cannot cross file systems."""
    folder, name = os.path.split(target)
    _remove_abandoned(folder or ".")
    for number in count(os.getpid()):
        path = os.path.join(folder, f".{name}.{number}.part")
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | BYTES, 0o600)
        except FileExistsError:
            continue
        _try_to_lock(descriptor)
        return descriptor, path
    raise AssertionError("numbers do not run out")


def give_name(temporary: str | Path, target: str | Path) -> None:
    """Give a finished file its name; FileExistsError if another file has it."""
    try:
        os.link(temporary, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        os.replace(temporary, target)


def _remove_abandoned(folder: str) -> None:
    for name in os.listdir(folder):
        if _NAME.fullmatch(name):
            with suppress(OSError):  # it went meanwhile, or belongs to somebody else
                _remove_if_abandoned(os.path.join(folder, name))


def _remove_if_abandoned(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | NO_LINK | NO_WAIT)
    try:
        state = os.fstat(descriptor)
        is_old = time.time() - state.st_mtime > OLD_ENOUGH
        if stat.S_ISREG(state.st_mode) and is_old and _try_to_lock(descriptor):
            os.unlink(path)
    finally:
        os.close(descriptor)


def _try_to_lock(descriptor: int) -> bool:
    try:
        lock(descriptor, wait=False)
    except OSError:
        return False
    return True
