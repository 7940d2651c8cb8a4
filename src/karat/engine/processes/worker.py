"""One worker as the runner sees it: a process, the channel to it, and the cases that it has in hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from karat.engine.job import Job
from karat.engine.processes.channel import Channel, Garbled, Heard
from karat.engine.processes.in_hand import Blame, InHand
from karat.engine.processes.messages import Assignment, Finished, Refused, Returned, Start, encode, refused_as
from karat.engine.processes.process import WorkerProcess
from karat.engine.work import TIMEOUT, Done
from karat.errors import ConfigError
from karat.model.suite import Case
from karat.model.trace import TraceError

START_LIMIT = 120.0
END_LIMIT = 2.0
"""Seconds for an idle worker to end by itself."""


class CaseEnded(NamedTuple):
    """A worker carried out a case; `untidy` if it could not tear it down."""

    job: Job
    done: Done
    untidy: bool


class CaseReturned(NamedTuple):
    """A worker gives a case back; to be run `alone` if others may have made it late."""

    job: Job
    alone: bool


class WorkerLost(NamedTuple):
    """A worker is gone, with what it had in hand."""

    blame: Blame
    error: TraceError


WorkerEvent = CaseEnded | CaseReturned | WorkerLost


class Worker:
    """Is given cases, and tells what becomes of each and of itself. Once `retired`, it takes no more of them."""

    def __init__(self, start: Start, ahead: int, tell: Callable[[Worker, WorkerEvent], None]) -> None:
        self.retired = False
        self.closing = False
        self._start = start
        self._tell = tell
        self._in_hand = InHand(start.concurrency, ahead)
        self._channel = Channel(self._heard, self._closed)
        self._process: WorkerProcess | None = None
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._heard_at = 0.0
        self._cause: tuple[str, str] | None = None
        self._reaping: asyncio.Task[None] | None = None

    @property
    def in_hand(self) -> int:
        return len(self._in_hand)

    @property
    def room(self) -> int:
        """How many more cases it can be given."""
        return 0 if self.retired else self._in_hand.room

    async def open(self) -> None:
        """Start the process and open the target in it."""
        self._process = WorkerProcess(self._start.concurrency)
        await self._channel.open(self._process.ends)
        try:
            self._channel.send(encode(self._start))
        except UnicodeEncodeError as error:
            fix = "Rename it, or use --workers 0."
            raise ConfigError(f"a path cannot be told to a worker: {error.object!r} is not UTF-8.", fix=fix) from error
        try:
            async with asyncio.timeout(START_LIMIT):
                await self._ready
        except TimeoutError:
            raise ConfigError(f"the target did not open within {START_LIMIT:g} s.") from None

    def give(self, job: Job, untidy: tuple[Case, ...] = ()) -> None:
        """Have one case carried out, and others torn down before it."""
        if not self._in_hand:
            self._heard_at = asyncio.get_running_loop().time()
        token = self._in_hand.add(job)
        self._channel.send(encode(Assignment(token, job.item, job.attempt, untidy)))

    def watch(self, now: float) -> None:
        """Kill a worker that had cases in hand and gave no sign of life for longer than any one of them may take."""
        settings = self._start.settings
        if self._in_hand and now - self._heard_at > settings.case_timeout + settings.grace:
            why = f"the case took longer than {settings.case_timeout:g} s and its process did not answer"
            self.kill(TIMEOUT, why)
            if self._process is not None and not self._process.alive:
                self._reap_soon()  # something that it started keeps its channel open

    def kill(self, kind: str, why: str) -> None:
        """End the process and all that it started, now."""
        self._cause = self._cause or (kind, why)
        self.retired = True
        if self._process is not None:
            self._process.ask_to_end()

    async def close(self, limit: float = END_LIMIT) -> None:
        """Let the process end by itself, and make sure that it does. What it has in hand is given up."""
        self.retired = self.closing = True
        self._channel.hang_up()
        if self._process is not None and not await self._process.ended(limit):
            self._cause = self._cause or ("agent", "the worker did not end")
            await self._process.end(limit)
        if self._reaping is not None:
            await self._reaping
        self._channel.close()
        if self._process is not None:
            self._process.forget()
            self._process = None
        self._in_hand.give_up()

    def _heard(self, message: Heard) -> None:
        if isinstance(message, Garbled):
            self.kill("harness", f"the worker sent what cannot be read: {message.why}")
            return
        self._heard_at = asyncio.get_running_loop().time()
        if isinstance(message, Finished):
            self._finished(message)
        elif isinstance(message, Returned):
            self.retired = True
            if (job := self._in_hand.returned(message.token)) is not None:
                self._tell(self, CaseReturned(job, message.alone))
        elif not self._ready.done():
            if isinstance(message, Refused):
                self._ready.set_exception(refused_as(message))
            else:
                self._ready.set_result(None)

    def _finished(self, message: Finished) -> None:
        job = self._in_hand.finished(message)
        if message.done.error == TIMEOUT or message.last:
            self.retired = True
        if job is not None:
            self._tell(self, CaseEnded(job, message.done, untidy=message.last or message.deaf))
        if not self.retired:
            self._in_hand.begin_next()

    def _closed(self) -> None:
        self.retired = True
        if self._channel.is_over:
            self._reap_soon()

    def _reap_soon(self) -> None:
        if self._reaping is None and not self.closing:
            self._reaping = asyncio.get_running_loop().create_task(self._reap())

    async def _reap(self) -> None:
        """Find out how the process ended, and whose fault that is."""
        assert self._process is not None
        ended = await self._process.ended(END_LIMIT * 2)
        how = self._process.how_it_ended if ended else "it closed its channel"
        kind, why = self._cause or ("agent", f"the agent's process ended: {how}")
        printed = self._channel.printed
        if not self._ready.done():
            self._ready.set_exception(ConfigError(f"the target did not open: {why}.", fix=printed.strip()[-400:]))
        blame = self._in_hand.lost(self._process.in_flight() if ended else set())
        self._tell(self, WorkerLost(blame, TraceError(kind, why, printed)))
