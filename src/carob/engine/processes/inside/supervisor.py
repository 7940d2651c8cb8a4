"""The supervisor of a worker: it starts the worker process, and sees to it that nothing of it lives on after its end.

Agents start programs, and those start others, some in sessions of their own. On Linux, whatever of them loses its
parent becomes a child of the supervisor, which kills it when the worker has ended. The runner ends a worker by SIGTERM
to its supervisor; when the runner itself is gone, however that came about, the kernel sends that signal.

Started as `python -m carob.engine.processes.inside.supervisor RUNNER CHANNEL WORDS IN_FLIGHT`: the runner's process id
and the file descriptors for the worker. It ends as the worker ended, with the same exit code or by the same signal.
"""

from __future__ import annotations

import os
import signal
import sys

from carob.system import process_tree
from carob.system.gc_pause import gc_frozen

assert sys.platform != "win32"


def main() -> None:
    runner, *channels = map(int, sys.argv[1:])
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    process_tree.adopt_orphans()
    process_tree.end_with(runner, signal.SIGTERM)
    supervisor = os.getpid()
    worker = os.fork()
    if worker == 0:
        _become_worker(supervisor, channels)
    for channel in channels:
        os.close(channel)
    _move_to_own_group(worker)
    signal.signal(signal.SIGTERM, lambda *_: process_tree.kill(worker))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    status = _end_of(worker)
    process_tree.kill_group(worker)
    process_tree.kill_children()
    process_tree.leave_as(status)


def _become_worker(supervisor: int, channels: list[int]) -> None:
    os.setpgid(0, 0)
    process_tree.end_with(supervisor, signal.SIGKILL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    with gc_frozen():
        from carob.engine.processes.inside.serve import serve

    serve(*channels)
    # Threads that agents left running must not keep a finished worker alive.
    os._exit(0)


def _move_to_own_group(worker: int) -> None:
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


if __name__ == "__main__":
    main()
