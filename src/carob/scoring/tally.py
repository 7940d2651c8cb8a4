"""From the records of a run to its summary: what the repeats of a case add up to, and all cases together.

With a guard: which calls it refused, which cases it broke by that, and which it saved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from msgspec import Struct

from carob.model.cost import COST, NOTHING_SPENT, ONE_RUN, Spent, count_spent
from carob.model.run import CaseRecord, GuardSummary, Header, Summary
from carob.model.sequential import SequentialTest
from carob.model.suite import Case
from carob.model.trace import Trace
from carob.model.verdict import NOTHING_SHORT, CaseStatus, Criteria, RuleMarks, Shortfall, Verdict
from carob.scoring.intervals import Estimate, Runs, group_clusters, pass_rate

GUARD: Final = "guard"
"""The key of a trace's metadata that says what was refused."""
MOST_RULES: Final = 50
MOST_CALLS: Final = 1_000
LONGEST: Final = 80
"""What a trace says may come from anywhere."""
StatusOf: TypeAlias = Callable[[int], CaseStatus]


class Refusals(Struct, frozen=True, array_like=True):
    """The calls that were refused in one run of a case: each as `TOOL by RULE`."""

    case: str
    calls: tuple[str, ...]


def read_refusals(case: str, trace: Trace) -> Refusals | None:
    """What a trace says that a guard refused; None if that is nothing."""
    about: Any = trace.metadata.get(GUARD)
    refused = about.get("refused") if isinstance(about, Mapping) else None
    if not isinstance(refused, list | tuple):
        return None
    listed = [one for one in refused[:MOST_CALLS] if isinstance(one, Mapping)]
    calls = [f"{str(one.get('tool'))[:LONGEST]} by {str(one.get('rule'))[:LONGEST]}" for one in listed]
    return Refusals(case, tuple(calls)) if calls else None


class GuardTally:
    """Counts what was refused, by case."""

    def __init__(self) -> None:
        self._rules: Counter[str] = Counter()
        self._cases: dict[int, str] = {}

    def add(self, index: int, refusals: Refusals) -> None:
        self._rules.update(refusals.calls)
        self._cases[index] = refusals.case

    def summary(self, status_of: StatusOf, baseline: Mapping[int, Runs] | None) -> GuardSummary | None:
        """None: nothing was refused. `baseline` is what cases came to without the guard, where that is known."""
        if not self._cases:
            return None
        compared = [index for index in self._cases if baseline is not None and index in baseline]
        passed_before = {index for index in compared if (baseline or {})[index][0] == (baseline or {})[index][1]}
        passes = {index for index in compared if status_of(index) is CaseStatus.PASS}
        return GuardSummary(
            calls=self._rules.total(),
            cases=len(self._cases),
            by_rule=dict(self._rules.most_common(MOST_RULES)),
            compared=len(compared),
            wrong=tuple(self._cases[index] for index in sorted(passed_before - passes)),
            saved=tuple(self._cases[index] for index in sorted(passes - passed_before)),
        )


DIGITS = 9
"""Rates such as 0.28 are not exact in binary: 7 of 25 must meet it. Scores have no more digits than this."""
UNIT = 10**DIGITS
_WORST_FIRST = (CaseStatus.FAIL, CaseStatus.PARTIAL, CaseStatus.XFAIL, CaseStatus.SKIP)
_LOST = (CaseStatus.FAIL, CaseStatus.ERROR)
_UNSCORED = (CaseStatus.ERROR, CaseStatus.XFAIL)
_UNCOUNTED = (CaseStatus.SKIP, CaseStatus.XFAIL)
"""What is in no pass rate."""
_RUNS: dict[bool, Runs] = {True: (1, 1), False: (0, 1)}


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


class Contribution(Struct, frozen=True, array_like=True, gc=False):
    """What one run of a case counts for in the summary of its run; `spent`: what it took."""

    status: CaseStatus
    soft: float | None = None
    min_pass_rate: float | None = None
    shortfall: Shortfall = NOTHING_SHORT
    cluster: str = ""
    spent: Spent = NOTHING_SPENT
    refusals: Refusals | None = None

    @classmethod
    def of(cls, case: Case, verdict: Verdict, spent: Spent, refusals: Refusals | None = None) -> Contribution:
        soft, short = verdict.soft.value, verdict.shortfall
        return cls(verdict.status, soft, case.min_pass_rate, short, case.cluster, spent, refusals)

    @classmethod
    def of_record(cls, record: CaseRecord) -> Contribution:
        trace = record.trace
        spent = count_spent(trace.tokens, trace.metadata.get(COST))
        refusals = read_refusals(record.case.id, trace) if GUARD in trace.metadata else None
        return cls.of(record.case, record.verdict, spent, refusals)


