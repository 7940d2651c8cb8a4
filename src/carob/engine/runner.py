"""The run itself: slots take items, an executor carries them out, the journal keeps them, listeners hear of them."""

from __future__ import annotations

import asyncio
import heapq
import random
from array import array
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias

from msgspec import structs

from carob.engine.attempts import Attempts, read_attempt
from carob.engine.events import CaseFinished, Event, RunFinished, RunStarted
from carob.engine.executors import Executor
from carob.engine.work import CaseResult
from carob.errors import CarobError, ExitCode
from carob.journal.writer import JournalWriter, encode
from carob.model.run import Footer, Header, Item, Keys, Summary
from carob.model.sequential import SequentialTest
from carob.model.suite import Case
from carob.scoring.tally import Tally
from carob.targets.base import DENIED


@dataclass(eq=False)
class Plan:
    """Every case, `repeat` times, in suite order. Items are made as they are asked for, so that a plan is small."""

    cases: Sequence[Case]
    target_options: dict[str, object]
    repeat: int = 1
    until: SequentialTest | None = None
    confirm: int = 0

    def __post_init__(self) -> None:
        self._keys = Keys(self.target_options)
        self._order = array("Q", range(len(self.cases) * self.repeat))

    @property
    def is_open_ended(self) -> bool:
        """Whether it depends on the runs of a case how often it is run."""
        return self.until is not None or self.confirm > 0

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[Item]:
        for position in self._order:
            index, repeat = divmod(position, self.repeat)
            case = self.cases[index]
            yield Item(index, repeat, self._keys.of(case), case, self.until)

    def keep(self, is_kept: Callable[[Item], bool]) -> None:
        """Leave out what is not to be run."""
        self._order = array("Q", (position for position, item in zip(self._order, self, strict=True) if is_kept(item)))

    def shuffle(self, seed: int) -> None:
        """The same items in an order that the seed decides."""
        random.Random(seed).shuffle(self._order)


class InOrder:
    """Every item of a plan."""

    def __init__(self, plan: Plan) -> None:
        self._items = iter(plan)
        self._undone = len(plan)

    async def take(self) -> Item | None:
        return next(self._items, None)

    def mark_done(self, item: Item) -> None:
        self._undone -= 1

    @property
    def left(self) -> bool:
        """Whether something is still to be run."""
        return self._undone > 0


class UntilDecided:
    """Runs of each case one after the other while `is_open` says that another is needed; all cases take turns.

    One run of a case at a time: no run is started that the one before it makes needless, and what decides a case does
    not depend on which of several runs ends first.
    """

    def __init__(self, plan: Plan, is_open: Callable[[int], bool]) -> None:
        self._is_open = is_open
        self._runs: dict[int, deque[Item]] = {}
        for item in plan:
            self._runs.setdefault(item.index, deque()).append(item)
        self._waiting = deque(index for index in self._runs if is_open(index))
        self._taken = 0
        self._changed = asyncio.Event()

    async def take(self) -> Item | None:
        while not self._waiting and self._taken:
            self._changed.clear()
            await self._changed.wait()
        if not self._waiting:
            return None
        self._taken += 1
        return self._runs[self._waiting.popleft()].popleft()

    def mark_done(self, item: Item) -> None:
        self._taken -= 1
        if self._runs[item.index] and self._is_open(item.index):
            self._waiting.append(item.index)
        self._changed.set()

    @property
    def left(self) -> bool:
        return bool(self._waiting or self._taken)


Items: TypeAlias = InOrder | UntilDecided
"""What slots take from. Whoever takes an item reports when it is done."""
INTERRUPTED = "interrupted"


class NotStartedError(CarobError):
    """The run was stopped before its first case."""

    exit_code = ExitCode.INTERRUPTED
    slug = "interrupted"


