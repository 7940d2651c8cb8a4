"""Several runs of one case as one: how many passed, how sure that is, and which runs did not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from karat.model.run import CaseRecord
from karat.model.verdict import CaseStatus
from karat.scoring.intervals import share
from karat.scoring.repeats import Interval, case_status, is_flaky
from karat.text.wording import pluralize


class Repeated(NamedTuple):
    """What the runs of one case add up to. `shown` represents the case: its first run with the case's status."""

    status: CaseStatus
    shown: CaseRecord
    runs: int
    passed: int
    interval: Interval
    flaky: bool
    errors: int
    """How many attempts ended in an error and were made again."""
    not_passed: list[CaseRecord]

    @property
    def figures(self) -> dict[str, str]:
        """How the runs came out, by name."""
        low, high = self.interval.low, self.interval.high
        return {
            "runs": str(self.runs),
            "passed": str(self.passed),
            "rate": f"{self.passed / self.runs:.4f}",
            "low": f"{low:.4f}",
            "high": f"{high:.4f}",
            "flaky": str(self.flaky).lower(),
        }

    def __str__(self) -> str:
        low, high = self.interval.low, self.interval.high
        label = ", FLAKY" if self.flaky else ""
        label += f", {pluralize(self.errors, 'error')} retried" if self.errors else ""
        if self.runs == 1:
            return f"1 run{label}"
        return f"{self.passed} of {self.runs} passed (95% interval {low:.2f} to {high:.2f}){label}"


def sum_repeats(records: Sequence[CaseRecord]) -> Repeated:
    """Add up the runs of one case."""
    counts = Counter(record.verdict.status for record in records)
    status = case_status(counts, records[0].case.min_pass_rate, records[0].until)
    shown = next((record for record in records if record.verdict.status is status), records[0])
    passed = counts[CaseStatus.PASS]
    not_passed = [record for record in records if record.verdict.status is not CaseStatus.PASS]
    rate = share(passed, len(records))
    errors = sum(len(record.attempts) for record in records)
    interval = Interval(rate.low, rate.high)
    return Repeated(status, shown, len(records), passed, interval, is_flaky(counts), errors, not_passed)


def by_case(records: Iterable[CaseRecord]) -> Iterator[list[CaseRecord]]:
    """The runs of each case together, of records in suite order."""
    for _, runs in groupby(records, key=lambda record: record.index):
        yield list(runs)


def run_name(record: CaseRecord) -> str:
    """The case's id and the number of the run, counted from 1."""
    return f"{record.case.id} #{record.repeat + 1}"


class Together:
    """Takes records in suite order, one by one, and hands on those of each case together."""

    def __init__(self, hand_on: Callable[[list[CaseRecord]], None]) -> None:
        self._hand_on = hand_on
        self._runs: list[CaseRecord] = []

    def add(self, record: CaseRecord) -> None:
        if self._runs and self._runs[0].index != record.index:
            self.end()
        self._runs.append(record)

    def end(self) -> None:
        if self._runs:
            self._hand_on(self._runs)
            self._runs = []
