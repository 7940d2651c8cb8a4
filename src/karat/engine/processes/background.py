"""Tasks that nobody waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine


class Background:
    """Runs them until they end or are stopped; `broke` hears what breaks in one."""

    def __init__(self, broke: Callable[[BaseException], None]) -> None:
        self._broke = broke
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def stop(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._broke(error)
