"""Worker processes: an agent that blocks, leaks or crashes the interpreter takes down its own case and no other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec import structs

from karat.engine.executors import Job, Limiter
from karat.engine.plan import Item
from karat.engine.processes.messages import Start
from karat.engine.processes.pool import Common, Pool
from karat.engine.work import BUG, CaseResult
from karat.errors import KaratError
from karat.journal.redaction import Redactor
from karat.model.trace import TraceError

AHEAD = 32
"""How many quick cases are sent to a worker beyond those that it carries out at once."""
WATCH = 0.25


class ProcessExecutor:
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
        self._alone = Pool(
            alone, common, count=workers, ahead=0, suspected=self._rerun_alone, on_shortage=self._not_alone
        )
        self._pool = Pool(
            start, common, count=workers, ahead=ahead, suspected=self._rerun_alone, on_shortage=self._make_do
        )
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

    def _rerun_alone(self, job: Job) -> None:
        """Find out by itself whether a case is to blame."""
        self._alone.add(job)

    def _make_do(self, error: KaratError) -> None:
        """Go on with fewer workers, if there are any."""
        if self._pool.works:
            self._say(error)
        elif not self._pool.busy:
            self._pool.give_up(error)

    def _not_alone(self, error: KaratError) -> None:
        """Continue with the processes that are there: no other one can be had."""
        if self._alone.works:
            self._say(error)
        elif self._alone.busy:
            return
        elif self._pool.works:
            self._alone.blame(TraceError(BUG, f"the case could not be run again, alone, after a crash: {error}"))
        else:
            self._alone.give_up(error)

    def _say(self, error: KaratError) -> None:
        if not self._said:
            self._said = True
            self._tell(f"not all workers could be started; continuing with fewer: {error}")

    async def _keep_watch(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(WATCH)
            for pool in (self._pool, self._alone):
                pool.watch(loop.time())
