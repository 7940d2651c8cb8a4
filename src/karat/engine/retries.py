"""Trying again after an error: bounded, with backoff and jitter, never after a verdict."""

from __future__ import annotations

import random

import msgspec
from msgspec import Struct, structs

from karat.engine.work import CaseResult
from karat.model.run import CaseRecord
from karat.model.trace import Trace
from karat.model.verdict import CaseStatus
from karat.targets.base import DENIED

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