class Runner:
    """One run of a plan into one journal. It `began` at that time of the event loop, with opening the target."""

    def __init__(self, plan: Plan, attempts: Attempts, *, began: float, clock: Callable[[], str]) -> None:
        self._plan = plan
        self._attempts = attempts
        self._policy = attempts.policy
        self._clock = clock
        self._began = began
        self._stop = asyncio.Event()
        self._why = ""
        self._interrupted = False
        self._broken = False
        self._misconfigured = False
        self._failed: set[int] = set()

    def interrupt(self, why: str = INTERRUPTED) -> None:
        """End the run: cases in flight are given up and can be resumed."""
        self._why = self._why or why
        self._interrupted = True
        self._stop.set()

    async def into(self, path: str, header: Header, tally: Tally, base: str = "") -> Summary:
        """Append each case to the journal as it finishes, and then the footer. `tally` knows what is already there.

        A relative path is below `base`, by default this folder.
        """
        with JournalWriter(path, base) as journal:
            self._attempts.tell(RunStarted(header, path, len(self._plan)))
            items = UntilDecided(self._plan, tally.is_open) if self._plan.is_open_ended else InOrder(self._plan)
            await self._work(items, journal, tally)
            missing = items.left
            summary = structs.replace(
                tally.summary(),
                incomplete=self._why if missing else "",
                interrupted=self._interrupted and missing,
                broken=self._broken and missing,
                misconfigured=self._misconfigured and missing,
            )
            summary = self._attempts.redactor.redact(summary)
            journal.write(encode(Footer(finished_at=self._clock(), summary=summary)))
        self._attempts.tell(RunFinished(summary))
        return summary

    async def _work(self, items: Items, journal: JournalWriter, tally: Tally) -> None:
        slots = min(self._attempts.slots, len(self._plan))
        tasks = [asyncio.create_task(self._lane(items, journal, tally)) for _ in range(slots)]
        stopped = asyncio.create_task(self._wait_for_stop())
        try:
            await self._until_done(tasks, stopped)
        finally:
            for task in (*tasks, stopped):
                task.cancel()
            await asyncio.gather(*tasks, stopped, return_exceptions=True)

    async def _until_done(self, tasks: list[asyncio.Task[None]], stopped: asyncio.Task[None]) -> None:
        waiting: set[asyncio.Task[None]] = set(tasks)
        while waiting and not stopped.done():
            finished, _ = await asyncio.wait({*waiting, stopped}, return_when=asyncio.FIRST_COMPLETED)
            for task in finished - {stopped}:
                waiting.discard(task)
                task.result()

    async def _wait_for_stop(self) -> None:
        limit = self._policy.run_timeout
        try:
            async with asyncio.timeout_at(None if limit is None else self._began + limit):
                await self._stop.wait()
        except TimeoutError:
            self.interrupt(f"the run took longer than {limit:g} s")

    async def _lane(self, items: Items, journal: JournalWriter, tally: Tally) -> None:
        while not self._stop.is_set():
            item = await items.take()
            if item is None:
                return
            try:
                result = await self._attempts.run(item)
            except CarobError as error:
                if error.exit_code == ExitCode.INTERNAL:
                    raise
                if error.exit_code == ExitCode.INTERRUPTED:
                    self.interrupt(error.message.removesuffix("."))
                    return
                self._why = self._why or f"no further case could be run: {error}"
                self._broken = not self._interrupted
                self._stop.set()
                return
            if result.error == DENIED:
                self._end_denied(result)
                return
            journal.write(bytes(result.line))
            tally.add(item.index, result.outcome)
            items.mark_done(item)
            self._attempts.tell(CaseFinished(item, result))
            if tally.is_lost(item.index, result.status):
                self._count_failure(item)
            if result.error:  # one that ended by itself has stopped
                await self._attempts.wait_until_stopped(item)

    def _end_denied(self, result: CaseResult) -> None:
        """End the run for what is wrong with the configuration. The case is not kept: nothing was done in it."""
        error = read_attempt(result).error
        self._misconfigured = self._misconfigured or not self._why
        self._why = self._why or f"no case can be run: {error.message if error else DENIED}"
        self._stop.set()

    def _count_failure(self, item: Item) -> None:
        self._failed.add(item.index)
        count, most = len(self._failed), self._policy.max_failures
        if most is not None and count >= most:
            self._why = self._why or f"stopped after {count} failed case{'s' * (count > 1)}"
            self._stop.set()


@asynccontextmanager
async def open_executor(executor: Executor, interrupted: asyncio.Event, limit: float | None) -> AsyncIterator[Executor]:
    """The executor, open within the run's time unless interrupted; closed whatever happens, even if not opened."""
    opening = asyncio.create_task(executor.open())
    waiting = asyncio.create_task(interrupted.wait())
    try:
        await asyncio.wait({opening, waiting}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        if waiting.done() and not opening.done():
            raise NotStartedError("interrupted before any case was run.")
        if not opening.done():
            raise NotStartedError(f"the target did not open within the {limit:g} s of the run.", slug="run-timeout")
        opening.result()
        yield executor
    finally:
        for task in (opening, waiting):
            task.cancel()
        await asyncio.gather(opening, waiting, return_exceptions=True)
        await asyncio.shield(asyncio.ensure_future(executor.close()))


LONG = 60.0
"""Seconds; a shorter run is not worth a hint."""
AT_ONCE = 4
WORTH = 0.7
"""The share of the time that is left at most, for a hint to be worth it."""


class ConcurrencyHint:
    """Records how long cases take one at a time, and reports at the end what several at once would have taken."""

    def __init__(self) -> None:
        self._seconds: list[float] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, CaseFinished):
            self._seconds.append(event.done.duration_ms / 1000)

    @property
    def hint(self) -> str:
        """Nothing after a short run, or where little would have been saved."""
        alone, together = sum(self._seconds), total_duration(self._seconds, AT_ONCE)
        if alone < LONG or together > WORTH * alone:
            return ""
        return (
            f"running one case at a time took {alone:.0f} s; --concurrency {AT_ONCE} would take about {together:.0f} s"
        )


def total_duration(seconds: Iterable[float], slots: int) -> float:
    """How long cases last that are begun in this order as soon as one of the slots is free."""
    free = [0.0] * slots
    for each in seconds:
        heapq.heappush(free, heapq.heappop(free) + each)
    return max(free)
