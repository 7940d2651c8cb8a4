"""One case on an open executor: within the rate, and again after an error, never after a verdict."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from msgspec import Struct, structs

from carob.engine.events import CaseRetried, CaseStarted, Event, Listener, Notice
from carob.engine.executors import Executor, Limiter
from carob.engine.work import CaseResult, skip_case
from carob.model.run import CaseRecord, Item
from carob.model.trace import Trace
from carob.model.verdict import CaseStatus
from carob.redaction.redactor import Redactor
from carob.targets.base import DENIED

LONGEST = 300.0
"""Longest wait before a retry, in seconds (before jitter). Do not retry if the agent asks for more."""

_record = msgspec.json.Decoder(CaseRecord).decode
_encode = msgspec.json.Encoder().encode


class Retries(Struct, frozen=True):
    """How often to try again, and how long to wait before the first time."""

    most: int = 0
    backoff: float = 1.0

    def delay(self, attempt: int, result: CaseResult, chance: random.Random) -> float | None:
        """Seconds until the next attempt, or None if there is none. What the agent asks to wait is the least."""
        requested = result.retry_after or 0.0
        if result.status is not CaseStatus.ERROR or result.error in ("", DENIED):
            return None
        if attempt >= self.most or requested > LONGEST:
            return None
        wait: float = min(self.backoff * 2.0 ** min(attempt, 32), LONGEST) * chance.uniform(0.5, 1.5)
        return max(wait, requested)


def read_attempt(result: CaseResult) -> Trace:
    return _record(result.line).trace


def with_attempts(result: CaseResult, attempts: list[Trace]) -> CaseResult:
    """The record with the traces of the attempts before it."""
    if not attempts:
        return result
    record = structs.replace(_record(result.line), attempts=tuple(attempts))
    return structs.replace(result, line=msgspec.Raw(_encode(record)))


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


@dataclass(eq=False)
class Attempts:
    """Runs items on an executor. `run` may be awaited as often at once as there are `slots`."""

    executor: Executor
    policy: Policy
    redactor: Redactor
    listeners: Sequence[Listener]
    chance: random.Random

    def __post_init__(self) -> None:
        self._limiter = Limiter(None if self.executor.keeps_rate else self.policy.per_minute)

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
            result = await self.executor.run(item, len(attempts), lambda item: self.tell(CaseStarted(item)))
            for notice in result.notices:
                self.tell(Notice(notice))
            delay = self.policy.retries.delay(len(attempts), result, self.chance)
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
        for listener in self.listeners:
            listener(event)
