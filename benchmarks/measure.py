"""Start a program, wait for it, and tell what it and all its children used."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parent.parent
TAIL = 1 << 16

# No telemetry, no update checks, no caches between runs.
_QUIET = {
    "CI": "1",
    "DO_NOT_TRACK": "1",
    "PROMPTFOO_CACHE_ENABLED": "false",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    "PROMPTFOO_DISABLE_SHARING": "1",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}
_COLOURS = re.compile(rb"\x1b\[[0-9;]*m")


class Usage(NamedTuple):
    """What one run used. `rss_mb` is that of its largest process; `tally` is (passed, failed) as it reported them."""

    cpu: float
    wall: float
    rss_mb: float
    exit_code: int
    tally: tuple[int, int] | None
    stopped: bool = False


class Runs(tuple[Usage, ...]):
    """All runs of one program on one piece of work, in the order in which it had its turn."""

    @property
    def cpu(self) -> float:
        return min(run.cpu for run in self)

    @property
    def wall(self) -> float:
        return min(run.wall for run in self)

    @property
    def rss_mb(self) -> float:
        return max(run.rss_mb for run in self)

    def cpu_times(self, *others: Runs) -> float:
        """How many times the CPU of the others together: the median of the turns, each disturbed by the same."""
        return median(own.cpu / sum(run.cpu for run in beside) for own, *beside in zip(self, *others, strict=False))

    def wall_times(self, other: Runs) -> float:
        return median(own.wall / beside.wall for own, beside in zip(self, other, strict=False))


def environment(home: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment without what changes how Python runs, and with a home of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "XDG_"))}
    return {**kept, **_QUIET, "HOME": str(home), "PYTHONPATH": str(REPOSITORY), **extra}


def measured(command: Sequence[str], folder: Path, extra: Mapping[str, str] | None = None, limit: float = 600) -> Usage:
    """Run a command in a folder. User and system time of the process and of every child that it waited for."""
    folder.mkdir(parents=True, exist_ok=True)
    console = folder / "console.txt"
    with console.open("wb") as out:
        start = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(folder, extra or {}),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        timer = threading.Timer(limit, os.killpg, (process.pid, signal.SIGKILL))
        timer.start()
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return Usage(
        cpu=used.ru_utime + used.ru_stime,
        wall=wall,
        rss_mb=used.ru_maxrss / 1024,
        exit_code=process.returncode,
        tally=tally(console),
        stopped=process.returncode == -signal.SIGKILL and wall >= limit,
    )


def turn_about(
    commands: Mapping[str, Sequence[str]], folder: Path, turns: int, codes: tuple[int, ...] = (0,)
) -> dict[str, Runs]:
    """Each command many times, one after the other, in a folder that is empty before each."""
    found: dict[str, list[Usage]] = {name: [] for name in commands}
    for turn in range(turns + 1):
        for name, command in commands.items():
            shutil.rmtree(folder, ignore_errors=True)
            used = measured(command, folder)
            if used.exit_code not in codes:
                raise RuntimeError(f"{name} ended with exit code {used.exit_code}: {complaint(folder / 'console.txt')}")
            if turn:  # the first was to warm up
                found[name].append(used)
    return {name: Runs(runs) for name, runs in found.items()}


def tally(console: Path) -> tuple[int, int] | None:
    """How many cases passed and failed, by the last lines that a program printed."""
    end = _COLOURS.sub(b"", _end(console))
    counts = [_last(rb"([\d,]+) %s\b" % word, end) for word in (b"passed", b"failed")]
    passed, failed = counts
    return None if passed is None and failed is None else (passed or 0, failed or 0)


def complaint(console: Path) -> str:
    """What a program that broke said last."""
    lines = [line.strip() for line in _end(console).decode(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "it printed nothing"


def _end(console: Path) -> bytes:
    with console.open("rb") as file:
        file.seek(max(console.stat().st_size - TAIL, 0))
        return file.read()


def _last(pattern: bytes, text: bytes) -> int | None:
    found = re.findall(pattern, text)
    return int(found[-1].replace(b",", b"")) if found else None
