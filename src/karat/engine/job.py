"""One case that somebody waits for while it is carried out elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter

from karat.engine.plan import Item
from karat.engine.work import Done, broken
from karat.model.trace import TraceError
from karat.traces.redact import Redactor


class Job:
    """A case, who is told that it begins, and the future of those who wait for its end."""

    __slots__ = ("attempt", "begun", "begun_at", "future", "item", "losses")

    def __init__(self, item: Item, attempt: int, begun: Callable[[Item], None], future: asyncio.Future[Done]) -> None:
        self.item = item
        self.attempt = attempt
        self.begun = begun
        self.begun_at = perf_counter()
        self.future = future
        self.losses = 0

    def begin(self) -> None:
        self.begun_at = perf_counter()
        self.begun(self.item)

    def finish(self, done: Done) -> None:
        if not self.future.done():
            self.future.set_result(done)

    def finish_broken(self, error: TraceError, redactor: Redactor) -> None:
        """Finish it as an ERROR: it was lost with its process."""
        took = round((perf_counter() - self.begun_at) * 1000, 3)
        self.finish(broken(self.item, error, took, redactor))

    def fail(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)
