"""Starting processes, and ending them with all that they started. No other module does either."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

from carob.system.portable import require_processes

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
SWEEP = 5.0
"""Seconds after which processes that cannot be killed are left to the system."""

KILL: Final[int] = getattr(signal, "SIGKILL", signal.SIGTERM)
_signal_group: Final[Callable[[int, int], None]] = getattr(os, "killpg", os.kill)
_wait_for_none: Final[int] = getattr(os, "WNOHANG", 1)
# Before any fork: a child of several threads may not load libraries.
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def start(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a process as the leader of a session and a group of its own. Raises OSError, PlatformError."""
    require_processes()
    return subprocess.Popen(command, start_new_session=True, **options)


def end(process: subprocess.Popen[bytes], grace: float) -> None:
    """Ask a process and its group to end, kill them after a moment of grace, and reap it. It leads its group."""
    if process.poll() is None:
        ask(process.pid)
        with suppress(subprocess.TimeoutExpired):
            process.wait(grace)
    kill_group(process.pid)
    process.wait()


def ask(leader: int) -> None:
    """SIGTERM to a group."""
    _signal(_signal_group, leader, signal.SIGTERM)


def kill_group(leader: int) -> None:
    """SIGKILL to a group, whose leader may have ended before it."""
    _signal(_signal_group, leader, KILL)


def kill(leader: int) -> None:
    """SIGKILL to a process that is not reaped yet, and to the group that it began as the leader of."""
    kill_group(leader)
    _signal(os.kill, leader, KILL)


def adopt_orphans() -> None:
    """On Linux, whatever loses its parent below this process becomes its child, in whatever session it is."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def kill_children(spared: str = "", seconds: float = 0.0) -> None:
    """Kill and reap all children, and theirs as they become ours, until there are none.

    A child of the name `spared` has so many seconds to come to an end by itself.
    """
    began = time.monotonic()
    while (now := time.monotonic()) < began + seconds + SWEEP:
        try:
            while os.waitpid(-1, _wait_for_none) != (0, 0):
                continue
        except ChildProcessError:
            return
        for child in _children():
            if not (now < began + seconds and _name_of(child) == spared):
                _signal(os.kill, child, KILL)
        time.sleep(0.002)


def end_with(parent: int, how: int) -> None:
    """Get a signal when the parent ends, however that came about; end now if it already has."""
    _prctl(PR_SET_PDEATHSIG, how)
    if os.getppid() != parent:
        os._exit(0)


def leave_as(status: int) -> None:
    """End this process as another one ended: with the same exit code, or by the same signal."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0 and sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -code not in (KILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        signal.raise_signal(-code)
    os._exit(code)


def count_descendants() -> int:
    """How many processes are below this one, on Linux."""
    parents = dict(_parents())
    below = {os.getpid()}
    found = 0
    while more := {pid for pid, parent in parents.items() if parent in below and pid not in below}:
        below |= more
        found = len(below) - 1
    return found


def kill_marked(mark: bytes) -> int:
    """Kill every process in whose environment something is, until there are none; how many there were."""
    killed, until = set[int](), time.monotonic() + SWEEP
    while time.monotonic() < until:
        marked = [pid for pid, _ in _parents() if _has_mark(pid, mark)]
        if not marked:
            break
        for pid in marked:
            _signal(os.kill, pid, KILL)
        killed.update(marked)
        time.sleep(0.002)
    return len(killed)


def _has_mark(pid: int, mark: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat, open(f"/proc/{pid}/environ", "rb") as environ:
            is_zombie = stat.read().rpartition(b")")[2].split()[0] == b"Z"
            return not is_zombie and mark in environ.read()
    except OSError:
        return False


def _prctl(option: int, value: int) -> None:
    if _libc is not None:
        _libc.prctl(option, value)


def _children() -> Iterator[int]:
    me = os.getpid()
    return (pid for pid, parent in _parents() if parent == me)


def _name_of(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def _parents() -> Iterator[tuple[int, int]]:
    """Each process with its parent."""
    for name in os.listdir("/proc") if sys.platform == "linux" else ():
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            yield int(name), parent


def _signal(how: Callable[[int, int], None], process: int, number: int) -> None:
    try:
        how(process, number)
    except (ProcessLookupError, PermissionError):
        return  # it is gone; on some systems a group of zombies is answered with EPERM
