"""A thread that sees when a case holds the event loop: the guilty one is named, and the others are not blamed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from time import perf_counter
from weakref import WeakKeyDictionary, WeakSet

from karat.engine.processes.messages import Assignment
from karat.engine.work import Settings
from karat.targets.base import RunContext

HELD = 0.1
"""A time-out is not believed if other cases held the event loop, or all of Python, for this share of it."""
STALLED = 0.15
"""Seconds after which a watchdog that did not look was kept from it."""


class Running:
    """One case that is being carried out. `held_before`: how long the event loop had been held when it was begun."""

    __slots__ = ("__weakref__", "assignment", "begun", "context", "cpu", "given_up", "held_before")

    def __init__(self, assignment: Assignment, held_before: float, cpu: float) -> None:
        item = assignment.item
        self.assignment = assignment
        self.context = RunContext(
            repeat=item.repeat, attempt=assignment.attempt, needs_teardown=assignment.needs_teardown
        )
        self.begun = perf_counter()
        self.cpu = cpu
        self.held_before = held_before
        self.given_up = False


class LoopTimes:
    """Kept by the watchdog's thread, which alone calls `note_holder`, and read by the event loop's."""

    def __init__(self) -> None:
        self.held = 0.0
        """Seconds for which cases held the event loop or all of Python."""
        self._by_case: WeakKeyDictionary[Running, float] = WeakKeyDictionary()
        self._looked_at = perf_counter()

    def note_holder(self, holder: Running | None, now: float) -> None:
        """The watchdog looked, and this case was on the event loop."""
        unseen, self._looked_at = now - self._looked_at, now
        if unseen > STALLED:
            self.held += unseen  # the GIL was held; the holder is unknown
        elif holder is not None:
            self.held += unseen
            self._by_case[holder] = self._by_case.get(holder, 0.0) + unseen

    def is_held_up(self, running: Running) -> bool:
        """Whether others kept a case from getting on."""
        now = perf_counter()
        held_by_others = self.held - running.held_before - self._by_case.get(running, 0.0)
        if now - self._looked_at > STALLED:
            held_by_others += now - self._looked_at
        return held_by_others > HELD * (now - running.begun)


PERIOD = 0.05
LATE = 0.5
"""Seconds beyond its time after which a case that holds the event loop is ended, and the whole process with it."""
SURE = 0.25
"""Seconds for which the same case must have been seen to hold the loop."""


class Watchdog(threading.Thread):
    """Looks at the event loop from another thread. It cannot look while C code keeps Python's lock: the runner can.

    `stuck` is called here, in this thread, with a case that does not let go of the loop; `deaf` is called in the loop
    with a case that had time to react to its cancellation and may not have done so.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        running: Mapping[asyncio.Task[None], Running],
        times: LoopTimes,
        settings: Settings,
        stuck: Callable[[Running], None],
        deaf: Callable[[Running], None],
    ) -> None:
        super().__init__(name="karat-watchdog", daemon=True)
        self._loop = loop
        self._running = running
        self._times = times
        self._settings = settings
        self._stuck = stuck
        self._deaf = deaf
        self._late: WeakSet[Running] = WeakSet()
        self._stopped = threading.Event()

    def stop(self) -> None:
        self._stopped.set()

    def run(self) -> None:
        holder: Running | None = None
        since = perf_counter()
        while not self._stopped.wait(PERIOD):
            task = asyncio.current_task(self._loop)
            running = None if task is None else self._running.get(task)
            now = perf_counter()
            if running is not holder:
                holder, since = running, now
            self._times.note_holder(running, now)
            if running is not None and self._is_stuck(running, now, now - since):
                self._stuck(running)
            self._look_for_the_deaf(now)

    def _is_stuck(self, running: Running, now: float, holder: float) -> bool:
        """Whether a case that has held the loop for so long is late, and by its own fault."""
        own_fault = holder > self._settings.case_timeout or not self._times.is_held_up(running)
        return holder > SURE and self._late_by(running, now) > LATE and own_fault

    def _look_for_the_deaf(self, now: float) -> None:
        """Have cases looked at that ignore their cancellation, once the event loop has been alive to let them stop."""
        for running in list(self._running.values()):
            if self._late_by(running, now) > 0 and running not in self._late:
                self._late.add(running)
                patience = self._settings.grace - LATE
                self._loop.call_soon_threadsafe(self._loop.call_later, patience, self._deaf, running)

    def _late_by(self, running: Running, now: float) -> float:
        return now - running.begun - self._settings.case_timeout
