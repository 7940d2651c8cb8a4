"""Cases that overran, and may still be going on in their process."""

from __future__ import annotations

import asyncio

from karat.engine.plan import Item
from karat.engine.processes.worker import Worker


class Overruns:
    """Knows for each of them whether the process that it overran in is gone."""

    def __init__(self) -> None:
        self._gone: dict[Worker, asyncio.Event] = {}
        self._of: dict[tuple[int, int], asyncio.Event] = {}

    def note(self, item: Item, worker: Worker) -> None:
        self._of[item.index, item.repeat] = self._gone.setdefault(worker, asyncio.Event())

    def ended(self, worker: Worker) -> None:
        if gone := self._gone.pop(worker, None):
            gone.set()

    async def over(self, item: Item) -> None:
        """Wait until nothing of a case goes on any more."""
        if gone := self._of.pop((item.index, item.repeat), None):
            await gone.wait()
