"""The supervisor of a command in a workspace: it starts the command, and ends all that it started.

Started as a script: `python -I -S supervise.py NOTES FOLDER MEGABYTES FILES PROCESSES COMMAND...`. It hands stdin,
stdout, stderr and the exit status on. On Linux it becomes the parent of whatever loses its own, and kills that at the
end. A command that fills the disk or starts too many processes is killed, and `NOTES/stopped` says why.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[4]))

from carob.system import process_tree

assert sys.platform != "win32"

AWAITED = {signal.SIGTERM, signal.SIGCHLD}
ASKED = 0.4
"""How long a command may take to end once it was asked to."""
TRACER = "strace"
LAST_WORDS = 10.0
"""How long what notes the processes may take to write down the last of them."""
LOOK = 0.25
"""How often a command that goes on is looked at."""
SHARE = 10
"""The folder is looked at so rarely that it takes a tenth of the time."""


def main() -> None:
    notes, folder = Path(sys.argv[1]), sys.argv[2]
    megabytes, files, processes = map(int, sys.argv[3:6])
    signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    process_tree.adopt_orphans()
    supervisor = os.getpid()
    process_tree.end_with(os.getppid(), signal.SIGTERM)
    command = os.fork()
    if command == 0:
        _become(sys.argv[6:], supervisor, megabytes << 20)
    status = _attend(command, UsageLimits(notes, folder, megabytes << 20, files, processes))
    process_tree.kill_group(command)
    process_tree.kill_children(spared=TRACER, seconds=LAST_WORDS)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, AWAITED - {signal.SIGTERM})
    process_tree.leave_as(status)


def _become(argv: list[str], supervisor: int, largest: int) -> None:
    import resource

    os.setsid()
    process_tree.end_with(supervisor, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, AWAITED)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
        os._exit(127)


class UsageLimits:
    """What a command may use up; looked at now and then."""

    def __init__(self, notes: Path, folder: str, most_bytes: int, most_files: int, most_processes: int) -> None:
        self._notes = notes
        self._folder = folder
        self._most = most_bytes, most_files, most_processes
        self._next = time.monotonic() + LOOK

    def are_kept(self) -> bool:
        """Whether all is within its limits; if not, the reason is noted."""
        if (now := time.monotonic()) < self._next:
            return True
        most_bytes, most_files, most_processes = self._most
        size, files = _measure(self._folder)
        processes = process_tree.count_descendants()
        self._next = time.monotonic() + max(LOOK, SHARE * (time.monotonic() - now))
        why = ""
        if size > most_bytes:
            why = f"the workspace grew beyond {most_bytes >> 20:,} MB (max_mb)"
        elif files > most_files:
            why = f"the workspace has more than {most_files:,} files (max_files)"
        elif processes > most_processes:
            why = f"more than {most_processes:,} processes were running (max_processes)"
        if why:
            (self._notes / "stopped").write_text(why)
        return not why


def _attend(command: int, limits: UsageLimits) -> int:
    """Wait for the command; adopted processes that end are reaped meanwhile. How it ended."""
    until: float | None = None
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == command:
            return status
        if pid:
            continue
        if (until is not None and time.monotonic() > until) or not limits.are_kept():
            process_tree.kill(command)
            return int(signal.SIGKILL)
        if _wait() == signal.SIGTERM and until is None:
            process_tree.ask(command)
            until = time.monotonic() + ASKED


def _wait() -> int:
    """Wait for a signal, but not for long; which it was."""
    if hasattr(signal, "sigtimedwait"):
        event = signal.sigtimedwait(AWAITED, LOOK)
        return event.si_signo if event is not None else 0
    time.sleep(LOOK / 5)
    return int(signal.sigwait({signal.SIGTERM})) if signal.SIGTERM in signal.sigpending() else 0


def _measure(folder: str) -> tuple[int, int]:
    """The bytes and the files in a folder."""
    size = files = 0
    pending = [folder]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    else:
                        files += 1
                        size += entry.stat(follow_symlinks=False).st_blocks * 512
        except OSError:
            continue
    return size, files


if __name__ == "__main__":
    main()
