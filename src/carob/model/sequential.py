"""Whether a pass rate lies above or below a bound, looked at after every run: valid however often one looks.

Two bets are kept, each of which cannot win if its side is wrong: against "at most the bound", against "at least". Both
are spread over several rates that the case may truly have. By Ville's inequality a bet that cannot win reaches 20 times
its stake at most once in 20 cases, at whatever moment one looks.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal, TypeAlias

from msgspec import Struct

Side: TypeAlias = Literal["above", "below", ""]
RATES = 8
"""Rates that each bet is spread over: half of the stake on the extreme one, where clear cases are, the rest evenly."""


class SequentialTest(Struct, frozen=True, omit_defaults=True):
    """Repeat cases until they are decided at this rate (unless a case has its own) and confidence."""

    min_pass_rate: float = 0.8
    confidence: float = 0.95

    def bound_for(self, min_pass_rate: float | None) -> float:
        return self.min_pass_rate if min_pass_rate is None else min_pass_rate

    def side(self, passed: int, runs: int, min_pass_rate: float | None) -> Side:
        return decide_side(passed, runs, self.bound_for(min_pass_rate), self.confidence)


@lru_cache(maxsize=1 << 16)
def decide_side(passed: int, runs: int, bound: float, confidence: float) -> Side:
    """Return the side of the bound on which the rate lies with that confidence; None while undecided."""
    if bound >= 1:
        return "below" if passed < runs else ""
    enough = -math.log(1 - confidence)
    if _bet(passed, runs, bound, [bound + (1 - bound) * step / RATES for step in range(1, RATES + 1)]) >= enough:
        return "above"
    if _bet(passed, runs, bound, [bound * step / RATES for step in reversed(range(RATES))]) >= enough:
        return "below"
    return ""


def min_runs_to_prove(bound: float, confidence: float, most: int) -> int | None:
    """How many runs prove a rate over the bound if all of them pass; None if more than `most`."""
    return next((runs for runs in range(1, most + 1) if decide_side(runs, runs, bound, confidence) == "above"), None)


def _bet(passed: int, runs: int, bound: float, rates: list[float]) -> float:
    """The logarithm of what a bet has become whose last rate is the extreme one."""
    share = 0.5 / (len(rates) - 1)
    stakes = [share] * (len(rates) - 1) + [0.5]
    logs = [
        math.log(stake) + _log_gain(passed, rate, bound) + _log_gain(runs - passed, 1 - rate, 1 - bound)
        for stake, rate in zip(stakes, rates, strict=True)
    ]
    most = max(logs)
    return most + math.log(sum(math.exp(log - most) for log in logs)) if most > -math.inf else most


def _log_gain(times: int, rate: float, against: float) -> float:
    if not times:
        return 0.0
    return times * math.log(rate / against) if rate > 0 else -math.inf
