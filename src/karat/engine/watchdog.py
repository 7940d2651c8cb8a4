"""A thread that sees when a case holds the event loop: the guilty one is named, and the others are not blamed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from time import perf_counter

from karat.engine.bench import Bench, Running
from karat.engine.messages import Finished

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
        since = last = perf_counter()
        while not self._stopped.wait(PERIOD):
            task = asyncio.current_task(self._loop)
            running = None if task is None else self._bench.running.get(task)
            now = perf_counter()
            if running is not holder:
                holder, since = running, now
            if running is not None:
                running.held += now - last
                self._bench.held += now - last
                if now - since > SURE and self._late_by(running, now) > LATE:
                    done = self._bench.overrun(running, " and did not let go of the event loop")
                    self._die(Finished(running.work.token, done, last=True))
            last = now
            self._look_for_the_deaf(now)

    def _look_for_the_deaf(self, now: float) -> None:
        """Give up cases that do not heed their cancellation, once the event loop has been alive to let them."""
        for running in list(self._bench.running.values()):
            if self._late_by(running, now) > 0 and not running.suspected:
                running.suspected = True
                patience = self._bench.settings.grace - LATE
                self._loop.call_soon_threadsafe(self._loop.call_later, patience, self._bench.give_up, running)

    def _late_by(self, running: Running, now: float) -> float:
        return now - running.begun - self._bench.settings.case_timeout
