"""Several workers with one queue in front of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from karat.engine.job import Job
from karat.engine.limiter import Limiter
from karat.engine.plan import Item
from karat.engine.processes.background import Background
from karat.engine.processes.backlog import Backlog
from karat.engine.processes.crew import Crew
from karat.engine.processes.messages import Start
from karat.engine.processes.overruns import Overruns
from karat.engine.processes.worker import CaseEnded, CaseReturned, Worker, WorkerEvent, WorkerLost
from karat.engine.work import TIMEOUT
from karat.errors import KaratError
from karat.model.suite import Case
from karat.model.trace import TraceError
from karat.traces.redact import Redactor


class Common(NamedTuple):
    """What the pools of a run share. `exact`: where a case overran, the next one waits until its process is gone."""

    redactor: Redactor
    limiter: Limiter
    exact: bool
    untidy: list[Case]
    """Cases that were lost with their process, and are not torn down yet."""


class Pool:
    """Hands out cases to up to `count` workers.

    Of a worker that is lost while it carries out one case, that case is to blame. With several, nobody knows which one
    is: `suspected` gets each, to have it run alone. What was only sent ahead goes back to the queue. Whatever begins,
    and begins again, waits for the common limiter. `short` hears why there are fewer workers, if it comes to that.
    """

    def __init__(
        self,
        start: Start,
        common: Common,
        *,
        count: int,
        ahead: int,
        suspected: Callable[[Job], None],
        short: Callable[[KaratError], None],
    ) -> None:
        self._common = common
        self._suspected = suspected
        self._grace = start.settings.grace
        self._tears_down = bool(start.target.teardown)
        self._backlog = Backlog()
        self._crew = Crew(start, count, ahead, self._heard, short)
        self._overruns = Overruns()
        self._background = Background(self.give_up)
        self._later: asyncio.TimerHandle | None = None
        self._closed = False

    async def open(self) -> None:
        await self._crew.open()

    def add(self, job: Job) -> None:
        self._backlog.add(job)
        self._dispatch()

    async def cleared(self, item: Item) -> None:
        """Wait until the process of a case that overran is gone: it may still be going on there."""
        await self._overruns.over(item)

    def watch(self, now: float) -> None:
        self._crew.watch(now)

    async def close(self) -> None:
        self._closed = True
        if self._later is not None:
            self._later.cancel()
        await self._background.stop()
        await self._crew.close(self._grace)

    @property
    def works(self) -> bool:
        """Whether a worker is there that takes cases."""
        return self._crew.active > 0

    @property
    def busy(self) -> bool:
        """Whether a worker has cases in hand, be it about to end."""
        return self._crew.busy

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
            worker = self._crew.roomiest()
            if worker is None or worker.in_hand:
                self._grow()
            if worker is None or worker.room <= 0:
                return
            if wait := self._common.limiter.wait():
                self._dispatch_in(wait)
                return
            worker.give(self._backlog.pop(), self._owed())

    def _owed(self) -> tuple[Case, ...]:
        """The cases that are still to be torn down, each told of once."""
        owed = tuple(self._common.untidy) if self._tears_down else ()
        self._common.untidy.clear()
        return owed

    def _dispatch_in(self, seconds: float) -> None:
        if self._later is not None:
            self._later.cancel()
        self._later = asyncio.get_running_loop().call_later(seconds, self._dispatch)

    def _grow(self) -> None:
        if not (self._crew.complete or self._closed):
            self._crew.reserve()
            self._background.start(self._one_more())

    async def _one_more(self) -> None:
        await self._crew.one_more()
        self._dispatch()

    def _heard(self, worker: Worker, event: WorkerEvent) -> None:
        if isinstance(event, CaseEnded):
            self._ended(worker, event)
        elif isinstance(event, CaseReturned):
            self._suspected(event.job) if event.alone else self._backlog.put_back([event.job])
        else:
            self._lost(event)
        if worker.retired and self._crew.retire(worker) and not self._closed:
            self._background.start(self._end(worker))
        self._dispatch()

    def _ended(self, worker: Worker, event: CaseEnded) -> None:
        if event.untidy:
            self._common.untidy.append(event.job.item.case)
        if event.done.error == TIMEOUT and self._common.exact:
            self._overruns.note(event.job.item, worker)
        event.job.finish(event.done)

    def _lost(self, event: WorkerLost) -> None:
        suspects, innocent, untidy = event.blame
        self._backlog.put_back(innocent)
        self._common.untidy.extend(job.item.case for job in untidy)
        if len(suspects) == 1:
            suspects[0].finish_broken(event.error, self._common.redactor)
        else:
            for job in suspects:
                self._suspected(job)

    async def _end(self, worker: Worker) -> None:
        if self._common.exact:
            worker.kill(TIMEOUT, "an earlier case overran")
        await self._crew.end(worker)
        self._overruns.ended(worker)
