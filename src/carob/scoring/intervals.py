"""How sure a pass rate is. The cluster is the unit: cases that are variants of one thing, and the repeats of a case.

Small samples and rates near 1 are where the usual intervals are wrong, so rates have Wilson intervals with continuity
correction over an effective number of runs. They hold their confidence for cases that are alike as well as for clusters
that pass or fail as one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

CONFIDENCE = 0.95
Z95 = 1.959963984540054
PULL = 0.8
"""Two made-up clusters, one always good and one always bad, keep a few clean ones from looking surer than they are.
Each has as many cases as a cluster has on average, to this power: 1 would hide a small drop, 0.5 covers too little."""

Kind = TypeVar("Kind")
Runs: TypeAlias = tuple[int, int]
"""Of one case: runs that passed, runs that were judged."""
Cluster: TypeAlias = tuple[tuple[Kind, int], ...]
"""What the cases of one cluster came to, and how many of them came to each."""
Clusters: TypeAlias = Mapping[Cluster[Kind], int]
"""How many clusters came out alike."""


class Interval(Struct, frozen=True):
    """A confidence interval, of 95% unless another confidence was asked for."""

    low: float
    high: float


class Estimate(NamedTuple):
    """A figure and the interval that holds the true one, at the confidence that was asked for."""

    value: float
    low: float
    high: float


class Total(NamedTuple):
    """What a cluster adds up to: its cases, the sum of their rates, and their judged runs."""

    cases: int
    rates: float
    runs: int


def single_clusters(cases: Mapping[Kind, int]) -> dict[Cluster[Kind], int]:
    """Cases that have nothing in common: each is a cluster of its own."""
    return {((kind, 1),): count for kind, count in cases.items()}


def group_clusters(cases: Mapping[Kind, int], clusters: Mapping[str, Mapping[Kind, int]]) -> dict[Cluster[Kind], int]:
    """Cases that are alone, and cases by the name of their cluster."""
    counts = Counter(tuple(sorted(cluster.items(), key=repr)) for cluster in clusters.values())
    return Counter(single_clusters(cases)) + counts


def pass_rate(clusters: Clusters[Runs], confidence: float = CONFIDENCE) -> Estimate:
    """The mean over cases of how often each passes."""
    if not clusters:
        return Estimate(math.nan, 0.0, 1.0)
    totals: Counter[Total] = Counter()
    for cluster, count in clusters.items():
        totals[_total(cluster)] += count
    mean = sum(total.rates * count for total, count in totals.items()) / _sum_cases(totals)
    bounds = wilson_corrected(mean, effective_runs(totals), t_quantile(confidence, _freedom(totals)))
    return Estimate(mean, bounds.low, bounds.high)


def _total(cluster: Cluster[Runs]) -> Total:
    cases = runs = 0
    rates = 0.0
    for (passed, judged), count in cluster:
        cases += count
        runs += judged * count
        rates += passed / judged * count
    return Total(cases, rates, runs)


def _sum_cases(totals: Mapping[Total, int]) -> int:
    return sum(total.cases * count for total, count in totals.items())


def share(passed: int, total: int, confidence: float = CONFIDENCE) -> Estimate:
    """The rate of so many runs of one case, at least one, which differ by chance alone."""
    bounds = wilson_corrected(passed / total, total, t_quantile(confidence, 0))
    return Estimate(passed / total, bounds.low, bounds.high)


def kish_number(sizes: Mapping[float, int]) -> float:
    """How many clusters of one size are worth as much as these (Kish): their number where all have that size.

    One that has nine tenths of all cases is worth little more than one, however many small ones there are.
    """
    total = sum(size * count for size, count in sizes.items())
    return total * total / sum(size * size * count for size, count in sizes.items())


def pseudo_size(clusters: float, cases: int) -> float:
    """How many cases each of the made-up clusters has."""
    return float((cases / clusters) ** PULL)


def effective_runs(totals: Counter[Total]) -> float:
    """How many independent runs are worth as much: from Kish's number of clusters, if they differ, to that of runs."""
    clusters, cases = _count_clusters(totals), _sum_cases(totals)
    size = pseudo_size(clusters, cases)
    total_size = cases + 2 * size
    mean = (sum(total.rates * count for total, count in totals.items()) + size) / total_size
    usual = 1 - cases / totals.total() / total_size
    # A large cluster pulls the mean to itself, so that it seems to differ less from it than it does.
    squares = sum(
        ((total.rates - total.cases * mean) * usual / (1 - total.cases / total_size)) ** 2 * count
        for total, count in totals.items()
    )
    squares += size * size * (mean * mean + (1 - mean) ** 2)
    variance = squares / total_size**2 * (clusters + 2) / (clusters + 1)
    runs = sum(total.runs * count for total, count in totals.items())
    return min(max(mean * (1 - mean) / variance, clusters), runs)


def _count_clusters(totals: Counter[Total]) -> float:
    sizes: Counter[float] = Counter()
    for total, count in totals.items():
        sizes[total.cases] += count
    return kish_number(sizes)


def _freedom(totals: Counter[Total]) -> int:
    """Degrees of freedom of the spread: one less than the clusters; less where a few of them have most of the cases."""
    return min(totals.total() - 1, round(_count_clusters(totals)) + 2)


def wilson(passed: int, total: int, z: float = Z95) -> Interval:
    """The Wilson score interval of a rate: honest for few runs and at both ends."""
    return _wilson(passed / total, total, z, shift=0.0) if total else Interval(0.0, 1.0)


def wilson_corrected(rate: float, runs: float, z: float) -> Interval:
    """Wilson's interval with continuity correction."""
    return _wilson(rate, runs, z, shift=1 / (2 * runs))


def _wilson(rate: float, runs: float, z: float, shift: float) -> Interval:
    def bound(sign: int) -> float:
        shifted = min(max(rate + sign * shift, 0.0), 1.0)
        spread = z * z / runs
        margin = z * math.sqrt(shifted * (1 - shifted) / runs + spread / (4 * runs))
        return (shifted + spread / 2 + sign * margin) / (1 + spread)

    return Interval(0.0 if rate <= 0 else max(0.0, bound(-1)), 1.0 if rate >= 1 else min(1.0, bound(1)))


@lru_cache
def t_quantile(confidence: float, freedom: int) -> float:
    """How many standard errors wide an interval is where the spread itself is estimated; 1 cluster has no spread."""
    low, high = 0.0, 10.0
    while _t_within(high, freedom) < confidence:
        low, high = high, high * 4
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if _t_within(middle, freedom) < confidence else (low, middle)
    return high


def _t_within(bound: float, freedom: int) -> float:
    """How likely Student's t stays within this bound; without a degree of freedom, a normal deviate."""
    if freedom < 1:
        return math.erf(bound / math.sqrt(2))
    return 1.0 - _incomplete_beta(freedom / (freedom + bound * bound), freedom / 2, 0.5)


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by its continued fraction."""
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _incomplete_beta(1 - x, b, a)
    if x <= 0:
        return 0.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, 10_000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + term * d)
            c = 1 + term / c
            fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * fraction / a
