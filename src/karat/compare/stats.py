"""How sure we are. Cases are the unit: repeats of one case are one cluster, however many there are.

Small samples and rates near 1 are where the usual intervals lie, so rates have Wilson intervals with continuity
correction over an effective number of runs, and differences are put together from these. Both hold their confidence for
cases that are alike as well as for cases of which some always fail.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple, TypeAlias

from karat.scoring.repeats import Interval
from karat.scoring.repeats import wilson as wilson

DRAWS = 2_000
EXACT = 2_000_000
"""Additions up to which a permutation test is exact; over it, as many signs as `SHUFFLES` are drawn."""
SHUFFLES = 10_000

Runs: TypeAlias = tuple[int, int]
"""Of one case: runs that passed, runs that were judged."""
Rates: TypeAlias = Mapping[Runs, int]
"""How many cases came out alike."""
Pairs: TypeAlias = Mapping[tuple[Runs, Runs], int]
"""How many cases came out alike in both runs, the base first."""


class Estimate(NamedTuple):
    """A figure and the interval that holds the true one, at the confidence that was asked for."""

    value: float
    low: float
    high: float


def pass_rate(rates: Rates, confidence: float) -> Estimate:
    """The mean over cases of how often each passes."""
    cases = sum(rates.values())
    if not cases:
        return Estimate(math.nan, 0.0, 1.0)
    mean = sum(count * passed / runs for (passed, runs), count in rates.items()) / cases
    bounds = _wilson_corrected(mean, _effective(rates), t_quantile(confidence, cases - 1))
    return Estimate(mean, bounds.low, bounds.high)


def difference(pairs: Pairs, confidence: float) -> Estimate:
    """How much the pass rate rose, by case: never narrower than what resampling the cases gives.

    Resampling alone would be sure of no change wherever none happened to be seen.
    """
    if not pairs:
        return Estimate(math.nan, -1.0, 1.0)
    found, drawn = score_difference(pairs, confidence), resampled(pairs, confidence)
    return Estimate(found.value, min(found.low, drawn.low), max(found.high, drawn.high))


def score_difference(pairs: Pairs, confidence: float) -> Estimate:
    """The intervals of both rates, put together with the correlation between them."""
    base, new = marginals(pairs)
    one, other = pass_rate(base, confidence), pass_rate(new, confidence)
    shared = correlation(pairs)
    value = other.value - one.value
    below = _joined(other.value - other.low, one.high - one.value, shared)
    above = _joined(other.high - other.value, one.value - one.low, shared)
    return Estimate(value, max(-1.0, value - below), min(1.0, value + above))


def marginals(pairs: Pairs) -> tuple[Counter[Runs], Counter[Runs]]:
    """How the cases came out in each run alone."""
    base: Counter[Runs] = Counter()
    new: Counter[Runs] = Counter()
    for (before, after), count in pairs.items():
        base[before] += count
        new[after] += count
    return base, new


def correlation(pairs: Pairs) -> float:
    """How far the rates of a case go together in both runs, at least 0; tempered by four made-up cases."""
    values = [(b[0] / b[1], n[0] / n[1], count) for (b, n), count in pairs.items()]
    values += [(x, y, 1) for x in (0.0, 1.0) for y in (0.0, 1.0)]
    total = sum(count for _, _, count in values)
    mean_x = sum(x * count for x, _, count in values) / total
    mean_y = sum(y * count for _, y, count in values) / total
    xy = sum((x - mean_x) * (y - mean_y) * count for x, y, count in values)
    xx = sum((x - mean_x) ** 2 * count for x, _, count in values)
    yy = sum((y - mean_y) ** 2 * count for _, y, count in values)
    return max(0.0, xy / math.sqrt(xx * yy))


def resampled(pairs: Pairs, confidence: float) -> Interval:
    """The bootstrap over cases, smooth: each kind of case is drawn by its weight, so that a million cases cost no more.

    What the data are decides what is drawn: the same runs give the same interval.
    """
    kinds = sorted((n[0] / n[1] - b[0] / b[1], count) for (b, n), count in pairs.items())
    chance = random.Random(repr(kinds))
    means = []
    for _ in range(DRAWS if len(kinds) > 1 else 0):
        weights = [chance.gammavariate(count, 1.0) for _, count in kinds]
        means.append(sum(w * value for w, (value, _) in zip(weights, kinds, strict=True)) / sum(weights))
    if not means:
        return Interval(kinds[0][0], kinds[0][0])
    means.sort()
    tail = round((1 - confidence) / 2 * DRAWS)
    return Interval(means[tail], means[-tail - 1])


def mcnemar(broke: int, fixed: int) -> float:
    """McNemar's exact test, two-sided: how likely so uneven a split of changed cases is if no run is better."""
    changed = broke + fixed
    return min(1.0, 2 * _binomial_tail(min(broke, fixed), changed)) if changed else 1.0


