"""Which processes listen at a port of this machine, where /proc shows it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

LISTENS = "0A"
MOST_WORDS = 4
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")


class Listener(NamedTuple):
    """A process that listens, with what started it and where it works."""

    pid: int
    words: tuple[str, ...]
    folder: Path
    log: str = ""
    """The file or the terminal that its errors go to."""

    def __str__(self) -> str:
        return f"process {self.pid} ({' '.join(self._shown_words())}, in {self.folder})"

    def _shown_words(self) -> Iterator[str]:
        """How its command line starts, up to its options, which may hold secrets."""
        yield os.path.basename(self.words[0]) if self.words else "unknown"
        for word in self.words[1:MOST_WORDS]:
            if word.startswith("--") or "=" in word:
                return
            yield word


def find_listeners(port: int) -> list[Listener]:
    """The processes that listen at a port, as far as this user may see them; none where the system has no /proc."""
    sockets = {f"socket:[{inode}]" for table in _TABLES for inode in _inodes(table, port)}
    found = []
    for entry in os.listdir("/proc") if sockets else ():
        with suppress(OSError):
            process = Path("/proc", entry)
            if entry.isdecimal() and any(os.readlink(fd) in sockets for fd in (process / "fd").iterdir()):
                words = (process / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
                log = os.readlink(process / "fd" / "2")
                shown = log if os.path.exists(log) and log != os.devnull else ""
                found.append(Listener(int(entry), tuple(filter(None, words)), (process / "cwd").readlink(), shown))
    return found


def _inodes(table: str, port: int) -> Iterator[str]:
    try:
        lines = Path(table).read_text("ascii").splitlines()[1:]
    except OSError:
        return
    for fields in map(str.split, lines):
        if fields[3] == LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
            yield fields[9]
