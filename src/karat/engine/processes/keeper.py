"""The keeper of a worker: it starts the worker process, and sees to it that nothing of it lives on after its end.

Agents start programs, and those start others, some in sessions of their own. On Linux, whatever of them loses its
parent becomes a child of the keeper, which kills it when the worker has ended. The runner ends a worker by SIGTERM to
its keeper; when the runner itself is gone, however that came about, the kernel sends that signal.

Started as `python -m karat.engine.processes.keeper RUNNER CHANNEL WORDS BOARD`: the runner's process id and the file
descriptors for the worker. It ends as the worker ended, with the same exit code or by the same signal.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
SWEEP = 5.0
"""Seconds after which processes that cannot be killed are left to the system."""


def main() -> None:
    runner, *channels = map(int, sys.argv[1:])
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    _end_with(runner, signal.SIGTERM)
    keeper = os.getpid()
    worker = os.fork()
    if worker == 0:
        _become_worker(keeper, channels)
    for channel in channels:
        os.close(channel)
    _own_group(worker)
    signal.signal(signal.SIGTERM, lambda *_: _end(worker))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    status = _end_of(worker)
    _kill(os.killpg, worker)
    _sweep()
    _leave_as(status)


def _become_worker(keeper: int, channels: list[int]) -> None:
    os.setpgid(0, 0)
    _end_with(keeper, signal.SIGKILL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    from karat.engine.processes.worker import serve

    serve(*channels)
    # Threads that agents left behind must not keep a finished worker alive.
    os._exit(0)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value)


def _end_with(parent: int, how: signal.Signals) -> None:
    """Get a signal when the parent ends; end now if it already has."""
    _prctl(PR_SET_PDEATHSIG, how)
    if os.getppid() != parent:
        os._exit(0)


def _own_group(worker: int) -> None:
    """Done on both sides of the fork, so that it is done whoever comes first."""
    try:
        os.setpgid(worker, worker)
    except (ProcessLookupError, PermissionError):
        return  # it has already ended


def _end_of(worker: int) -> int:
    """Wait for the worker, and take care of adopted processes meanwhile; how the worker ended."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == worker:
            return status


def _sweep() -> None:
    """Kill all children, and theirs as they become ours, until there are none."""
    until = time.monotonic() + SWEEP
    while time.monotonic() < until:
        try:
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                continue
        except ChildProcessError:
            return
        for child in _children():
            _kill(os.kill, child)
        time.sleep(0.002)


def _children() -> Iterator[int]:
    me = os.getpid()
    for name in os.listdir("/proc") if sys.platform == "linux" else ():
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            if parent == me:
                yield int(name)


def _end(worker: int) -> None:
    """End the worker and its group, of which it may no longer be."""
    _kill(os.killpg, worker)
    _kill(os.kill, worker)


def _kill(how: Callable[[int, int], None], process: int) -> None:
    try:
        how(process, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # it is gone; on some systems a group of zombies is answered with EPERM


def _leave_as(status: int) -> None:
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main()
