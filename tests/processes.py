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
