"""Several worker processes with one queue in front of them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from time import perf_counter
from typing import Any, NamedTuple

from karat.engine.limiter import Limiter
from karat.engine.plan import Item
from karat.engine.processes.handle import END_LIMIT, Handle, Job, Loss
from karat.engine.processes.messages import Start
from karat.engine.work import TIMEOUT, Done, broken
from karat.errors import KaratError
from karat.model.suite import Case
from karat.model.trace import TraceError
from karat.traces.redact import Redactor

OPEN_ATTEMPTS = 3
BACKOFF = 0.5
LONGEST = 5.0


class Common(NamedTuple):
    """What the pools of a run share. `exact`: where a case overran, the next one waits until its process is gone."""

    redactor: Redactor
    limiter: Limiter
    tell: Callable[[str], None]
    exact: bool
    untidy: list[Case]
    """Cases that were lost with their process, and are not torn down yet."""


class Pool:
    """Hands out cases to up to `count` workers, started as they are needed and replaced when they are lost.

    Of a worker that is lost while it carries out one case, that case is to blame. With several, nobody knows which one
    is: each goes to `suspects`, where it is run alone. What was only sent ahead goes back to the queue. Whatever
    begins, and begins again, waits for the common limiter.
    """

    def __init__(self, start: Start, common: Common, *, count: int, ahead: int) -> None:
        self._start = start
        self._common = common
        self._count = count
        self._ahead = ahead
        self.suspects: Callable[[Job], None] = self.add
        self.forsaken: Callable[[KaratError], None] = self.give_up
        self._queue: deque[Job] = deque()
        self._first: deque[Job] = deque()
        """Before the queue: cases that some worker had and did not finish."""
        self._active: list[Handle] = []
        self._all: set[Handle] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._opening = 0
        self._failures = 0
        self._made_do = False
        self._gone: dict[Handle, asyncio.Event] = {}
        self._overran: dict[tuple[int, int], asyncio.Event] = {}
        self._later: asyncio.TimerHandle | None = None
        self._closed = False

    async def open(self) -> None:
        """Start the first worker: a target that cannot be opened is found out before any case is run."""
        self._active.append(await self._started())

    def add(self, job: Job) -> None:
        self._queue.append(job)
        self._dispatch()

    async def cleared(self, item: Item) -> None:
        """Wait until the process of a case that overran is gone: it may still be going on there."""
        if gone := self._overran.pop((item.index, item.repeat), None):
            await gone.wait()

    def watch(self, now: float) -> None:
        """Kill workers that do not answer."""
        for handle in self._all:
            handle.watch(now)

    async def close(self) -> None:
        self._closed = True
        if self._later is not None:
            self._later.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        grace = self._start.settings.grace
        await asyncio.gather(*(handle.close(grace if handle.in_hand else END_LIMIT) for handle in self._all))
        self._all.clear()

    @property
    def works(self) -> bool:
        """Whether a worker is there that takes cases."""
        return bool(self._active)

    def blame(self, error: TraceError) -> None:
        """Make an ERROR of every case that waits."""
        while waiting := self._first or self._queue:
            self._broken(waiting.popleft(), error)

    def give_up(self, error: BaseException) -> None:
        while waiting := self._first or self._queue:
            waiting.popleft().fail(error)

    def _dispatch(self) -> None:
        while waiting := self._first or self._queue:
            handle = max(self._active, key=_room, default=None)
            if handle is None or handle.in_hand:
                self._grow()
            if handle is None or handle.room <= 0:
                return
            if waiting[0].future.done():
                waiting.popleft()
            elif wait := self._common.limiter.wait():
                self._dispatch_in(wait)
                return
            else:
                handle.give(waiting.popleft(), self._owed())

    def _owed(self) -> tuple[Case, ...]:
        """The cases that are still to be torn down, each told of once."""
        owed = tuple(self._common.untidy) if self._start.target.teardown else ()
        self._common.untidy.clear()
        return owed

    def _dispatch_in(self, seconds: float) -> None:
        if self._later is not None:
            self._later.cancel()
        self._later = asyncio.get_running_loop().call_later(seconds, self._dispatch)

    def _grow(self) -> None:
        if len(self._active) + self._opening < self._count and not self._closed:
            self._opening += 1
            self._in_background(self._one_more())

    async def _one_more(self) -> None:
        try:
            handle = await self._started()
        except KaratError as error:
            self._failures += 1
            if self._failures >= OPEN_ATTEMPTS:
                self._make_do(error)
            await asyncio.sleep(min(BACKOFF * self._failures, LONGEST))
        else:
            self._failures = 0
            self._active.append(handle)
            self._count = max(self._count, len(self._active))
        finally:
            self._opening -= 1
        self._dispatch()

    def _make_do(self, error: KaratError) -> None:
        """Go on with the workers that there are; one that is about to end may make room for another."""
        if self._active:
            self._count, self._failures = len(self._active), 0
            if not self._made_do:
                self._made_do = True
                self._common.tell(f"not all workers could be opened, going on with fewer: {error}")
        elif not any(handle.in_hand for handle in self._all):
            self.forsaken(error)

    async def _started(self) -> Handle:
        handle = Handle(self._start, self._ahead, self)
        self._all.add(handle)
        try:
            await handle.open()
        except BaseException:
            handle.kill("harness", "the worker was not opened")
            await handle.close()
            self._all.discard(handle)
            raise
        return handle

    def finished(self, handle: Handle, job: Job, done: Done, *, untidy: bool) -> None:
        if untidy:
            self._common.untidy.append(job.item.case)
        if done.error == TIMEOUT and self._common.exact:
            self._overran[job.item.index, job.item.repeat] = self._gone.setdefault(handle, asyncio.Event())
        job.finish(done)
        self._settle(handle)

    def returned(self, handle: Handle, job: Job, *, alone: bool) -> None:
        if alone:
            self.suspects(job)
        else:
            self._first.append(job)
        self._settle(handle)

    def lost(self, handle: Handle, loss: Loss) -> None:
        self._first.extend(loss.innocent)
        self._common.untidy.extend(job.item.case for job in loss.untidy)
        if len(loss.suspects) == 1:
            self._broken(loss.suspects[0], loss.error)
        else:
            for job in loss.suspects:
                self.suspects(job)
        self._settle(handle)

    def _broken(self, job: Job, error: TraceError) -> None:
        took = round((perf_counter() - job.begun_at) * 1000, 3)
        job.finish(broken(job.item, error, took, self._common.redactor))

    def _settle(self, handle: Handle) -> None:
        """Replace a worker that takes no more cases, end it when it is done, and go on."""
        if handle.retired:
            if handle in self._active:
                self._active.remove(handle)
            if not (handle.in_hand or handle.closing or self._closed):
                self._in_background(self._ended(handle))
        self._dispatch()

    async def _ended(self, handle: Handle) -> None:
        if self._common.exact:
            handle.kill(TIMEOUT, "an earlier case overran")
        await handle.close()
        self._all.discard(handle)
        if gone := self._gone.pop(handle, None):
            gone.set()

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._looked_after)

    def _looked_after(self, task: asyncio.Task[None]) -> None:
        """What breaks in the background is raised where cases are waited for."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.give_up(error)


def _room(handle: Handle) -> int:
    return handle.room
