"""The cases that a worker has: some are being carried out, each in a lane, the others wait their turn."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter, process_time

from karat.checks.catalog import CheckCatalog
from karat.engine.processes.in_flight import InFlight
from karat.engine.processes.inside.loop_times import LoopTimes, Running
from karat.engine.processes.messages import Assignment, Finished, Returned, Start
from karat.engine.work import TIMEOUT, Done, carry_out, concluded, overran
from karat.targets.base import Target
from karat.traces.redact import Redactor

Send = Callable[[Finished | Returned], None]

BUSY = 0.5
"""A time-out is not believed if the process was computing for this share of it: in Python, only one at a time can."""


class Lanes:
    """Carries out cases in the order in which they came, `concurrency` at once.

    After a case that overran, no further one is begun here: what overran may still be going on in some thread. Cases
    that wait are given back, and the runner replaces this process when those that were begun have ended.
    """

    def __init__(
        self,
        start: Start,
        target: Target,
        redactor: Redactor,
        catalog: CheckCatalog,
        send: Send,
        in_flight: InFlight,
        times: LoopTimes,
    ) -> None:
        self.running: dict[asyncio.Task[None], Running] = {}
        self._settings = start.settings
        self._concurrency = start.concurrency
        self._target = target
        self._redactor = redactor
        self._catalog = catalog
        self._send = send
        self._in_flight = in_flight
        self._times = times
        self._waiting: deque[Assignment] = deque()
        self._idle: deque[asyncio.Future[None]] = deque()
        self._tasks: list[asyncio.Task[None]] = []
        self._last_end = 0.0
        self._ending = False
        self._closing = False

    def open(self) -> None:
        self._tasks = [asyncio.create_task(self._lane(place)) for place in range(self._concurrency)]
        for task in self._tasks:
            task.add_done_callback(self._lane_ended)

    def take(self, assignment: Assignment) -> None:
        if self._ending:
            self._send(Returned(assignment.token))
            return
        self._waiting.append(assignment)
        if self._idle:
            self._idle.popleft().set_result(None)

    async def close(self) -> None:
        """Give up what is being carried out."""
        self._closing = True
        self._in_flight.clear()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def overrun(self, running: Running, how: str) -> Done:
        """The record of a case that does not come back."""
        item, timeout = running.assignment.item, self._settings.case_timeout
        took = round((perf_counter() - running.begun) * 1000, 3)
        trace = overran(item.case, timeout, running.context, how)
        return concluded(item, trace, took, self._redactor, catalog=self._catalog)

    def give_up(self, running: Running) -> None:
        """Stop waiting for a case that ignores its cancellation: its lane is lost, and in the end this process."""
        if running in self.running.values() and not running.given_up:
            running.given_up = True
            self._end()
            done = self.overrun(running, " and ignored its cancellation")
            self._send(Finished(running.assignment.token, done, deaf=True))

    async def _lane(self, place: int) -> None:
        me = asyncio.current_task()
        assert me is not None
        loop = asyncio.get_running_loop()
        while True:
            while not self._waiting:
                idle = loop.create_future()
                self._idle.append(idle)
                await idle
            assignment = self._waiting.popleft()
            self._in_flight.set(place, assignment.token)
            # Who runs alone is compared with nobody, and asking the system costs as much as a check.
            cpu = process_time() if self._concurrency > 1 else 0.0
            running = self.running[me] = Running(assignment, self._times.held, cpu)
            done = await carry_out(
                assignment.item, self._target, self._settings, self._redactor, running.context, self._catalog
            )
            del self.running[me]
            if not running.given_up:
                self._conclude(running, done)
            self._in_flight.set(place, 0)
            self._last_end = perf_counter()

    def _lane_ended(self, lane: asyncio.Task[None]) -> None:
        """A lane that ends by itself would leave its case without an end: the process is ended at once."""
        if not self._closing:
            raise SystemExit(1) from (None if lane.cancelled() else lane.exception())

    def _conclude(self, running: Running, done: Done) -> None:
        token = running.assignment.token
        if done.error == TIMEOUT:
            self._end()
            if self._concurrency > 1 and self._others_may_be_to_blame(running):
                self._send(Returned(token, alone=True))
                return
        self._send(Finished(token, done))

    def _others_may_be_to_blame(self, running: Running) -> bool:
        if not self.running and self._last_end < running.begun:
            return False
        busy = process_time() - running.cpu > BUSY * (perf_counter() - running.begun)
        return busy or self._times.held_up(running)

    def _end(self) -> None:
        self._ending = True
        while self._waiting:
            self._send(Returned(self._waiting.popleft().token))