def permutation(pairs: Pairs) -> float:
    """How likely so large a difference is if, for each case, either run might have been the base; two-sided."""
    unit = math.lcm(*(runs for pair in pairs for _, runs in pair)) if pairs else 1
    steps: Counter[int] = Counter()
    observed = 0
    for ((b, b_runs), (n, n_runs)), count in pairs.items():
        step = n * (unit // n_runs) - b * (unit // b_runs)
        observed += step * count
        if step:
            steps[abs(step)] += count
    work = sum(steps.values()) * sum(step * count for step, count in steps.items())
    if not observed:
        return 1.0
    return _all_signs(steps, abs(observed)) if work <= EXACT else _some_signs(steps, abs(observed))


def fisher(one: Runs, other: Runs) -> float:
    """Fisher's exact test, two-sided, of two counts of passed runs."""
    (a, n), (b, m) = one, other
    passed = a + b
    spread = range(max(0, passed - m), min(n, passed) + 1)
    ways = {k: math.comb(n, k) * math.comb(m, passed - k) for k in spread}
    return sum(count for count in ways.values() if count <= ways[a]) / math.comb(n + m, passed)


def holm(values: Sequence[float]) -> list[float]:
    """The same p-values, corrected for how many were looked at."""
    found = [1.0] * len(values)
    reached = 0.0
    for rank, index in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        reached = max(reached, min(1.0, (len(values) - rank) * values[index]))
        found[index] = reached
    return found


def z_value(confidence: float) -> float:
    return NormalDist().inv_cdf(0.5 + confidence / 2)


@lru_cache
def t_quantile(confidence: float, freedom: int) -> float:
    """How many standard errors wide an interval is where the spread itself is estimated; 1 case has no spread."""
    if freedom < 1:
        return z_value(confidence)
    low, high = 0.0, 10.0
    while _t_within(high, freedom) < confidence:
        low, high = high, high * 4
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if _t_within(middle, freedom) < confidence else (low, middle)
    return high


def _effective(rates: Rates) -> float:
    """How many independent runs are worth as much: from the number of cases, where they differ, to that of all runs.

    Two made-up cases, one always good and one always bad, keep a few clean cases from looking surer than they are.
    """
    cases = sum(rates.values())
    values = [(passed / runs, count) for (passed, runs), count in rates.items()] + [(0.0, 1), (1.0, 1)]
    mean = sum(value * count for value, count in values) / (cases + 2)
    variance = sum((value - mean) ** 2 * count for value, count in values) / (cases + 1) / (cases + 2)
    runs = sum(runs * count for (_, runs), count in rates.items())
    return min(max(mean * (1 - mean) / variance, cases), runs)


def _wilson_corrected(rate: float, runs: float, z: float) -> Interval:
    """Wilson's interval with continuity correction."""

    def bound(sign: int) -> float:
        shifted = min(max(rate + sign / (2 * runs), 0.0), 1.0)
        spread = z * z / runs
        margin = z * math.sqrt(shifted * (1 - shifted) / runs + spread / (4 * runs))
        return (shifted + spread / 2 + sign * margin) / (1 + spread)

    return Interval(0.0 if rate <= 0 else max(0.0, bound(-1)), 1.0 if rate >= 1 else min(1.0, bound(1)))


def _joined(one: float, other: float, shared: float) -> float:
    return math.sqrt(max(0.0, one * one - 2 * shared * one * other + other * other))


def _binomial_tail(most: int, trials: int) -> float:
    """How likely at most so many heads are; in logarithms, because 2 to the power of 5,000 does not fit a float."""
    logs = (math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1) for k in range(most + 1))
    return math.fsum(math.exp(log - trials * math.log(2)) for log in logs)


def _all_signs(steps: Mapping[int, int], observed: int) -> float:
    """Every way to swap the runs of the cases that differ, by the sum that it leads to."""
    ways = {0: 1}
    for step, count in steps.items():
        for _ in range(count):
            after: dict[int, int] = {}
            for total, number in ways.items():
                after[total + step] = after.get(total + step, 0) + number
                after[total - step] = after.get(total - step, 0) + number
            ways = after
    return sum(number for total, number in ways.items() if abs(total) >= observed) / (1 << sum(steps.values()))


def _some_signs(steps: Mapping[int, int], observed: int) -> float:
    kinds = sorted(steps.items())
    chance = random.Random(repr(kinds))
    hits = 0
    for _ in range(SHUFFLES):
        total = sum(step * (2 * chance.getrandbits(count).bit_count() - count) for step, count in kinds)
        hits += abs(total) >= observed
    return (hits + 1) / (SHUFFLES + 1)


def _t_within(bound: float, freedom: int) -> float:
    """How likely Student's t stays within this bound."""
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
