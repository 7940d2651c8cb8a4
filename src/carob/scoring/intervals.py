"""How sure a pass rate is, by intervals that have a name in the books.

Cases of their own that were run once: Clopper-Pearson, which is exact. Repeats, and tables of variants of one case:
Korn-Graubard, which is Clopper-Pearson over an effective number of runs; the cluster is the unit, for the variants of
one thing and the repeats of a case go together.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

CONFIDENCE = 0.95
TINY = 1e-12
EXACT, CLUSTERED = "Clopper-Pearson", "Korn-Graubard"
"""The names of the methods."""

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
    """A figure and the interval that holds the true one, at the confidence that was asked for, with its method."""

    value: float
    low: float
    high: float
    method: str = ""


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
        return Estimate(math.nan, 0.0, 1.0, EXACT)
    totals: Counter[Total] = Counter()
    for cluster, count in clusters.items():
        totals[_total(cluster)] += count
    cases, runs = _sum_cases(totals), sum(total.runs * count for total, count in totals.items())
    mean = sum(total.rates * count for total, count in totals.items()) / cases
    if runs == totals.total():
        return Estimate(mean, *clopper_pearson(mean * runs, runs, confidence), EXACT)
    effective = effective_runs(totals, mean, confidence)
    return Estimate(mean, *clopper_pearson(mean * effective, effective, confidence), CLUSTERED)


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
    return Estimate(passed / total, *clopper_pearson(passed, total, confidence), EXACT)


def clopper_pearson(passed: float, total: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The exact interval of a rate; of no run it is everything."""
    if not total:
        return 0.0, 1.0
    tail, failed = (1 - confidence) / 2, total - passed
    low = _beta_quantile(tail, passed, failed + 1) if passed > TINY else 0.0
    high = _beta_quantile(1 - tail, passed + 1, failed) if failed > TINY else 1.0
    return low, high


def kish_number(sizes: Mapping[float, int]) -> float:
    """How many clusters of one size are worth as much as these (Kish): their number where all have that size.

    One that has nine tenths of all cases is worth little more than one, however many small ones there are.
    """
    total = sum(size * count for size, count in sizes.items())
    return total * total / sum(size * size * count for size, count in sizes.items())


def effective_runs(totals: Counter[Total], mean: float, confidence: float) -> float:
    """How many independent runs are worth as much (Korn and Graubard): at least the clusters, at most the runs.

    Clusters that came out as most do tell little of the spread: its degrees of freedom are counted by the others.
    """
    cases, runs = _sum_cases(totals), sum(total.runs * count for total, count in totals.items())
    clusters = _count_clusters(totals)
    # A large cluster pulls the mean to itself, so that it seems to differ less from it than it does.
    variance = sum(
        ((total.rates - total.cases * mean) / (cases - total.cases)) ** 2 * count
        for total, count in totals.items()
        if total.cases < cases
    ) * (1 - 1 / totals.total())
    usual = 1.0 if mean > 0.5 else 0.0
    others = sum(total.cases * count for total, count in totals.items() if total.rates != usual * total.cases)
    freedom = min(clusters - 1, clusters * others / cases)
    if freedom <= 0 or not TINY < mean < 1 - TINY:
        return clusters
    if variance <= TINY:
        return runs
    t_ratio = t_quantile(confidence, runs - 1) / t_quantile(confidence, max(freedom, 1))
    return min(max(mean * (1 - mean) / variance * t_ratio**2, clusters), runs)


def _count_clusters(totals: Counter[Total]) -> float:
    sizes: Counter[float] = Counter()
    for total, count in totals.items():
        sizes[total.cases] += count
    return kish_number(sizes)


@lru_cache(maxsize=4096)
def _beta_quantile(share: float, a: float, b: float) -> float:
    """Where the beta distribution has this share below."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _incomplete_beta(middle, a, b) < share else (low, middle)
    return (low + high) / 2


@lru_cache
def t_quantile(confidence: float, freedom: float) -> float:
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


def _t_within(bound: float, freedom: float) -> float:
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