@dataclass(eq=False)
class Tally:
    """Counts records as they come, in any order.

    `confirm` of the runs are for cases that fell below their `baseline`; who only reads does not know it. `at_most`: no
    case needs more than one run.
    """

    repeat: int = 1
    until: SequentialTest | None = None
    confirm: int = 0
    baseline: Mapping[int, Runs] | None = None
    at_most: bool = False
    _counts: Counter[CaseStatus] = field(default_factory=Counter)
    _cases: dict[int, tuple[float | None, Counter[CaseStatus]]] = field(default_factory=dict)
    _failed_in: set[int] = field(default_factory=set)
    _unknown_in: set[int] = field(default_factory=set)
    _unjudged_in: set[int] = field(default_factory=set)
    _unjudged: int = 0
    _criteria: Criteria | None = None
    _rules: RuleMarks = field(default_factory=RuleMarks)
    _clusters: dict[str, Counter[Runs]] = field(default_factory=dict)
    _cluster_of: dict[int, str] = field(default_factory=dict)
    _spent: Spent = NOTHING_SPENT
    _silent: int = 0
    _guard: GuardTally = field(default_factory=GuardTally)
    _refused_as: dict[int, CaseStatus] = field(default_factory=dict)
    """How the cases with a refused call came out, where each is run once."""
    # Whole units, because a sum of floats depends on the order in which cases happen to finish.
    _soft_sum: int = 0
    _soft_count: int = 0

    def __post_init__(self) -> None:
        self._first = self.repeat - self.confirm
        self._fewest = 1 if self.at_most or self.until else self._first

    @classmethod
    def of(cls, header: Header) -> Tally:
        """A tally of the run that a journal begins with."""
        return cls(header.repeat, header.until, header.confirm, at_most=header.at_most is True)

    def add(self, index: int, outcome: Contribution) -> None:
        """Count one run of a case."""
        status, short = outcome.status, outcome.shortfall
        if status is not CaseStatus.SKIP:
            self._add_spent(outcome.spent)
        if short.failed:
            self._failed_in.add(index)
        if short.unknown:
            self._unknown_in.add(index)
        if short.unjudged:
            self._unjudged_in.add(index)
        self._unjudged += short.count
        if short.rules:
            self._rules.add(short.rules)
        if short.criteria is not None:
            self._criteria = short.criteria if self._criteria is None else self._criteria + short.criteria
        if outcome.refusals is not None:
            self._guard.add(index, outcome.refusals)
            self._refused_as[index] = status
        if self.repeat == 1:
            self._counts[status] += 1
            if outcome.cluster and status not in _UNCOUNTED:
                self._clusters.setdefault(outcome.cluster, Counter())[_RUNS[status is CaseStatus.PASS]] += 1
        else:
            _, counts = self._cases.setdefault(index, (outcome.min_pass_rate, Counter()))
            counts[status] += 1
            if outcome.cluster:
                self._cluster_of[index] = outcome.cluster
        if outcome.soft is not None and status not in _UNSCORED:
            self._soft_sum += round(outcome.soft * UNIT)
            self._soft_count += 1

    def _add_spent(self, spent: Spent) -> None:
        if spent == ONE_RUN:  # most agents report nothing, and counting that is all there is to do
            self._silent += 1
        else:
            self._spent += spent

    def add_record(self, record: CaseRecord) -> None:
        self.add(record.index, Contribution.of_record(record))

    def is_lost(self, index: int, status: CaseStatus) -> bool:
        """Whether the case, whose last run came out with this status, can come to no good end any more."""
        if self.repeat == 1:
            return status in (CaseStatus.FAIL, CaseStatus.ERROR)
        rate, counts = self._cases[index]
        if self.until is not None:
            return not self.is_open(index) and case_status(counts, rate, self.until) in _LOST
        return status is not CaseStatus.PASS and is_lost(counts, rate, self.repeat)

    def is_open(self, index: int) -> bool:
        """Whether another run of a case may still decide it."""
        rate, counts = self._cases.get(index, (None, Counter[CaseStatus]()))
        if self._first < self.repeat:
            return self._is_unconfirmed(index, counts)
        if self.until is None or counts[CaseStatus.ERROR] or counts[CaseStatus.SKIP]:
            return False
        return counts.total() < self.repeat and not self.until.side(counts[CaseStatus.PASS], counts.total(), rate)

    def _is_unconfirmed(self, index: int, counts: Counter[CaseStatus]) -> bool:
        """Whether a case lacks one of the runs that each has, or one of those that show whether it broke."""
        runs, passed = counts.total(), counts[CaseStatus.PASS]
        if runs != self._first or counts[CaseStatus.ERROR] or counts[CaseStatus.SKIP]:
            return runs < self._first or self._first < runs < self.repeat
        before, of = (self.baseline or {}).get(index, (0, 0))
        return passed * of < before * runs

    @property
    def lacking(self) -> int:
        """Cases that are not decided although they might be run again."""
        return sum(self.is_open(index) for index in self._cases)

    def summary(self) -> Summary:
        """What has been counted so far; a case of which repeats are missing counts by those that are there."""
        repeated = [counts for _, counts in self._cases.values()]
        complete = [counts for counts in repeated if counts.total() >= self._fewest]
        rated = [counts for counts in complete if any(status not in _UNCOUNTED for status in counts)]
        undecided = {index for index in self._cases if self._is_undecided(index)}
        counts, partly, clusters = self._counts, None, self._clusters
        if repeated:
            ends = {index: case_status(repeats, rate, self.until) for index, (rate, repeats) in self._cases.items()}
            counts, partly = Counter(ends.values()), {i for i, end in ends.items() if end is CaseStatus.PARTIAL}
            clusters = self._clusters_of(ends)
        number, rate = _rate(counts, clusters)
        return Summary(
            passed=counts[CaseStatus.PASS],
            failed=counts[CaseStatus.FAIL],
            partial=counts[CaseStatus.PARTIAL],
            partial_failed=len(self._failed_in if partly is None else self._failed_in & partly),
            partial_unknown=len(self._unknown_in if partly is None else (self._unknown_in | undecided) & partly),
            partial_unjudged=len(self._unjudged_in if partly is None else self._unjudged_in & partly),
            unjudged=self._unjudged,
            criteria=self._criteria,
            rules=len(self._rules.own | self._rules.shared),
            untested_rules=self._rules.untested,
            is_untested=bool(self._rules.own) and not any(self._rules.own.values()),
            error=counts[CaseStatus.ERROR],
            skipped=counts[CaseStatus.SKIP],
            xfailed=counts[CaseStatus.XFAIL],
            total=counts.total(),
            avg_soft_score=round(self._soft_sum / self._soft_count / UNIT, DIGITS) if self._soft_count else None,
            repeat=self.repeat,
            pass_all=sum(c[CaseStatus.PASS] == c.total() for c in rated) / len(rated) if rated else None,
            pass_any=sum(c[CaseStatus.PASS] > 0 for c in rated) / len(rated) if rated else None,
            flaky=sum(is_flaky(c) for c in repeated),
            runs=sum(c.total() for c in repeated),
            undecided=len(undecided),
            saved=sum(self.repeat - c.total() for c in repeated) if self.until else 0,
            fewest=min((c.total() for c in complete), default=0),
            most=max((c.total() for c in complete), default=0),
            clusters=number,
            rate_low=round(rate.low, DIGITS),
            rate_high=round(rate.high, DIGITS),
            rate_method=rate.method,
            spent=self._spent + Spent(runs=self._silent),
            guard=self._guard.summary(self._status_of, self.baseline),
        )

    def _status_of(self, index: int) -> CaseStatus:
        """How a case in which a guard refused a call came out."""
        if self.repeat == 1:
            return self._refused_as[index]
        rate, counts = self._cases[index]
        return case_status(counts, rate, self.until)

    def _clusters_of(self, ends: Mapping[int, CaseStatus]) -> dict[str, Counter[Runs]]:
        """How the cases of each cluster came out over their repeats."""
        clusters: dict[str, Counter[Runs]] = {}
        for index, cluster in self._cluster_of.items():
            if (end := ends[index]) not in _UNCOUNTED:
                clusters.setdefault(cluster, Counter())[_RUNS[end is CaseStatus.PASS]] += 1
        return clusters

    def _is_undecided(self, index: int) -> bool:
        rate, counts = self._cases[index]
        if self.until is None or counts[CaseStatus.ERROR] or counts[CaseStatus.SKIP]:
            return False
        return not self.until.side(counts[CaseStatus.PASS], counts.total(), rate)


def _rate(counts: Mapping[CaseStatus, int], clusters: Mapping[str, Counter[Runs]]) -> tuple[int, Estimate]:
    """How many clusters the cases are that count for the pass rate, and that rate."""
    passed = counts.get(CaseStatus.PASS, 0)
    judged = sum(count for status, count in counts.items() if status not in _UNCOUNTED)
    alone = Counter({(1, 1): passed, (0, 1): judged - passed})
    for cluster in clusters.values():
        alone.subtract(cluster)
    groups = group_clusters(+alone, clusters)
    return sum(groups.values()), pass_rate(groups)
