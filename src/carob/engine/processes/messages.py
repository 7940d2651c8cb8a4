"""What the runner and a worker say to each other, each as one frame of JSON.

Which cases a worker is carrying out is in memory that outlives it: what it said last may be lost, this is not.
"""

from __future__ import annotations

import asyncio
import mmap
import os
import struct
import sys
from collections.abc import Callable
from time import monotonic
from typing import cast

import msgspec
from msgspec import Struct

from carob.engine.work import CaseResult, Settings
from carob.errors import CarobError, ConfigError, Diagnostic, ExitCode, SuiteError
from carob.model.run import Item
from carob.model.suite import Case
from carob.plugins.project import Project
from carob.system.portable import read_at
from carob.targets.config import TargetConfig


class Start(Struct, frozen=True, tag="start"):
    """The first message: what to open, and how many cases to carry out at once."""

    target: TargetConfig
    settings: Settings
    secrets: tuple[str, ...]
    path: list[str]
    concurrency: int = 1
    project: Project = Project()
    """Whose checks judge."""
    folder: str = ""
    """Where the run was started."""


class Assignment(Struct, frozen=True, tag="assignment", omit_defaults=True):
    """One case to carry out, and those that are to be torn down before it."""

    token: int
    item: Item
    attempt: int
    needs_teardown: tuple[Case, ...] = ()


class Ready(Struct, frozen=True, tag="ready"):
    """The target is open."""


class Refused(Struct, frozen=True, tag="refused"):
    """The target cannot be opened, and nothing was run; or it cannot be closed as it should be."""

    message: str
    where: str
    fix: str
    slug: str
    problems: tuple[Diagnostic, ...] = ()
    exit_code: int = ExitCode.USAGE


class Started(Struct, frozen=True, tag="started"):
    """One case is being carried out."""

    token: int


class Finished(Struct, frozen=True, tag="finished"):
    """One case carried out. `last` if the worker ends with it, because this case alone held up all the others.

    `deaf`: it ignores its cancellation and goes on until its process is ended.
    """

    token: int
    done: CaseResult
    last: bool = False
    deaf: bool = False


class Returned(Struct, frozen=True, tag="returned", omit_defaults=True):
    """One case that was not carried out, or whose time-out others may have caused: then it is to be run alone."""

    token: int
    alone: bool = False


def refusal(error: CarobError) -> Refused:
    """An error as a message, because errors do not travel between processes."""
    problems = error.problems if isinstance(error, SuiteError) else ()
    return Refused(error.message, error.where, error.fix, error.slug, problems, error.exit_code)


def build_error(message: Refused) -> CarobError:
    """The error that a message reports."""
    if message.problems:
        return SuiteError(message.problems)
    error = ConfigError(message.message, where=message.where, fix=message.fix, slug=message.slug)
    error.exit_code = ExitCode(message.exit_code)
    return error


def _read(kind: type, value: object) -> object:
    """A path; whatever is called an object is what it is."""
    return value if kind is object else kind(value)


encode = msgspec.json.Encoder(enc_hook=str).encode
read_start = msgspec.json.Decoder(Start, dec_hook=_read).decode
read_assignment = msgspec.json.Decoder(Assignment, dec_hook=_read).decode
for_runner = msgspec.json.Decoder(Ready | Refused | Started | Finished | Returned).decode


LENGTH = struct.Struct("!I")
HOLD = 0.004
"""A message that follows another this soon waits for the end of the event loop's turn: several then share a write."""


class Frames(asyncio.Protocol):
    """Calls `received` with each whole message and `lost` when the other side is gone."""

    def __init__(self, received: Callable[[bytes], None], lost: Callable[[], None]) -> None:
        self._received = received
        self._lost = lost
        self._rest = bytearray()
        """The beginning of a message, and how many bytes there must be until more of it is known."""
        self._wanted = 0
        self._held: list[bytes] = []
        self._flushed = 0.0
        self._transport: asyncio.Transport | None = None

    def send(self, payload: bytes) -> None:
        self._held += (LENGTH.pack(len(payload)), payload)
        if monotonic() - self._flushed > HOLD:
            self.flush()
        elif len(self._held) == 2:
            asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        self._flushed = monotonic()
        if self._held and self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(self._held))
        self._held.clear()

    def close(self) -> None:
        self.flush()
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._rest:
            self._rest += data
            if len(self._rest) < self._wanted:
                return
            data = bytes(self._rest)
        start, size = 0, len(data)
        while True:
            begin = start + LENGTH.size
            end = begin + LENGTH.unpack_from(data, start)[0] if begin <= size else begin
            if end > size:
                break
            self._received(data[begin:end])
            start = end
        self._rest, self._wanted = bytearray(data[start:]), end - start

    def connection_lost(self, error: Exception | None) -> None:
        self._lost()


PLACE = struct.calcsize("Q")


def new_file(places: int) -> int:
    """A file for so many cases, in memory where there are such files: a full disk would be the worker's death."""
    if sys.platform == "linux":
        fd = os.memfd_create("carob-in-flight")
    else:
        import tempfile

        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    os.ftruncate(fd, places * PLACE)
    return fd


def tokens_in(fd: int) -> set[int]:
    """The cases that a worker was carrying out when it ended."""
    tokens = read_at(fd, os.fstat(fd).st_size, 0)
    return {token for (token,) in struct.iter_unpack("Q", tokens) if token}


class InFlight:
    """The worker's side: each of its places holds the token of a case, or 0."""

    def __init__(self, fd: int) -> None:
        self._places = memoryview(mmap.mmap(fd, 0)).cast("Q")
        os.close(fd)

    def set(self, slot: int, token: int) -> None:
        self._places[slot] = token

    def clear(self) -> None:
        """Say nothing of who is being carried out: not they, but somebody before them broke the worker."""
        for slot in range(len(self._places)):
            self._places[slot] = 0
