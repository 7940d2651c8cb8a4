"""Worker processes: an agent that blocks, leaks or crashes the interpreter takes down its own case and no other."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec import structs

from carob.engine.executors import Executor, Job, Limiter
from carob.engine.processes.messages import Finished, Start
from carob.engine.processes.worker import END_LIMIT, Worker, WorkerEvent, WorkerLost
from carob.engine.work import BUG, TIMEOUT, CaseResult
from carob.errors import CarobError
from carob.model.run import Item
from carob.model.suite import Case
from carob.model.trace import TraceError
from carob.redaction.redactor import Redactor

AHEAD = 32
"""How many quick cases are sent to a worker beyond those that it carries out at once."""
WATCH = 0.25
OPEN_ATTEMPTS = 3
BACKOFF = 0.5
LONGEST = 5.0


class ProcessExecutor(Executor):
    """`workers` processes with several cases at once in each, fewer if no more can be opened: `tell` hears of that.

    When a process is lost with several cases in hand, each is run again, alone in a process, and there the guilty one
    is an ERROR. `exact`: no case is sent ahead, and one that overran is `wait_until_stopped` when its process is gone.
    """

    keeps_rate = True

    def __init__(
        self,
        start: Start,
        redactor: Redactor,
        *,
        workers: int = 1,
        exact: bool = False,
        per_minute: float | None = None,
        tell: Callable[[str], None] = lambda message: None,
    ) -> None:
        ahead = 0 if exact else AHEAD
        self.slots = workers * (start.concurrency + ahead)
        common = self._common = Common(redactor, Limiter(per_minute), exact, needs_teardown=[], not_closed=[])
        alone = structs.replace(start, concurrency=1)
        # Whether a case is to blame for a lost process is found out where it runs alone.
        self._alone = Pool(alone, common, workers, 0, lambda job: self._alone.add(job), self._not_alone)
        self._pool = Pool(start, common, workers, ahead, self._alone.add, self._make_do)
        self._tell = tell
        self._said = False
        self._watch: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._watch = asyncio.create_task(self._keep_watch())
        await self._pool.open()

    async def run(self, item: Item, attempt: int, on_started: Callable[[Item], None]) -> CaseResult:
        job = Job(item, attempt, on_started, asyncio.get_running_loop().create_future())
        self._pool.add(job)
        return await job.future

    async def wait_until_stopped(self, item: Item) -> None:
        for pool in (self._pool, self._alone):
            await pool.wait_until_stopped(item)

    async def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        await asyncio.gather(self._pool.close(), self._alone.close())
        for error in self._common.not_closed:
            raise error

    def _make_do(self, error: CarobError) -> None:
        """Go on with fewer workers, if there are any."""
        if self._pool.works:
            self._say(error)
        elif not self._pool.busy:
            self._pool.give_up(error)

    def _not_alone(self, error: CarobError) -> None:
        """Continue with the processes that are there: no other one can be had."""
        if self._alone.works:
            self._say(error)
        elif self._alone.busy:
            return
        elif self._pool.works:
            self._alone.blame(TraceError(BUG, f"the case could not be run again, alone, after a crash: {error}"))
        else:
            self._alone.give_up(error)

    def _say(self, error: CarobError) -> None:
        if not self._said:
            self._said = True
            self._tell(f"not all workers could be started; continuing with fewer: {error}")

    async def _keep_watch(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(WATCH)
            for pool in (self._pool, self._alone):
                pool.watch(loop.time())


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


class Common(NamedTuple):
    """What the pools of a run share. `exact`: where a case overran, the next one waits until its process is gone."""

    redactor: Redactor
    limiter: Limiter
    exact: bool
    needs_teardown: list[Case]
    """Cases that were lost with their process, and are not torn down yet."""
    not_closed: list[CarobError]
    """What went wrong when targets were closed."""


@dataclass(eq=False)
class Pool:
    """Up to `size` workers with one queue in front of them.

    Of a worker that is lost while it carries out one case, that case is to blame. With several, it is unknown which
    one is: `suspected` gets each, to have it run alone. What was only sent ahead goes back to the queue. Whatever
    starts, and starts again, waits for the common limiter. `on_shortage` receives the reason if workers are missing.
    """

    start: Start
    common: Common
    size: int
    ahead: int
    suspected: Callable[[Job], None]
    on_shortage: Callable[[CarobError], None]
    _backlog: Backlog = field(default_factory=Backlog)
    _active: list[Worker] = field(default_factory=list)
    """Those that take cases."""
    _all: set[Worker] = field(default_factory=set)
    _overran: dict[tuple[int, int], Worker] = field(default_factory=dict)
    """For each case that overran, the worker in which it may still be going on."""
    _opening: int = 0
    _failures: int = 0
    _later: asyncio.TimerHandle | None = None
    _closed: bool = False

    def __post_init__(self) -> None:
        self._background = Background(self.give_up)

    async def open(self) -> None:
        """Open the first: a target that cannot be opened is found out before any case is run."""
        self._active.append(await self._open_worker())

    def add(self, job: Job) -> None:
        self._backlog.add(job)
        self._dispatch()

    async def wait_until_stopped(self, item: Item) -> None:
        """Wait until the process of a case that overran is gone: it may still be going on there."""
        if worker := self._overran.pop((item.index, item.repeat), None):
            await worker.gone.wait()

    def watch(self, now: float) -> None:
        """Kill those that do not answer."""
        for worker in self._all:
            worker.watch(now)

    async def close(self) -> None:
        self._closed = True
        if self._later is not None:
            self._later.cancel()
        await self._background.stop()
        grace = self.start.settings.grace
        await asyncio.gather(*(worker.close(grace if worker.in_hand else END_LIMIT) for worker in self._all))
        self._all.clear()

    @property
    def works(self) -> bool:
        """Whether a worker is there that takes cases."""
        return bool(self._active)

    @property
    def busy(self) -> bool:
        """Whether a worker has cases in hand, be it about to end."""
        return any(worker.in_hand for worker in self._all)

    def blame(self, error: TraceError) -> None:
        """Make an ERROR of every case that waits."""
        for job in self._backlog.drain():
            job.finish_broken(error, self.common.redactor)

    def give_up(self, error: BaseException) -> None:
        """Raise this where cases are waited for."""
        for job in self._backlog.drain():
            job.fail(error)

    def _dispatch(self) -> None:
        while self._backlog:
            worker = max(self._active, key=lambda worker: worker.room, default=None)
            if worker is None or worker.in_hand:
                self._grow()
            if worker is None or worker.room <= 0:
                return
            if wait := self.common.limiter.wait():
                self._dispatch_in(wait)
                return
            worker.give(self._backlog.pop(), self._take_owed())

    def _take_owed(self) -> tuple[Case, ...]:
        """Return the cases that are still to be torn down, each once."""
        owed = tuple(self.common.needs_teardown) if self.start.target.teardown else ()
        self.common.needs_teardown.clear()
        return owed

    def _dispatch_in(self, seconds: float) -> None:
        if self._later is not None:
            self._later.cancel()
        self._later = asyncio.get_running_loop().call_later(seconds, self._dispatch)

    def _grow(self) -> None:
        if len(self._active) + self._opening < self.size and not self._closed:
            self._opening += 1
            self._background.start(self._add_worker())

    async def _add_worker(self) -> None:
        try:
            worker = await self._open_worker()
        except CarobError as error:
            self._failures += 1
            if self._failures >= OPEN_ATTEMPTS:
                self._make_do(error)
            await asyncio.sleep(min(BACKOFF * self._failures, LONGEST))
        else:
            self._failures = 0
            self._active.append(worker)
            self.size = max(self.size, len(self._active))
        finally:
            self._opening -= 1
        self._dispatch()

    def _make_do(self, error: CarobError) -> None:
        """Go on with the workers that there are; one that is about to end may make room for another."""
        if self._active:
            self.size, self._failures = len(self._active), 0
        self.on_shortage(error)

    async def _open_worker(self) -> Worker:
        worker = Worker(self.start, self.ahead, self._on_event)
        self._all.add(worker)
        try:
            await worker.open()
        except BaseException:
            worker.kill("harness", "the worker was not opened")
            await self._end(worker)
            raise
        return worker

    def _on_event(self, worker: Worker, event: WorkerEvent) -> None:
        if isinstance(event, CarobError):
            self.common.not_closed.append(event)
            return
        if isinstance(event, WorkerLost):
            self._on_lost(event)
        elif isinstance(event.message, Finished):
            self._on_finished(worker, event.job, event.message)
        elif event.message.alone:
            self.suspected(event.job)
        else:
            self._backlog.put_back([event.job])
        if worker.retired:
            self._retire(worker)
        self._dispatch()

    def _on_finished(self, worker: Worker, job: Job, message: Finished) -> None:
        if message.last or message.deaf:
            self.common.needs_teardown.append(job.item.case)
        if message.done.error == TIMEOUT and self.common.exact:
            self._overran[job.item.index, job.item.repeat] = worker
        job.finish(message.done)

    def _on_lost(self, event: WorkerLost) -> None:
        self._backlog.put_back(event.innocent)
        self.common.needs_teardown.extend(job.item.case for job in event.needs_teardown)
        if len(event.suspects) == 1:
            event.suspects[0].finish_broken(event.error, self.common.redactor)
        else:
            for job in event.suspects:
                self.suspected(job)

    def _retire(self, worker: Worker) -> None:
        """Give no more cases to a worker, and end it once it has none in hand."""
        if worker in self._active:
            self._active.remove(worker)
        if not (worker.in_hand or worker.closing or self._closed):
            if self.common.exact:
                worker.kill(TIMEOUT, "an earlier case overran")
            self._background.start(self._end(worker))

    async def _end(self, worker: Worker) -> None:
        await worker.close()
        self._all.discard(worker)
