"""A thread that sees when a case holds the event loop: the guilty one is named, and the others are not blamed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from time import perf_counter

from karat.engine.processes.bench import STALLED, Bench, Running
from karat.engine.processes.messages import Finished

PERIOD = 0.05
LATE = 0.5
"""Seconds beyond its time after which a case that holds the event loop is ended, and the whole process with it."""
SURE = 0.25
"""Seconds for which the same case must have been seen to hold the loop."""


class Watchdog(threading.Thread):
    """Looks at the event loop from beside it. It cannot look while C code keeps Python's lock: the runner can."""

    def __init__(self, loop: asyncio.AbstractEventLoop, bench: Bench, die: Callable[[Finished], None]) -> None:
        super().__init__(name="karat-watchdog", daemon=True)
        self._loop = loop
        self._bench = bench
        self._die = die
        self._stopped = threading.Event()

    def stop(self) -> None:
        self._stopped.set()

    def run(self) -> None:
        holder: Running | None = None
        since = perf_counter()
        while not self._stopped.wait(PERIOD):
            task = asyncio.current_task(self._loop)
            running = None if task is None else self._bench.running.get(task)
            now = perf_counter()
            unseen, self._bench.looked_at = now - self._bench.looked_at, now
            if running is not holder:
                holder, since = running, now
            if unseen > STALLED:
                self._bench.held += unseen  # somebody kept Python's lock, and nobody saw who
            elif running is not None:
                self._bench.held += unseen
                running.held += unseen
            if running is not None and self._is_stuck(running, now, now - since):
                done = self._bench.overrun(running, " and did not let go of the event loop")
                self._die(Finished(running.work.token, done, last=True))
            self._look_for_the_deaf(now)

    def _is_stuck(self, running: Running, now: float, held: float) -> bool:
        """Whether a case that has held the loop for so long is late, and by its own fault."""
        own_fault = held > self._bench.settings.case_timeout or not self._bench.held_up(running)
        return held > SURE and self._late_by(running, now) > LATE and own_fault

    def _look_for_the_deaf(self, now: float) -> None:
        """Give up cases that do not heed their cancellation, once the event loop has been alive to let them."""
        for running in list(self._bench.running.values()):
            if self._late_by(running, now) > 0 and not running.suspected:
                running.suspected = True
                patience = self._bench.settings.grace - LATE
                self._loop.call_soon_threadsafe(self._loop.call_later, patience, self._bench.give_up, running)

    def _late_by(self, running: Running, now: float) -> float:
        return now - running.begun - self._bench.settings.case_timeout
