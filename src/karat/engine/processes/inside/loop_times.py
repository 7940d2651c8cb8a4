"""Who held the event loop of a worker, and for how long, as its watchdog saw it."""

from __future__ import annotations

from time import perf_counter
from weakref import WeakKeyDictionary

from karat.engine.processes.messages import Assignment
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
        self.context = RunContext(repeat=item.repeat, attempt=assignment.attempt, untidy=assignment.untidy)
        self.begun = perf_counter()
        self.cpu = cpu
        self.held_before = held_before
        self.given_up = False


class LoopTimes:
    """Kept by the watchdog's thread, which alone calls `saw`, and read by the event loop's."""

    def __init__(self) -> None:
        self.held = 0.0
        """Seconds for which cases held the event loop or all of Python."""
        self._by_case: WeakKeyDictionary[Running, float] = WeakKeyDictionary()
        self._looked_at = perf_counter()

    def saw(self, holder: Running | None, now: float) -> None:
        """The watchdog looked, and this case was on the event loop."""
        unseen, self._looked_at = now - self._looked_at, now
        if unseen > STALLED:
            self.held += unseen  # somebody kept Python's lock, and nobody saw who
        elif holder is not None:
            self.held += unseen
            self._by_case[holder] = self._by_case.get(holder, 0.0) + unseen

    def held_up(self, running: Running) -> bool:
        """Whether others kept a case from getting on."""
        now = perf_counter()
        held_by_others = self.held - running.held_before - self._by_case.get(running, 0.0)
        if now - self._looked_at > STALLED:
            held_by_others += now - self._looked_at
        return held_by_others > HELD * (now - running.begun)
