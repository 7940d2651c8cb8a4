"""Worker processes: an agent that blocks, leaks or crashes the interpreter takes down its own case and no other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec import structs

from karat.engine.handle import Job
from karat.engine.messages import Start
from karat.engine.plan import Item
from karat.engine.pool import Pool
from karat.engine.work import Done
from karat.targets.redact import Redactor

AHEAD = 32
"""How many quick cases are sent to a worker beyond those that it carries out at once."""
WATCH = 0.25


class Processes:
    """`workers` processes with several cases at once in each.

    When a process is lost with several cases in hand, each is run again, alone in a process, and there the guilty one
    is an ERROR. `exact`: no case is sent ahead, and none begins before the process of one that overran is gone.
    """

    def __init__(self, start: Start, redactor: Redactor, *, workers: int = 1, exact: bool = False) -> None:
        ahead = 0 if exact else AHEAD
        self.lanes = workers * (start.concurrency + ahead)
        alone = structs.replace(start, concurrency=1)
        self._pool = Pool(start, redactor, count=workers, ahead=ahead, exact=exact)
        self._alone = Pool(alone, redactor, count=workers, ahead=0, exact=exact)
        self._pool.suspects = self._alone.add
        self._watch: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._watch = asyncio.create_task(self._keep_watch())
        await self._pool.open()

    async def run(self, item: Item, attempt: int, begun: Callable[[Item], None]) -> Done:
        job = Job(item, attempt, begun, asyncio.get_running_loop().create_future())
        self._pool.add(job)
        return await job.future

    async def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        await asyncio.gather(self._pool.close(), self._alone.close())

    async def _keep_watch(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(WATCH)
            for pool in (self._pool, self._alone):
                pool.watch(loop.time())
