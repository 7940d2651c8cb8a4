"""The address of the tape for a server over stdio: most MCP clients start servers without their own environment.

A process that was not given it finds it by the processes above it: by what the nearest was given, or has announced.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

ADDRESS = "KARAT_TAPE_URL"
"""The variable that holds the address of the tape."""
PROCESSES = Path("/proc")


def find_address(environ: Mapping[str, str]) -> str:
    """The address for this process; the empty string if it does not belong to a run that has one."""
    found = environ.get(ADDRESS, "")
    for process in () if found else _above():
        if found := _read_given(process) or _read_announced(process, environ):
            break
    return found


def announce(url: str, environ: Mapping[str, str]) -> Path | None:
    """Let processes below this one find the address; the file to be removed when it is not valid any more."""
    place = _place(os.getpid(), environ)
    try:
        if place is not None:
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            place.unlink(missing_ok=True)
            with open(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
                file.write(url)
        return place
    except OSError:
        return None  # a home that cannot be written to: then clients have to hand the variable on


def _above() -> Iterator[int]:
    """The processes above this one, the nearest first."""
    process = os.getppid()
    while process > 1:
        yield process
        try:
            stated = (PROCESSES / str(process) / "stat").read_text()
        except OSError:
            return
        process = int(stated.rpartition(")")[2].split()[1])


def _read_given(process: int) -> str:
    prefix = f"{ADDRESS}=".encode()
    with suppress(OSError):
        entries = (PROCESSES / str(process) / "environ").read_bytes().split(b"\0")
        return next((one.removeprefix(prefix).decode() for one in entries if one.startswith(prefix)), "")
    return ""


def _read_announced(process: int, environ: Mapping[str, str]) -> str:
    place = _place(process, environ)
    with suppress(OSError):
        return "" if place is None else place.read_text()
    return ""


def _place(process: int, environ: Mapping[str, str]) -> Path | None:
    """In the home folder, which clients do hand on."""
    home = environ.get("HOME", "")
    return Path(home) / ".cache" / "karat" / "tapes" / str(process) if home else None
