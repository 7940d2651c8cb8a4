"""From the records of a run to its summary: what several runs of one case add up to, and all cases together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from msgspec import Struct

from karat.model.run import CaseRecord, Header, Summary
from karat.model.sequential import Sequential
from karat.model.verdict import NOTHING_SHORT, CaseStatus, Shortfall

Z95 = 1.959963984540054
DIGITS = 9
"""Rates such as 0.28 are not exact in binary: 7 of 25 must meet it. Scores have no more digits than this."""
UNIT = 10**DIGITS


_LOST = (CaseStatus.FAIL, CaseStatus.ERROR)
_WORST_FIRST = (CaseStatus.FAIL, CaseStatus.PARTIAL, CaseStatus.XFAIL, CaseStatus.SKIP)
_UNSCORED = (CaseStatus.ERROR, CaseStatus.XFAIL)


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
    counts: Mapping[CaseStatus, int], min_pass_rate: float | None, until: Sequential | None = None
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
    elif total and counts.get(CaseStatus.PASS, 0) >= _needed(total, min_pass_rate):
        return CaseStatus.PASS
    return next((status for status in _WORST_FIRST if counts.get(status)), CaseStatus.PARTIAL)


def is_lost(counts: Mapping[CaseStatus, int], min_pass_rate: float | None, repeat: int) -> bool:
    """Whether a case is FAIL or ERROR whatever becomes of those of its `repeat` runs that are still to come."""
    if counts.get(CaseStatus.ERROR):
        return True
    not_passed = sum(counts.values()) - counts.get(CaseStatus.PASS, 0)
    return bool(counts.get(CaseStatus.FAIL)) and repeat - not_passed < _needed(repeat, min_pass_rate)


def _needed(total: int, min_pass_rate: float | None) -> float:
    return total if min_pass_rate is None else max(round(min_pass_rate * total, DIGITS), 1)


def is_flaky(counts: Mapping[CaseStatus, int]) -> bool:
    """Whether a case both passed and failed."""
    return bool(counts.get(CaseStatus.PASS)) and bool(counts.get(CaseStatus.FAIL))


class Tally:
    """Counts records as they come, in any order."""

    def __init__(self, repeat: int = 1, until: Sequential | None = None, *, at_most: bool = False) -> None:
        self._repeat = repeat
        self._until = until
        self._at_most = at_most
        self._counts: Counter[CaseStatus] = Counter()
        self._cases: dict[int, tuple[float | None, Counter[CaseStatus]]] = {}
        self._failed_in: set[int] = set()
        self._unknown_in: set[int] = set()
        # Whole units, because a sum of floats depends on the order in which cases happen to finish.
        self._soft_sum = 0
        self._soft_count = 0

    @classmethod
    def of(cls, header: Header) -> Tally:
        """A tally of the run that a journal begins with."""
        return cls(header.repeat, header.until, at_most=header.at_most is True)

    def add(
        self,
        index: int,
        status: CaseStatus,
        soft: float | None,
        min_pass_rate: float | None,
        shortfall: Shortfall = NOTHING_SHORT,
    ) -> None:
        if shortfall.failed:
            self._failed_in.add(index)
        if shortfall.unknown:
            self._unknown_in.add(index)
        if self._repeat == 1:
            self._counts[status] += 1
        else:
            _, counts = self._cases.setdefault(index, (min_pass_rate, Counter()))
            counts[status] += 1
        if soft is not None and status not in _UNSCORED:
            self._soft_sum += round(soft * UNIT)
            self._soft_count += 1

    def add_record(self, record: CaseRecord) -> None:
        verdict = record.verdict
        self.add(record.index, verdict.status, verdict.soft.value, record.case.min_pass_rate, verdict.shortfall)

    def is_lost(self, index: int, status: CaseStatus) -> bool:
        """Whether the case, whose last run came out with this status, can come to no good end any more."""
        if self._repeat == 1:
            return status in (CaseStatus.FAIL, CaseStatus.ERROR)
        rate, counts = self._cases[index]
        if self._until is not None:
            return not self.is_open(index) and case_status(counts, rate, self._until) in _LOST
        return status is not CaseStatus.PASS and is_lost(counts, rate, self._repeat)

    def is_open(self, index: int) -> bool:
        """Whether another run of a case may still decide it."""
        rate, counts = self._cases.get(index, (None, Counter[CaseStatus]()))
        if self._until is None or counts[CaseStatus.ERROR] or counts[CaseStatus.SKIP]:
            return False
        return counts.total() < self._repeat and not self._until.side(counts[CaseStatus.PASS], counts.total(), rate)

    @property
    def lacking(self) -> int:
        """Cases that are not decided although they might be run again."""
        return sum(self.is_open(index) for index in self._cases)

    def summary(
        self, *, incomplete: str = "", interrupted: bool = False, broken: bool = False, misconfigured: bool = False
    ) -> Summary:
        """What has been counted so far; a case of which repeats are missing counts by those that are there."""
        seen = [counts for _, counts in self._cases.values()]
        whole = [counts for counts in seen if self._until or self._at_most or counts.total() >= self._repeat]
        undecided = {index for index in self._cases if self._is_undecided(index)}
        counts, partly = self._counts, None
        if seen:
            ends = {index: case_status(repeats, rate, self._until) for index, (rate, repeats) in self._cases.items()}
            counts, partly = Counter(ends.values()), {i for i, end in ends.items() if end is CaseStatus.PARTIAL}
        return Summary(
            passed=counts[CaseStatus.PASS],
            failed=counts[CaseStatus.FAIL],
            partial=counts[CaseStatus.PARTIAL],
            partial_failed=len(self._failed_in if partly is None else self._failed_in & partly),
            partial_unknown=len(self._unknown_in if partly is None else (self._unknown_in | undecided) & partly),
            error=counts[CaseStatus.ERROR],
            skipped=counts[CaseStatus.SKIP],
            xfailed=counts[CaseStatus.XFAIL],
            total=counts.total(),
            avg_soft_score=round(self._soft_sum / self._soft_count / UNIT, DIGITS) if self._soft_count else None,
            incomplete=incomplete,
            interrupted=interrupted,
            broken=broken,
            misconfigured=misconfigured,
            repeat=self._repeat,
            pass_all=sum(c[CaseStatus.PASS] == c.total() for c in whole) / len(whole) if whole else None,
            pass_any=sum(c[CaseStatus.PASS] > 0 for c in whole) / len(whole) if whole else None,
            flaky=sum(is_flaky(c) for c in seen),
            runs=sum(c.total() for c in seen),
            undecided=len(undecided),
            saved=sum(self._repeat - c.total() for c in seen) if self._until else 0,
        )

    def _is_undecided(self, index: int) -> bool:
        rate, counts = self._cases[index]
        if self._until is None or counts[CaseStatus.ERROR] or counts[CaseStatus.SKIP]:
            return False
        return not self._until.side(counts[CaseStatus.PASS], counts.total(), rate)
