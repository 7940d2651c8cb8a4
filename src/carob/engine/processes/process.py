"""The process of a worker: started with its channels, and ended with all that it started."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from time import perf_counter
from typing import NamedTuple

import msgspec

from carob.engine.processes.messages import (
    Finished,
    Frames,
    Ready,
    Refused,
    Returned,
    Started,
    for_runner,
    new_file,
    tokens_in,
)
from carob.errors import ConfigError
from carob.system import process_tree

POLL = 0.01


class OurEnds(NamedTuple):
    """What a worker is heard by: messages both ways, its last words, and what it prints."""

    messages: socket.socket
    words: int
    printed: int


class WorkerProcess:
    """The supervisor of a worker, which ends as the worker ended."""

    def __init__(self, places: int) -> None:
        """Start it, with room for so many cases at once, or raise a ConfigError."""
        with ExitStack() as theirs, ExitStack() as ours:
            try:
                self.ends, given = _channels(ours, theirs)
                self._in_flight = new_file(places)
                ours.callback(os.close, self._in_flight)
                self._supervisor = _spawn(*given, self._in_flight)
            except OSError as error:
                fix = "Use fewer --workers, or raise the limits of this system."
                raise ConfigError(f"a worker process could not be started: {error.strerror}.", fix=fix) from error
            ours.pop_all()

    @property
    def alive(self) -> bool:
        return self._supervisor.poll() is None

    def ask_to_end(self) -> None:
        """Have the supervisor end it and all that it started, now."""
        if self.alive:
            process_tree.ask(self._supervisor.pid)

    async def wait_for_end(self, limit: float) -> bool:
        """Whether it ends by itself within so many seconds."""
        until = perf_counter() + limit
        while self.alive:
            if perf_counter() > until:
                return False
            await asyncio.sleep(POLL)
        return True

    async def end(self, limit: float) -> None:
        """Make sure that it is gone: asked first, killed if that is not heard for so many seconds."""
        self.ask_to_end()
        if not await self.wait_for_end(limit):
            process_tree.end(self._supervisor, 0)

    def in_flight(self) -> set[int]:
        """The tokens of the cases that it was carrying out when it ended."""
        return tokens_in(self._in_flight)

    def forget(self) -> None:
        """Close what outlives it."""
        os.close(self._in_flight)

    @property
    def how_it_ended(self) -> str:
        code = self._supervisor.returncode
        if code >= 0:
            return f"exit code {code}"
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return f"{name}, perhaps out of memory" if -code == process_tree.KILL else name


def _channels(ours: ExitStack, theirs: ExitStack) -> tuple[OurEnds, tuple[int, int, int]]:
    """Both ends of each channel, closed with these stacks; theirs as printed, messages and words."""
    mine, messages = socket.socketpair()
    theirs.callback(messages.close)
    ours.callback(mine.close)
    receiver, words = _pipe(ours, theirs)
    output, printed = _pipe(ours, theirs)
    return OurEnds(mine, receiver, output), (printed, messages.fileno(), words)


def _pipe(ours: ExitStack, theirs: ExitStack) -> tuple[int, int]:
    """A pipe from the worker to us."""
    read, write = os.pipe()
    ours.callback(os.close, read)
    theirs.callback(os.close, write)
    return read, write


def _spawn(printed: int, *inherited: int) -> subprocess.Popen[bytes]:
    """A process in a session of its own, so that Ctrl-C reaches the runner alone."""
    # Without the current directory in front of sys.path, where a user's types.py would stand for Python's own.
    arguments = map(str, (os.getpid(), *inherited))
    command = [sys.executable, "-P", "-m", "carob.engine.processes.inside.supervisor", *arguments]
    return process_tree.start(command, stdin=subprocess.DEVNULL, stdout=printed, stderr=printed, pass_fds=inherited)


TAIL = 4096
LAST_WORDS = 0.2
"""Seconds for what a process that has ended said before."""


class Garbled(NamedTuple):
    """Something that came over the channel and is not a message."""

    why: str


ReceivedMessage = Ready | Refused | Started | Finished | Returned | Garbled


class Channel:
    """Hands each message to `on_message`, calls `closed` as soon as one of its two ends is; `is_over` when both are."""

    def __init__(self, on_message: Callable[[ReceivedMessage], None], closed: Callable[[], None]) -> None:
        self._on_message = on_message
        self._closed = closed
        self._open_ends = 0
        self._messages: Frames | None = None
        self._pipes: list[asyncio.BaseTransport] = []
        self._tail = _Tail()

    async def open(self, ends: OurEnds) -> None:
        self._open_ends = 2
        loop = asyncio.get_running_loop()
        _, self._messages = await loop.create_connection(self._frames, sock=ends.messages)
        await self._listen(ends.words, self._frames())
        await self._listen(ends.printed, self._tail)

    def send(self, payload: bytes) -> None:
        assert self._messages is not None
        self._messages.send(payload)

    def hang_up(self) -> None:
        """Say no more: a worker that hears this ends by itself."""
        if self._messages is not None:
            self._messages.close()

    async def wait_until_over(self) -> None:
        """Hear what the process said last; what it started may keep its end open, and is not waited for."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS):
                while not self.is_over:
                    await asyncio.sleep(0.001)

    def close(self) -> None:
        """Hear no more."""
        for pipe in self._pipes:
            pipe.close()

    @property
    def is_over(self) -> bool:
        """Whether all was heard that there is to hear."""
        return self._open_ends == 0

    @property
    def printed(self) -> str:
        return self._tail.text

    def _frames(self) -> Frames:
        return Frames(self._on_received, self._on_lost)

    async def _listen(self, fd: int, protocol: asyncio.Protocol) -> None:
        pipe, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(fd, "rb", 0))
        self._pipes.append(pipe)

    def _on_received(self, payload: bytes) -> None:
        try:
            message = for_runner(payload)
        except msgspec.DecodeError as error:
            self._on_message(Garbled(str(error)))
        else:
            self._on_message(message)

    def _on_lost(self) -> None:
        self._open_ends -= 1
        self._closed()


class _Tail(asyncio.Protocol):
    """Keeps the end of what a worker prints, however much that is."""

    def __init__(self) -> None:
        self._kept: deque[bytes] = deque(maxlen=8)

    def data_received(self, data: bytes) -> None:
        self._kept.append(data[-TAIL:])

    @property
    def text(self) -> str:
        return b"".join(self._kept)[-TAIL:].decode(errors="replace")
