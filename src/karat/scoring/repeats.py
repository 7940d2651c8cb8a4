"""What several runs of one case add up to."""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec import Struct

from karat.model.sequential import SequentialTest
from karat.model.verdict import CaseStatus

Z95 = 1.959963984540054
DIGITS = 9
"""Rates such as 0.28 are not exact in binary: 7 of 25 must meet it. Scores have no more digits than this."""
_WORST_FIRST = (CaseStatus.FAIL, CaseStatus.PARTIAL, CaseStatus.XFAIL, CaseStatus.SKIP)


class Interval(Struct, frozen=True):
    """A 95% confidence interval."""

    low: float
    high: float


def wilson(passed: int, total: int, z: float = Z95) -> Interval:
    """The Wilson score interval of a rate: honest for few runs and at both ends."""
    if total == 0:
        return Interval(0.0, 1.0)
    rate = passed / total
    spread = z * z / total
    middle = rate + spread / 2
    margin = z * math.sqrt(rate * (1 - rate) / total + spread / (4 * total))
    low = 0.0 if passed == 0 else (middle - margin) / (1 + spread)
    high = 1.0 if passed == total else (middle + margin) / (1 + spread)
    return Interval(max(0.0, low), min(1.0, high))


def case_status(
    counts: Mapping[CaseStatus, int], min_pass_rate: float | None, until: SequentialTest | None = None
) -> CaseStatus:
    """The status of a case over its repeats. An error is never outvoted; by default every repeat must pass.

    With `until`, its pass rate must be known to lie over what it is held to: while that is open, it is PARTIAL.
    """
    total = sum(counts.values())
    if counts.get(CaseStatus.ERROR):
        return CaseStatus.ERROR
    if until is not None and not counts.get(CaseStatus.SKIP):
        side = until.side(counts.get(CaseStatus.PASS, 0), total, min_pass_rate)
        if side != "below":
            return CaseStatus.PASS if side else CaseStatus.PARTIAL
    elif total and counts.get(CaseStatus.PASS, 0) >= _min_passes(total, min_pass_rate):
        return CaseStatus.PASS
    return next((status for status in _WORST_FIRST if counts.get(status)), CaseStatus.PARTIAL)


def is_lost(counts: Mapping[CaseStatus, int], min_pass_rate: float | None, repeat: int) -> bool:
    """Whether a case is FAIL or ERROR whatever becomes of those of its `repeat` runs that are still to come."""
    if counts.get(CaseStatus.ERROR):
        return True
    not_passed = sum(counts.values()) - counts.get(CaseStatus.PASS, 0)
    return bool(counts.get(CaseStatus.FAIL)) and repeat - not_passed < _min_passes(repeat, min_pass_rate)


def _min_passes(total: int, min_pass_rate: float | None) -> float:
    return total if min_pass_rate is None else max(round(min_pass_rate * total, DIGITS), 1)


def is_flaky(counts: Mapping[CaseStatus, int]) -> bool:
    """Whether a case both passed and failed."""
    return bool(counts.get(CaseStatus.PASS)) and bool(counts.get(CaseStatus.FAIL))
