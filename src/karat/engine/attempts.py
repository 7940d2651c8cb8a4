"""One case on an open executor: within the rate, and again after an error. Listeners hear of it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

from msgspec import Struct

from karat.engine.events import CaseRetried, CaseStarted, Event, Listener, Notice
from karat.engine.executors import Executor, Limiter
from karat.engine.plan import Item
from karat.engine.retries import Retries, read_attempt, with_attempts
from karat.engine.work import CaseResult, skip_case
from karat.journal.redaction import Redactor
from karat.model.trace import Trace


class Policy(Struct, frozen=True):
    """What governs a run as a whole."""

    retries: Retries = Retries()
    per_minute: float | None = None
    max_concurrency: int | None = None
    max_failures: int | None = None
    run_timeout: float | None = None

    @property
    def exact(self) -> bool:
        """Whether it matters when each case begins, so that none may be sent ahead."""
        return any(limit is not None for limit in (self.per_minute, self.max_concurrency, self.max_failures))


class Attempts:
    """Runs items on an executor. `run` may be awaited as often at once as there are `slots`."""

    def __init__(
        self,
        executor: Executor,
        policy: Policy,
        redactor: Redactor,
        listeners: Sequence[Listener],
        chance: random.Random,
    ) -> None:
        self.executor = executor
        self.policy = policy
        self.redactor = redactor
        self._listeners = listeners
        self._chance = chance
        self._limiter = Limiter(None if executor.keeps_rate else policy.per_minute)

    @property
    def slots(self) -> int:
        """How many items can be run at once; known when the executor is open."""
        return min(self.executor.slots, self.policy.max_concurrency or self.executor.slots)

    async def run(self, item: Item) -> CaseResult:
        """Carry out one case, as often as errors and the policy ask for it."""
        if item.case.skip:
            return skip_case(item, self.redactor)
        attempts: list[Trace] = []
        while True:
            await self._limiter.turn()
            result = await self.executor.run(item, len(attempts), self._tell_started)
            for notice in result.notices:
                self.tell(Notice(notice))
            delay = self.policy.retries.delay(len(attempts), result, self._chance)
            if delay is None:
                return with_attempts(result, attempts)
            attempts.append(read_attempt(result))
            self.tell(CaseRetried(item, result.error, delay))
            await asyncio.sleep(delay)
            await self.executor.wait_until_stopped(item)

    async def wait_until_stopped(self, item: Item) -> None:
        """Wait until nothing of a case goes on any more, where limits ask for that."""
        if not item.case.skip:
            await self.executor.wait_until_stopped(item)

    def tell(self, event: Event) -> None:
        for listener in self._listeners:
            listener(event)

    def _tell_started(self, item: Item) -> None:
        self.tell(CaseStarted(item))
