"""Whether two runs differ, and how sure that is. The unit is the cluster: variants of one case, repeats of a case.

Differences are put together from the intervals of both rates, and tested by swapping the runs of whole clusters: noise
that all variants of a case share would otherwise be taken for many independent changes.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TypeAlias

from carob.scoring.intervals import (
    Cluster,
    Clusters,
    Estimate,
    Interval,
    Runs,
    kish_number,
    pass_rate,
    t_quantile,
)

MOVER = "MOVER"
"""The name of how the intervals of two rates are put together (Zou and Donner's variance estimates recovery)."""
DRAWS = 2_000
EXACT = 2_000_000
"""Additions up to which a permutation test is exact; over it, as many signs as `SHUFFLES` are drawn."""
SHUFFLES = 10_000
KINDS = 300
"""Kinds of clusters up to which they are drawn again; over it, there are enough for their spread to be normal."""

Pair: TypeAlias = tuple[Runs, Runs]
"""What one case came to in both runs, the base first."""
Pairs: TypeAlias = Clusters[Pair]


def difference(pairs: Pairs, confidence: float) -> Estimate:
    """How much the pass rate rose, by case: never narrower than what resampling the clusters gives.

    Resampling alone would be sure of no change wherever none happened to be seen.
    """
    if not pairs:
        return Estimate(math.nan, -1.0, 1.0, MOVER)
    scored, drawn = score_difference(pairs, confidence), resample(pairs, confidence)
    return scored._replace(low=min(scored.low, drawn.low), high=max(scored.high, drawn.high))


def score_difference(pairs: Pairs, confidence: float) -> Estimate:
    """The intervals of both rates, put together with the correlation between them."""
    base, new = (pass_rate(side, confidence) for side in marginals(pairs))
    shared = correlation(pairs, confidence)
    value = new.value - base.value
    below = _join_widths(new.value - new.low, base.high - base.value, shared)
    above = _join_widths(new.high - new.value, base.value - base.low, shared)
    return Estimate(value, max(-1.0, value - below), min(1.0, value + above), MOVER)


def independent_difference(base: Clusters[Runs], new: Clusters[Runs], confidence: float) -> Estimate:
    """How much a rate rose between two sets of clusters that have none in common, from the intervals of both rates."""
    before, after = pass_rate(base, confidence), pass_rate(new, confidence)
    value = after.value - before.value
    below = _join_widths(after.value - after.low, before.high - before.value, 0.0)
    above = _join_widths(after.high - after.value, before.value - before.low, 0.0)
    return Estimate(value, max(-1.0, value - below), min(1.0, value + above), MOVER)


def marginals(pairs: Pairs) -> tuple[Counter[Cluster[Runs]], Counter[Cluster[Runs]]]:
    """How the clusters came out in each run alone."""
    base: Counter[Cluster[Runs]] = Counter()
    new: Counter[Cluster[Runs]] = Counter()
    for cluster, count in pairs.items():
        base[tuple((before, cases) for (before, _), cases in cluster)] += count
        new[tuple((after, cases) for (_, after), cases in cluster)] += count
    return base, new


def count_cases(pairs: Clusters[Pair]) -> int:
    return sum(cases * count for cluster, count in pairs.items() for _, cases in cluster)


def correlation(pairs: Pairs, confidence: float) -> float:
    """How far the rates of a cluster go together in both runs: the lower end of Fisher's interval, at least 0.

    It is tempered by four made-up clusters, for few clusters may seem to go together entirely.
    """
    sums = [(*_sums(cluster), count) for cluster, count in pairs.items()]
    sizes: Counter[float] = Counter()
    for n, _, _, count in sums:
        sizes[n] += count
    clusters = kish_number(sizes)
    size = pseudo_size(clusters, count_cases(pairs))
    sums += [(size, x * size, y * size, 1) for x in (0.0, 1.0) for y in (0.0, 1.0)]
    cases = sum(n * count for n, _, _, count in sums)
    mean_x = sum(x * count for _, x, _, count in sums) / cases
    mean_y = sum(y * count for _, _, y, count in sums) / cases
    xy = sum((x - n * mean_x) * (y - n * mean_y) * count for n, x, y, count in sums)
    xx = sum((x - n * mean_x) ** 2 * count for n, x, _, count in sums)
    yy = sum((y - n * mean_y) ** 2 * count for n, _, y, count in sums)
    seen = math.atanh(xy / math.sqrt(xx * yy))
    return max(0.0, math.tanh(seen - t_quantile(confidence, 0) / math.sqrt(clusters + 1)))


def pseudo_size(clusters: float, cases: int) -> float:
    """How many cases each of the made-up clusters has: as many as a cluster has on average, to the power of 0.8."""
    return float((cases / clusters) ** 0.8)


def _sums(cluster: Cluster[Pair]) -> tuple[float, float, float]:
    """Cases of a cluster, and the sum of their rates in each run."""
    n = x = y = 0.0
    for ((b, b_runs), (a, a_runs)), cases in cluster:
        n += cases
        x += b / b_runs * cases
        y += a / a_runs * cases
    return n, x, y


def resample(pairs: Pairs, confidence: float) -> Interval:
    """The bootstrap over clusters, smooth: each kind is drawn by its weight, so that a million cases cost no more.

    What the data are decides what is drawn: the same runs give the same interval.
    """
    counts: Counter[tuple[float, float]] = Counter()
    for cluster, count in pairs.items():
        n, x, y = _sums(cluster)
        counts[n, round(y - x, 12)] += count
    kinds = sorted((rise, n, count) for (n, rise), count in counts.items())
    if len(kinds) > KINDS:
        return robust(pairs, confidence)
    chance = random.Random(repr(kinds))
    means = []
    for _ in range(DRAWS if len(kinds) > 1 else 0):
        weights = [chance.gammavariate(count, 1.0) for _, _, count in kinds]
        rises = sum(w * rise for w, (rise, _, _) in zip(weights, kinds, strict=True))
        means.append(rises / sum(w * n for w, (_, n, _) in zip(weights, kinds, strict=True)))
    if not means:
        return Interval(kinds[0][0] / kinds[0][1], kinds[0][0] / kinds[0][1])
    means.sort()
    tail = round((1 - confidence) / 2 * DRAWS)
    return Interval(means[tail], means[-tail - 1])


def robust(pairs: Pairs, confidence: float) -> Interval:
    """The interval of a difference by the spread of whole clusters (CR1), with Student's t."""
    clusters, cases = sum(pairs.values()), count_cases(pairs)
    sums = [(*_sums(cluster), count) for cluster, count in pairs.items()]
    mean = sum((y - x) * count for _, x, y, count in sums) / cases
    squares = sum((y - x - n * mean) ** 2 * count for n, x, y, count in sums)
    margin = t_quantile(confidence, clusters - 1) * math.sqrt(squares * clusters / max(clusters - 1, 1)) / cases
    return Interval(mean - margin, mean + margin)


def mcnemar(fell: int, rose: int) -> float:
    """McNemar's exact test, two-sided: how likely so uneven a split of changed cases is if no run is better."""
    changed = fell + rose
    return min(1.0, 2 * _binomial_tail(min(fell, rose), changed)) if changed else 1.0


def permutation(pairs: Pairs) -> float:
    """How likely so large a difference is if, for each cluster, either run might have been the base; two-sided."""
    unit = math.lcm(*(runs for cluster in pairs for pair, _ in cluster for _, runs in pair)) if pairs else 1
    steps: Counter[int] = Counter()
    observed = 0
    for cluster, count in pairs.items():
        step = sum(
            (n * (unit // n_runs) - b * (unit // b_runs)) * cases for ((b, b_runs), (n, n_runs)), cases in cluster
        )
        observed += step * count
        if step:
            steps[abs(step)] += count
    work = sum(steps.values()) * sum(step * count for step, count in steps.items())
    if not observed:
        return 1.0
    return _all_signs(steps, abs(observed)) if work <= EXACT else _some_signs(steps, abs(observed))


def fisher(base: Runs, new: Runs) -> float:
    """Fisher's exact test, two-sided, of two counts of passed runs."""
    (b, n), (a, m) = base, new
    passed = a + b
    spread = range(max(0, passed - m), min(n, passed) + 1)
    combinations = {k: math.comb(n, k) * math.comb(m, passed - k) for k in spread}
    return sum(count for count in combinations.values() if count <= combinations[b]) / math.comb(n + m, passed)


@lru_cache(1024)
def chance_of_fall(base: Runs, new: Runs) -> float:
    """Fisher's exact test, one-sided: how likely so few passed runs are if the case passes as often as before."""
    (b, n), (a, m) = base, new
    passed = a + b
    few = range(max(0, passed - n), a + 1)
    return sum(math.comb(m, k) * math.comb(n, passed - k) for k in few) / math.comb(n + m, passed)


def holm(values: Sequence[float]) -> list[float]:
    """The same p-values, corrected for how many were looked at."""
    corrected = [1.0] * len(values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        highest = max(highest, min(1.0, (len(values) - rank) * values[index]))
        corrected[index] = highest
    return corrected


def hochberg(values: Sequence[float]) -> list[float]:
    """The same p-values of independent tests, corrected: several small ones together weigh more than Holm lets them."""
    corrected = [1.0] * len(values)
    lowest = 1.0
    for rank, index in enumerate(sorted(range(len(values)), key=values.__getitem__, reverse=True), 1):
        lowest = min(lowest, rank * values[index])
        corrected[index] = lowest
    return corrected


def find_fallen(
    pairs: Sequence[Pair], confidence: float, wavering: Mapping[Pair, int] = MappingProxyType({})
) -> list[bool]:
    """Which cases fell by more than chance explains, at this confidence for all of them together.

    `wavering` cases failed at times and did not fall: they might have. A case that could not show a fall, because
    hardly any of its runs failed, is not a look taken. All looks are corrected by Hochberg's method, so that several
    cases that broke alike confirm each other.
    """
    error = 1 - confidence
    most = max((new[1] for _, new in pairs), default=0)
    looks = sum(
        count for (base, new), count in wavering.items() if _least_chance(base, (0, max(most, new[1]))) <= error
    )
    able = [index for index, pair in enumerate(pairs) if _least_chance(*pair) <= error]
    corrected = hochberg([*(chance_of_fall(*pairs[index]) for index in able), *[1.0] * looks])
    significant = {index for index, chance in zip(able, corrected, strict=False) if chance <= error}
    return [index in significant for index in range(len(pairs))]


def _least_chance(base: Runs, new: Runs) -> float:
    """The smallest chance that a case with so many failures in all could have shown: all of them in the new run."""
    failed, runs = base[1] - base[0] + new[1] - new[0], base[1] + new[1]
    most = min(failed, new[1])
    return chance_of_fall((runs - failed - (new[1] - most), base[1]), (new[1] - most, new[1]))


def _join_widths(width: float, other_width: float, shared: float) -> float:
    return math.sqrt(max(0.0, width * width - 2 * shared * width * other_width + other_width * other_width))


def _binomial_tail(most: int, trials: int) -> float:
    """How likely at most so many heads are; in logarithms, because 2 to the power of 5,000 does not fit a float."""
    logs = (math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1) for k in range(most + 1))
    return math.fsum(math.exp(log - trials * math.log(2)) for log in logs)


def _all_signs(steps: Mapping[int, int], observed: int) -> float:
    """All choices of which clusters to swap, counted by the sum that they lead to."""
    sums = {0: 1}
    for step, count in steps.items():
        for _ in range(count):
            after: dict[int, int] = {}
            for total, number in sums.items():
                after[total + step] = after.get(total + step, 0) + number
                after[total - step] = after.get(total - step, 0) + number
            sums = after
    return sum(number for total, number in sums.items() if abs(total) >= observed) / (1 << sum(steps.values()))


def _some_signs(steps: Mapping[int, int], observed: int) -> float:
    kinds = sorted(steps.items())
    chance = random.Random(repr(kinds))
    hits = 0
    for _ in range(SHUFFLES):
        total = sum(step * (2 * chance.getrandbits(count).bit_count() - count) for step, count in kinds)
        hits += abs(total) >= observed
    return (hits + 1) / (SHUFFLES + 1)
