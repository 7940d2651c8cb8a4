"""Makes a Python of Linux lack what Windows lacks, then runs what is on stdin: `python without_posix.py < SCRIPT`.

Only what Carob could use is taken away: Python's own modules are loaded before. Locks of byte ranges stand for those
of Windows, which no other system has.
"""

from __future__ import annotations

import asyncio  # noqa: F401
import concurrent.futures.process  # noqa: F401
import fcntl
import multiprocessing.popen_spawn_posix  # noqa: F401
import os
import pathlib  # noqa: F401
import select
import shutil  # noqa: F401
import signal
import socket
import subprocess  # noqa: F401
import sys
import tempfile  # noqa: F401
from types import ModuleType

MISSING = {
    os: "fork forkpty killpg getpgid setpgid setsid getuid geteuid getgid getegid pread pwrite fchmod mkfifo "
    "memfd_create register_at_fork sched_getaffinity set_blocking O_NOFOLLOW O_NONBLOCK O_DIRECTORY O_CLOEXEC WNOHANG",
    signal: "SIGKILL SIGSTOP SIGALRM SIGHUP SIGCHLD setitimer sigwait sigpending sigtimedwait",
    select: "poll POLLERR POLLHUP POLLNVAL",
    socket: "MSG_DONTWAIT",
}


class ByteLocks(ModuleType):
    """`msvcrt`, as far as locks go."""

    LK_NBLCK, LK_UNLCK = 2, 0

    @staticmethod
    def locking(descriptor: int, mode: int, size: int) -> None:
        how = fcntl.LOCK_UN if mode == ByteLocks.LK_UNLCK else fcntl.LOCK_EX | fcntl.LOCK_NB
        fcntl.lockf(descriptor, how, size, 0, os.SEEK_CUR)


def take_away() -> None:
    for module, names in MISSING.items():
        for name in names.split():
            delattr(module, name)
    sys.modules.update(dict.fromkeys(("fcntl", "resource", "termios", "pwd", "grp", "pty"), None))  # type: ignore[arg-type]
    sys.modules["msvcrt"] = ByteLocks("msvcrt")


if __name__ == "__main__":
    take_away()
    exec(compile(sys.stdin.read(), "script", "exec"), {"__name__": "script"})
