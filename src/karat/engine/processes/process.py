"""The process of a worker: started with its channels, and ended with all that it started."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from time import perf_counter
from typing import NamedTuple

from karat import process_tree
from karat.engine.processes import in_flight
from karat.errors import ConfigError

POLL = 0.01


class OurEnds(NamedTuple):
    """What a worker is heard by: messages both ways, its last words, and what it prints."""

    messages: socket.socket
    words: int
    printed: int


class WorkerProcess:
    """The keeper of a worker, which ends as the worker ended."""

    def __init__(self, places: int) -> None:
        """Start it, with room for so many cases at once, or raise a ConfigError."""
        with ExitStack() as theirs, ExitStack() as ours:
            try:
                self.ends, given = _channels(ours, theirs)
                self._in_flight = in_flight.new_file(places)
                ours.callback(os.close, self._in_flight)
                self._keeper = _spawned(*given, self._in_flight)
            except OSError as error:
                fix = "Use fewer --workers, or raise the limits of this system."
                raise ConfigError(f"a worker process could not be started: {error.strerror}.", fix=fix) from error
            ours.pop_all()

    @property
    def alive(self) -> bool:
        return self._keeper.poll() is None

    def ask_to_end(self) -> None:
        """Have the keeper end it and all that it started, now."""
        if self.alive:
            process_tree.ask(self._keeper.pid)

    async def ended(self, limit: float) -> bool:
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
        if not await self.ended(limit):
            process_tree.end(self._keeper, 0)

    def in_flight(self) -> set[int]:
        """The tokens of the cases that it was carrying out when it ended."""
        return in_flight.tokens_in(self._in_flight)

    def forget(self) -> None:
        """Close what outlives it."""
        os.close(self._in_flight)

    @property
    def how_it_ended(self) -> str:
        code = self._keeper.returncode
        if code >= 0:
            return f"exit code {code}"
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return f"{name}, perhaps for want of memory" if -code == signal.SIGKILL else name


def _channels(ours: ExitStack, theirs: ExitStack) -> tuple[OurEnds, tuple[int, int, int]]:
    """Both ends of each channel, closed with these stacks; theirs as printed, messages and words."""
    mine, messages = socket.socketpair()
    theirs.callback(messages.close)
    ours.callback(mine.close)
    heard, words = _pipe(ours, theirs)
    output, printed = _pipe(ours, theirs)
    return OurEnds(mine, heard, output), (printed, messages.fileno(), words)


def _pipe(ours: ExitStack, theirs: ExitStack) -> tuple[int, int]:
    """A pipe from the worker to us."""
    read, write = os.pipe()
    ours.callback(os.close, read)
    theirs.callback(os.close, write)
    return read, write


def _spawned(printed: int, *given: int) -> subprocess.Popen[bytes]:
    """A process in a session of its own, so that Ctrl-C reaches the runner alone."""
    # Without the current directory in front of sys.path, where a user's types.py would stand for Python's own.
    command = [sys.executable, "-P", "-m", "karat.engine.processes.inside.keeper", *map(str, (os.getpid(), *given))]
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=printed,
        stderr=printed,
        pass_fds=given,
        start_new_session=True,
    )
