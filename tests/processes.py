"""The processes that one started, as Linux tells of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def below(process: int) -> Iterator[tuple[int, bytes]]:
    """Every process below one, with its command line."""
    parents = dict(_parents())
    for found in parents:
        above = found
        while above not in (0, process):
            above = parents.get(above, 0)
        if above and found != process:
            try:
                yield found, Path(f"/proc/{found}/cmdline").read_bytes()
            except (FileNotFoundError, ProcessLookupError):
                continue


def _parents() -> Iterator[tuple[int, int]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = entry.joinpath("stat").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue
            yield int(entry.name), int(stat.rpartition(")")[2].split()[1])


def children() -> set[int]:
    """The processes that this one started and that run."""
    return {process for thread in Path("/proc/self/task").iterdir() for process in _of_thread(thread)}


def running(process: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _of_thread(thread: Path) -> Iterator[int]:
    try:
        listed = thread.joinpath("children").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return
    yield from filter(running, map(int, listed.split()))
