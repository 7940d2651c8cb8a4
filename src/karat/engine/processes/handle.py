"""One worker process as the runner sees it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from time import perf_counter
from typing import Protocol

import msgspec

from karat.engine.plan import Item
from karat.engine.processes.board import new_board, tokens_on
from karat.engine.processes.frames import Frames
from karat.engine.processes.messages import Finished, Refused, Returned, Start, Work, encode, for_runner, refused_as
from karat.engine.work import TIMEOUT, Done
from karat.errors import ConfigError
from karat.model.suite import Case
from karat.model.trace import TraceError

START_LIMIT = 120.0
END_LIMIT = 2.0
"""Seconds for an idle worker to end by itself."""
TAIL = 4096
POLL = 0.01
AHEAD_MS = 40.0
"""Work for this long is sent ahead: waiting for the answer to each quick case would cost more than the case."""


class Job:
    """One case that somebody waits for."""

    __slots__ = ("attempt", "begun", "begun_at", "future", "item", "losses")

    def __init__(self, item: Item, attempt: int, begun: Callable[[Item], None], future: asyncio.Future[Done]) -> None:
        self.item = item
        self.attempt = attempt
        self.begun = begun
        self.begun_at = perf_counter()
        self.future = future
        self.losses = 0

    def begin(self) -> None:
        self.begun_at = perf_counter()
        self.begun(self.item)

    def finish(self, done: Done) -> None:
        if not self.future.done():
            self.future.set_result(done)

    def fail(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class Loss:
    """What a worker had in hand when it was lost, and why it was: which cases may be to blame, and which are not.

    `untidy`: those that were being carried out, to blame or not.
    """

    __slots__ = ("error", "innocent", "suspects", "untidy")

    def __init__(self, suspects: list[Job], innocent: list[Job], untidy: list[Job], error: TraceError) -> None:
        self.suspects = suspects
        self.innocent = innocent
        self.untidy = untidy
        self.error = error


class Owner(Protocol):
    """Who hears what becomes of the cases that a worker was given, and of the worker."""

    def finished(self, handle: Handle, job: Job, done: Done, *, untidy: bool) -> None: ...

    def returned(self, handle: Handle, job: Job, *, alone: bool) -> None: ...

    def lost(self, handle: Handle, loss: Loss) -> None: ...


class Handle:
    """Sends cases to a worker process and hears of them. `owner` is told what becomes of each and of the process."""

    def __init__(self, start: Start, ahead: int, owner: Owner) -> None:
        self.retired = False
        self.closing = False
        self._start = start
        self._ahead = ahead
        self._owner = owner
        self._jobs: dict[int, Job] = {}
        self._unbegun: deque[Job] = deque()
        self._begun = 0
        self._tokens = 0
        self._pace: float | None = None
        self._progress = 0.0
        self._cause: tuple[str, str] | None = None
        self._cleared = False
        self._printed: deque[bytes] = deque(maxlen=8)
        self._process: subprocess.Popen[bytes] | None = None
        self._board: int | None = None
        self._frames: Frames | None = None
        self._ready: asyncio.Future[None] | None = None
        self._pipes: list[asyncio.BaseTransport] = []
        self._open_ends = 0
        self._reaping: asyncio.Task[None] | None = None

    @property
    def in_hand(self) -> int:
        return len(self._jobs)

    @property
    def room(self) -> int:
        """How many more cases it can be given: as many as it carries out at once, and some ahead while it is quick."""
        if self.retired:
            return 0
        most = 0 if self._pace is None else min(self._ahead, int(AHEAD_MS / self._pace))
        return self._start.concurrency + most - len(self._jobs)

    async def open(self) -> None:
        """Start the process and open the target in it."""
        loop = asyncio.get_running_loop()
        self._ready = loop.create_future()
        await self._connect(loop)
        assert self._frames is not None
        try:
            self._frames.send(encode(self._start))
        except UnicodeEncodeError as error:
            fix = "Rename it, or use --workers 0."
            raise ConfigError(f"a path cannot be told to a worker: {error.object!r} is not UTF-8.", fix=fix) from error
        try:
            async with asyncio.timeout(START_LIMIT):
                await self._ready
        except TimeoutError:
            raise ConfigError(f"the target did not open within {START_LIMIT:g} s.") from None

    async def _connect(self, loop: asyncio.AbstractEventLoop) -> None:
        with ExitStack() as theirs, ExitStack() as ours:
            try:
                mine, channel = socket.socketpair()
                theirs.callback(channel.close)
                ours.callback(mine.close)
                heard, words = _pipe(ours, theirs)
                output, printed = _pipe(ours, theirs)
                board = new_board(self._start.concurrency)
                ours.callback(os.close, board)
                self._process = _spawned(printed, channel.fileno(), words, board)
                self._board = board
            except OSError as error:
                fix = "Use fewer --workers, or raise the limits of this system."
                raise ConfigError(f"a worker process could not be started: {error.strerror}.", fix=fix) from error
            ours.pop_all()
        self._open_ends = 2
        _, self._frames = await loop.create_connection(lambda: Frames(self._received, self._lost), sock=mine)
        await self._listen(heard, Frames(self._received, self._lost))
        await self._listen(output, _Tail(self._printed))

    async def _listen(self, fd: int, protocol: asyncio.Protocol) -> None:
        pipe, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(fd, "rb", 0))
        self._pipes.append(pipe)

    def give(self, job: Job, untidy: tuple[Case, ...] = ()) -> None:
        """Have one case carried out, and others torn down before it."""
        assert self._frames is not None
        if not self._jobs:
            self._progress = asyncio.get_running_loop().time()
        self._tokens += 1
        self._unbegun.append(job)
        self._jobs[self._tokens] = job
        self._begin_next()
        self._frames.send(encode(Work(self._tokens, job.item, job.attempt, untidy)))

    def watch(self, now: float) -> None:
        """Kill a worker that had cases in hand and gave no sign of life for longer than any one of them may take."""
        settings = self._start.settings
        if self._jobs and now - self._progress > settings.case_timeout + settings.grace:
            why = f"the case took longer than {settings.case_timeout:g} s and its process did not answer"
            self.kill(TIMEOUT, why)
            if self._process is not None and self._process.poll() is not None:
                self._over()  # something that it started keeps its channel open

    def kill(self, kind: str, why: str) -> None:
        """End the process and all that it started, now."""
        self._cause = self._cause or (kind, why)
        self.retired = True
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    async def close(self, limit: float = END_LIMIT) -> None:
        """Let the process end by itself, and make sure that it does. What it has in hand is given up."""
        self.retired = self.closing = True
        if self._frames is not None:
            self._frames.close()
        if self._process is not None and not await self._ended(limit):
            self.kill("agent", "the worker did not end")
            if not await self._ended(limit):
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        if self._reaping is not None:
            await self._reaping
        for pipe in self._pipes:
            pipe.close()
        if self._board is not None:
            os.close(self._board)
            self._board = None
        self._jobs.clear()

    async def _ended(self, limit: float) -> bool:
        assert self._process is not None
        until = perf_counter() + limit
        while self._process.poll() is None:
            if perf_counter() > until:
                return False
            await asyncio.sleep(POLL)
        return True

    def _received(self, payload: bytes) -> None:
        try:
            message = for_runner(payload)
        except msgspec.DecodeError as error:
            self.kill("harness", f"the worker sent what cannot be read: {error}")
            return
        self._progress = asyncio.get_running_loop().time()
        if isinstance(message, Finished):
            self._finished(message)
        elif isinstance(message, Returned):
            self.retired = True
            if (job := self._jobs.pop(message.token, None)) is not None:
                self._owner.returned(self, job, alone=message.alone)
        elif self._ready is not None and not self._ready.done():
            if isinstance(message, Refused):
                self._ready.set_exception(refused_as(message))
            else:
                self._ready.set_result(None)

    def _finished(self, message: Finished) -> None:
        done = message.done
        took = max(done.duration_ms, 0.1)
        self._pace = took if self._pace is None else self._pace + (took - self._pace) * 0.2
        self._cleared = self._cleared or message.last
        if done.error == TIMEOUT or message.last:
            self.retired = True
        if (job := self._jobs.pop(message.token, None)) is not None:
            self._begun -= 1
            self._owner.finished(self, job, done, untidy=message.last or message.deaf)
        self._begin_next()

    def _begin_next(self) -> None:
        """The worker begins cases in their order, as many at once as it may.

        Each is told of after the end of the one before it, of which those who wait hear in the event loop's next turn.
        """
        while self._unbegun and self._begun < self._start.concurrency and not self.retired:
            self._begun += 1
            asyncio.get_running_loop().call_soon(self._unbegun.popleft().begin)

    def _lost(self) -> None:
        """Its channel is closed, or its pipe for last words; when both are, all was heard that there is to hear."""
        self.retired = True
        self._open_ends -= 1
        if self._open_ends == 0:
            self._over()

    def _over(self) -> None:
        if self._reaping is None and not self.closing:
            self._reaping = asyncio.get_running_loop().create_task(self._reap())

    async def _reap(self) -> None:
        assert self._process is not None
        assert self._ready is not None
        ended = await self._ended(END_LIMIT * 2)
        how = _how_it_ended(self._process.returncode) if ended else "it closed its channel"
        kind, why = self._cause or ("agent", f"the agent's process ended: {how}")
        printed = b"".join(self._printed)[-TAIL:].decode(errors="replace")
        if not self._ready.done():
            self._ready.set_exception(ConfigError(f"the target did not open: {why}.", fix=printed.strip()[-400:]))
        carried_out = tokens_on(self._board) if ended and self._board is not None else set()
        suspects, innocent = self._told_apart(carried_out)
        untidy = [job for token, job in self._jobs.items() if token in carried_out or job in suspects]
        for job in suspects:
            if job in self._unbegun:
                job.begin()
        self._jobs.clear()
        self._owner.lost(self, Loss(suspects, innocent, untidy, TraceError(kind, why, printed)))

    def _told_apart(self, carried_out: set[int]) -> tuple[list[Job], list[Job]]:
        """Which cases may be to blame: what was being carried out, unless the guilty one is already known."""
        if self._cleared:
            return [], list(self._jobs.values())
        suspects = carried_out & self._jobs.keys() or self._jobs.keys()
        innocent = [job for token, job in self._jobs.items() if token not in suspects]
        return [job for token, job in self._jobs.items() if token in suspects], innocent


class _Tail(asyncio.Protocol):
    """Keeps the end of what a worker prints, however much that is."""

    def __init__(self, kept: deque[bytes]) -> None:
        self._kept = kept

    def data_received(self, data: bytes) -> None:
        self._kept.append(data[-TAIL:])


def _pipe(ours: ExitStack, theirs: ExitStack) -> tuple[int, int]:
    """A pipe from the worker to us, its ends closed with these stacks."""
    read, write = os.pipe()
    ours.callback(os.close, read)
    theirs.callback(os.close, write)
    return read, write


def _spawned(printed: int, *given: int) -> subprocess.Popen[bytes]:
    """A process in a session of its own, so that Ctrl-C reaches the runner alone."""
    # Without the current directory in front of sys.path, where a user's types.py would stand for Python's own.
    command = [sys.executable, "-P", "-m", "karat.engine.processes.keeper", *map(str, (os.getpid(), *given))]
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=printed,
        stderr=printed,
        pass_fds=given,
        start_new_session=True,
    )


def _how_it_ended(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    return f"{name}, perhaps for want of memory" if -code == signal.SIGKILL else name
