"""Several workers with one queue in front of them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import NamedTuple

from karat.engine.executors import Job, Limiter
from karat.engine.plan import Item
from karat.engine.processes.messages import Start
from karat.engine.processes.worker import END_LIMIT, CaseEnded, CaseReturned, NotClosed, Worker, WorkerEvent, WorkerLost
from karat.engine.work import TIMEOUT
from karat.errors import KaratError
from karat.journal.redaction import Redactor
from karat.model.suite import Case
from karat.model.trace import TraceError


class Background:
    """Runs them until they end or are stopped; `broke` hears what breaks in one."""

    def __init__(self, broke: Callable[[BaseException], None]) -> None:
        self._broke = broke
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_ended)

    async def stop(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _on_ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._broke(error)


class Backlog:
    """In the order in which they came; those that some worker had and did not finish come first."""

    def __init__(self) -> None:
        self._new: deque[Job] = deque()
        self._returned: deque[Job] = deque()

    def add(self, job: Job) -> None:
        self._new.append(job)

    def put_back(self, jobs: Iterable[Job]) -> None:
        self._returned.extend(jobs)

    def __bool__(self) -> bool:
        """Whether there is one that somebody still waits for."""
        while waiting := self._returned or self._new:
            if not waiting[0].future.done():
                return True
            waiting.popleft()
        return False

    def pop(self) -> Job:
        return (self._returned or self._new).popleft()

    def drain(self) -> Iterator[Job]:
        while self:
            yield self.pop()


OPEN_ATTEMPTS = 3
BACKOFF = 0.5
LONGEST = 5.0


class WorkerSet:
    """Up to `size` workers. `on_event` receives their events, `on_shortage` the reason if there are fewer."""

    def __init__(
        self,
        start: Start,
        size: int,
        ahead: int,
        on_event: Callable[[Worker, WorkerEvent], None],
        on_shortage: Callable[[KaratError], None],
    ) -> None:
        self._start = start
        self._size = size
        self._ahead = ahead
        self._on_event = on_event
        self._on_shortage = on_shortage
        self._active: list[Worker] = []
        self._all: set[Worker] = set()
        self._opening = 0
        self._failures = 0

    @property
    def active(self) -> int:
        """How many are there that take cases."""
        return len(self._active)

    @property
    def busy(self) -> bool:
        return any(worker.in_hand for worker in self._all)

    @property
    def complete(self) -> bool:
        """Whether as many are there, or being opened, as there may be."""
        return len(self._active) + self._opening >= self._size

    def roomiest(self) -> Worker | None:
        return max(self._active, key=_room) if len(self._active) > 1 else next(iter(self._active), None)

    async def open(self) -> None:
        """Open the first: a target that cannot be opened is found out before any case is run."""
        self._active.append(await self._open_worker())

    def reserve(self) -> None:
        """Count one more as being opened; `one_more` is to follow."""
        self._opening += 1

    async def one_more(self) -> None:
        try:
            worker = await self._open_worker()
        except KaratError as error:
            self._failures += 1
            if self._failures >= OPEN_ATTEMPTS:
                self._make_do(error)
            await asyncio.sleep(min(BACKOFF * self._failures, LONGEST))
        else:
            self._failures = 0
            self._active.append(worker)
            self._size = max(self._size, len(self._active))
        finally:
            self._opening -= 1

    def retire(self, worker: Worker) -> bool:
        """Give no more cases to a worker; whether it is now to be ended."""
        if worker in self._active:
            self._active.remove(worker)
        return not (worker.in_hand or worker.closing)

    async def end(self, worker: Worker) -> None:
        await worker.close()
        self._all.discard(worker)

    def watch(self, now: float) -> None:
        """Kill those that do not answer."""
        for worker in self._all:
            worker.watch(now)

    async def close(self, grace: float) -> None:
        await asyncio.gather(*(worker.close(grace if worker.in_hand else END_LIMIT) for worker in self._all))
        self._all.clear()

    def _make_do(self, error: KaratError) -> None:
        """Go on with the workers that there are; one that is about to end may make room for another."""
        if self._active:
            self._size, self._failures = len(self._active), 0
        self._on_shortage(error)

    async def _open_worker(self) -> Worker:
        worker = Worker(self._start, self._ahead, self._on_event)
        self._all.add(worker)
        try:
            await worker.open()
        except BaseException:
            worker.kill("harness", "the worker was not opened")
            await self.end(worker)
            raise
        return worker


def _room(worker: Worker) -> int:
    return worker.room


class TimedOutCases:
    """Knows for each of them whether the process that it overran in is gone."""

    def __init__(self) -> None:
        self._gone: dict[Worker, asyncio.Event] = {}
        self._of: dict[tuple[int, int], asyncio.Event] = {}

    def note(self, item: Item, worker: Worker) -> None:
        self._of[item.index, item.repeat] = self._gone.setdefault(worker, asyncio.Event())

    def on_ended(self, worker: Worker) -> None:
        if ended := self._gone.pop(worker, None):
            ended.set()

    async def over(self, item: Item) -> None:
        """Wait until nothing of a case goes on any more."""
        if ended := self._of.pop((item.index, item.repeat), None):
            await ended.wait()


class Common(NamedTuple):
    """What the pools of a run share. `exact`: where a case overran, the next one waits until its process is gone."""

    redactor: Redactor
    limiter: Limiter
    exact: bool
    needs_teardown: list[Case]
    """Cases that were lost with their process, and are not torn down yet."""
    not_closed: list[KaratError]
    """What went wrong when targets were closed."""


class Pool:
    """Hands out cases to up to `count` workers.

    Of a worker that is lost while it carries out one case, that case is to blame. With several, it is unknown which
    one is: `suspected` gets each, to have it run alone. What was only sent ahead goes back to the queue. Whatever
    starts, and starts again, waits for the common limiter. `on_shortage` receives the reason if workers are missing.
    """

    def __init__(
        self,
        start: Start,
        common: Common,
        *,
        count: int,
        ahead: int,
        suspected: Callable[[Job], None],
        on_shortage: Callable[[KaratError], None],
    ) -> None:
        self._common = common
        self._suspected = suspected
        self._grace = start.settings.grace
        self._tears_down = bool(start.target.teardown)
        self._backlog = Backlog()
        self._workers = WorkerSet(start, count, ahead, self._on_event, on_shortage)
        self._overruns = TimedOutCases()
        self._background = Background(self.give_up)
        self._later: asyncio.TimerHandle | None = None
        self._closed = False

    async def open(self) -> None:
        await self._workers.open()

    def add(self, job: Job) -> None:
        self._backlog.add(job)
        self._dispatch()

    async def wait_until_stopped(self, item: Item) -> None:
        """Wait until the process of a case that overran is gone: it may still be going on there."""
        await self._overruns.over(item)

    def watch(self, now: float) -> None:
        self._workers.watch(now)

    async def close(self) -> None:
        self._closed = True
        if self._later is not None:
            self._later.cancel()
        await self._background.stop()
        await self._workers.close(self._grace)

    @property
    def works(self) -> bool:
        """Whether a worker is there that takes cases."""
        return self._workers.active > 0

    @property
    def busy(self) -> bool:
        """Whether a worker has cases in hand, be it about to end."""
        return self._workers.busy

    def blame(self, error: TraceError) -> None:
        """Make an ERROR of every case that waits."""
        for job in self._backlog.drain():
            job.finish_broken(error, self._common.redactor)

    def give_up(self, error: BaseException) -> None:
        """Raise this where cases are waited for."""
        for job in self._backlog.drain():
            job.fail(error)

    def _dispatch(self) -> None:
        while self._backlog:
            worker = self._workers.roomiest()
            if worker is None or worker.in_hand:
                self._grow()
            if worker is None or worker.room <= 0:
                return
            if wait := self._common.limiter.wait():
                self._dispatch_in(wait)
                return
            worker.give(self._backlog.pop(), self._take_owed())

    def _take_owed(self) -> tuple[Case, ...]:
        """Return the cases that are still to be torn down, each once."""
        owed = tuple(self._common.needs_teardown) if self._tears_down else ()
        self._common.needs_teardown.clear()
        return owed

    def _dispatch_in(self, seconds: float) -> None:
        if self._later is not None:
            self._later.cancel()
        self._later = asyncio.get_running_loop().call_later(seconds, self._dispatch)

    def _grow(self) -> None:
        if not (self._workers.complete or self._closed):
            self._workers.reserve()
            self._background.start(self._one_more())

    async def _one_more(self) -> None:
        await self._workers.one_more()
        self._dispatch()

    def _on_event(self, worker: Worker, event: WorkerEvent) -> None:
        if isinstance(event, NotClosed):
            self._common.not_closed.append(event.error)
            return
        if isinstance(event, CaseEnded):
            self._on_ended(worker, event)
        elif isinstance(event, CaseReturned):
            self._suspected(event.job) if event.alone else self._backlog.put_back([event.job])
        else:
            self._on_lost(event)
        if worker.retired and self._workers.retire(worker) and not self._closed:
            self._background.start(self._end(worker))
        self._dispatch()

    def _on_ended(self, worker: Worker, event: CaseEnded) -> None:
        if event.needs_teardown:
            self._common.needs_teardown.append(event.job.item.case)
        if event.done.error == TIMEOUT and self._common.exact:
            self._overruns.note(event.job.item, worker)
        event.job.finish(event.done)

    def _on_lost(self, event: WorkerLost) -> None:
        suspects, innocent, needs_teardown = event.blame
        self._backlog.put_back(innocent)
        self._common.needs_teardown.extend(job.item.case for job in needs_teardown)
        if len(suspects) == 1:
            suspects[0].finish_broken(event.error, self._common.redactor)
        else:
            for job in suspects:
                self._suspected(job)

    async def _end(self, worker: Worker) -> None:
        if self._common.exact:
            worker.kill(TIMEOUT, "an earlier case overran")
        await self._workers.end(worker)
        self._overruns.on_ended(worker)
