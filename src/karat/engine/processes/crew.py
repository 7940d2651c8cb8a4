"""The workers of a pool: opened as they are needed, ended when they take no more cases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from karat.engine.processes.messages import Start
from karat.engine.processes.worker import END_LIMIT, Worker, WorkerEvent
from karat.errors import KaratError

OPEN_ATTEMPTS = 3
BACKOFF = 0.5
LONGEST = 5.0


class Crew:
    """Up to `size` workers. `heard` gets what they tell; `short` hears why there are fewer, if it comes to that."""

    def __init__(
        self,
        start: Start,
        size: int,
        ahead: int,
        heard: Callable[[Worker, WorkerEvent], None],
        short: Callable[[KaratError], None],
    ) -> None:
        self._start = start
        self._size = size
        self._ahead = ahead
        self._heard = heard
        self._short = short
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
        return max(self._active, key=_room, default=None)

    async def open(self) -> None:
        """Open the first: a target that cannot be opened is found out before any case is run."""
        self._active.append(await self._opened())

    def reserve(self) -> None:
        """Count one more as being opened; `one_more` is to follow."""
        self._opening += 1

    async def one_more(self) -> None:
        try:
            worker = await self._opened()
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
        self._short(error)

    async def _opened(self) -> Worker:
        worker = Worker(self._start, self._ahead, self._heard)
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
