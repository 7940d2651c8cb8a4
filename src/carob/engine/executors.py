"""Where cases are carried out. An executor takes one item at a time from each of its slots."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter

from carob.checks.catalog import CheckCatalog
from carob.engine.work import CaseResult, Settings, error_result, run_case
from carob.model.run import Item
from carob.model.trace import TraceError
from carob.redaction.redactor import Redactor
from carob.targets.base import RunContext, Target
from carob.targets.user_code import TURN


class Limiter:
    """Lets one start through every 60 / `per_minute` seconds; None lets all through."""

    def __init__(self, per_minute: float | None) -> None:
        self._interval = 60.0 / per_minute if per_minute else 0.0
        self._next = 0.0

    def wait(self) -> float:
        """Seconds until the next start may be; with 0.0, it is taken."""
        if not self._interval:
            return 0.0
        now = asyncio.get_running_loop().time()
        if now < self._next:
            return self._next - now
        self._next = now + self._interval
        return 0.0

    async def turn(self) -> None:
        """Take the next start, in the order of asking."""
        if not self._interval:
            return
        now = asyncio.get_running_loop().time()
        start = max(now, self._next)
        self._next = start + self._interval
        await asyncio.sleep(start - now)


class Executor:
    """Between `open` and `close`, `run` may be awaited as often at once as there are slots.

    This one is for a run in which nothing is to be carried out: the target is not even opened.
    """

    slots: int = 1
    keeps_rate: bool = False
    """Whether it keeps to the rate by itself; else its callers do."""

    async def open(self) -> None:
        """Get ready, or raise an error that the user can fix before any case is run."""

    async def run(self, item: Item, attempt: int, on_started: Callable[[Item], None]) -> CaseResult:
        """Run one case; `on_started` is called when it starts. A CarobError says that no more case can be run."""
        raise RuntimeError("this executor runs no case")

    async def wait_until_stopped(self, item: Item) -> None:
        """Wait until the case has stopped, if the limits require it."""

    async def close(self) -> None:
        """Close what was opened."""


class InlineExecutor(Executor):
    """In this process and on its event loop: for debugging and for use as a library.

    Nothing can be killed here: an agent that blocks the event loop or ignores its cancellation holds up the run, and a
    thread that overran cannot be stopped.
    """

    def __init__(
        self, target: Target, settings: Settings, redactor: Redactor, catalog: CheckCatalog, *, concurrency: int = 1
    ) -> None:
        self.slots = concurrency
        self._catalog = catalog
        self._target = target
        self._settings = settings
        self._redactor = redactor
        self._folder = ""
        self._turned = 0.0
        self._elsewhere = ""
        """Where the agent went while it was opened: it is there when its cases are run, not when a journal is begun."""

    async def open(self) -> None:
        with suppress(FileNotFoundError):
            self._folder = os.getcwd()
        await self._target.open()
        if self._folder and (elsewhere := os.getcwd()) != self._folder:
            self._elsewhere = elsewhere
            os.chdir(self._folder)

    async def run(self, item: Item, attempt: int, on_started: Callable[[Item], None]) -> CaseResult:
        if (now := perf_counter()) - self._turned > TURN:  # an agent that never waits must not hold up limits
            self._turned = now
            await asyncio.sleep(0)
        if self._elsewhere:
            os.chdir(self._elsewhere)
            self._elsewhere = ""
        on_started(item)
        context = RunContext(repeat=item.repeat, attempt=attempt)
        return await run_case(item, self._target, self._settings, self._redactor, context, self._catalog)

    async def close(self) -> None:
        """Close the target, and go back to where we were: the agent may have gone elsewhere."""
        await self._target.close()
        if self._folder:
            with suppress(OSError):
                os.chdir(self._folder)


@dataclass(eq=False, slots=True)
class Job:
    """A case, what to call when it starts, and the future of its result."""

    item: Item
    attempt: int
    on_started: Callable[[Item], None]
    future: asyncio.Future[CaseResult]
    losses: int = 0
    started_at: float = field(default_factory=perf_counter)

    def begin(self) -> None:
        self.started_at = perf_counter()
        self.on_started(self.item)

    def finish(self, result: CaseResult) -> None:
        if not self.future.done():
            self.future.set_result(result)

    def finish_broken(self, error: TraceError, redactor: Redactor) -> None:
        """Finish it as an ERROR: it was lost with its process."""
        took = round((perf_counter() - self.started_at) * 1000, 3)
        self.finish(error_result(self.item, error, took, redactor))

    def fail(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)
