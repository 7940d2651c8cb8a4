"""The cases that a worker has at hand: some are being carried out, the others wait their turn."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter, process_time

from karat.engine.processes.board import wipe
from karat.engine.processes.messages import Finished, Returned, Start, Work
from karat.engine.work import TIMEOUT, Done, carry_out, concluded, overran
from karat.targets.base import RunContext, Target
from karat.traces.redact import Redactor

Send = Callable[[Finished | Returned], None]

HELD = 0.1
"""A time-out is not believed if other cases held the event loop, or all of Python, for this share of it,"""
BUSY = 0.5
"""or if the process was computing for this share of it: in Python, only one at a time can."""
STALLED = 0.15
"""Seconds after which a watchdog that did not look was kept from it."""


class Running:
    """One case that is being carried out."""

    __slots__ = ("begun", "context", "cpu", "given_up", "held", "held_before", "suspected", "work")

    def __init__(self, work: Work, held_before: float, cpu: float) -> None:
        self.work = work
        self.context = RunContext(repeat=work.item.repeat, attempt=work.attempt, untidy=work.untidy)
        self.begun = perf_counter()
        self.cpu = cpu
        self.held = 0.0
        self.held_before = held_before
        self.suspected = False
        self.given_up = False


class Bench:
    """Carries out cases in the order in which they came, `concurrency` at once.

    After a case that overran, no further one is begun here: what overran may still be going on in some thread. Cases
    that wait are given back, and the runner replaces this process when those that were begun have ended.
    """

    def __init__(self, start: Start, target: Target, redactor: Redactor, send: Send, board: memoryview) -> None:
        self.settings = start.settings
        self.running: dict[asyncio.Task[None], Running] = {}
        self.held = 0.0
        """Seconds for which cases held the event loop or all of Python, as the watchdog saw it."""
        self.looked_at = perf_counter()
        self._target = target
        self._redactor = redactor
        self._send = send
        self._board = board
        self._concurrency = start.concurrency
        self._waiting: deque[Work] = deque()
        self._idle: deque[asyncio.Future[None]] = deque()
        self._lanes: list[asyncio.Task[None]] = []
        self._last_end = 0.0
        self._ending = False
        self._closing = False

    def open(self) -> None:
        self._lanes = [asyncio.create_task(self._lane(place)) for place in range(self._concurrency)]
        for lane in self._lanes:
            lane.add_done_callback(self._lane_ended)

    def take(self, work: Work) -> None:
        if self._ending:
            self._send(Returned(work.token))
            return
        self._waiting.append(work)
        if self._idle:
            self._idle.popleft().set_result(None)

    async def close(self) -> None:
        """Give up what is being carried out."""
        self._closing = True
        wipe(self._board)
        for lane in self._lanes:
            lane.cancel()
        await asyncio.gather(*self._lanes, return_exceptions=True)

    def overrun(self, running: Running, how: str) -> Done:
        """The record of a case that does not come back."""
        item, timeout = running.work.item, self.settings.case_timeout
        took = round((perf_counter() - running.begun) * 1000, 3)
        return concluded(item, overran(item.case, timeout, running.context, how), took, self._redactor)

    def give_up(self, running: Running) -> None:
        """Stop waiting for a case that ignores its cancellation: its lane is lost, and in the end this process."""
        if running in self.running.values() and not running.given_up:
            running.given_up = True
            self._end()
            done = self.overrun(running, " and ignored its cancellation")
            self._send(Finished(running.work.token, done, deaf=True))

    async def _lane(self, place: int) -> None:
        me = asyncio.current_task()
        assert me is not None
        loop = asyncio.get_running_loop()
        while True:
            while not self._waiting:
                idle = loop.create_future()
                self._idle.append(idle)
                await idle
            work = self._waiting.popleft()
            self._board[place] = work.token
            # Who runs alone is compared with nobody, and asking the system costs as much as a check.
            running = self.running[me] = Running(work, self.held, process_time() if self._concurrency > 1 else 0.0)
            done = await carry_out(work.item, self._target, self.settings, self._redactor, running.context)
            del self.running[me]
            if not running.given_up:
                self._conclude(running, done)
            self._board[place] = 0
            self._last_end = perf_counter()

    def _lane_ended(self, lane: asyncio.Task[None]) -> None:
        """A lane that ends by itself would leave its case without an end: the process is ended at once."""
        if not self._closing:
            raise SystemExit(1) from (None if lane.cancelled() else lane.exception())

    def _conclude(self, running: Running, done: Done) -> None:
        if done.error == TIMEOUT:
            self._end()
            if self._concurrency > 1 and self._others_may_be_to_blame(running):
                self._send(Returned(running.work.token, alone=True))
                return
        self._send(Finished(running.work.token, done))

    def held_up(self, running: Running) -> bool:
        """Whether others kept a case from getting on."""
        now = perf_counter()
        held_by_others = self.held - running.held_before - running.held
        if now - self.looked_at > STALLED:
            held_by_others += now - self.looked_at
        return held_by_others > HELD * (now - running.begun)

    def _others_may_be_to_blame(self, running: Running) -> bool:
        if not self.running and self._last_end < running.begun:
            return False
        busy = process_time() - running.cpu > BUSY * (perf_counter() - running.begun)
        return busy or self.held_up(running)

    def _end(self) -> None:
        self._ending = True
        while self._waiting:
            self._send(Returned(self._waiting.popleft().token))
