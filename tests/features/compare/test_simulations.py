"""The error bars hold what they promise: thousands of runs of agents whose true rates are known, seeded."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TypeVar

import numpy as np
import pytest

from carob.features.compare import stats
from carob.model import sequential
from carob.model.sequential import SequentialTest, min_runs_to_prove
from carob.scoring.intervals import Clusters, Estimate, Runs, pass_rate, single_clusters

RUNS = 2_000
SOME = [1_000, pytest.param(RUNS, marks=pytest.mark.thorough)]
"""How many runs tell whether an interval holds; decisions, which are nearer to what is promised, need all."""
SIZES = [20, *(pytest.param(cases, marks=pytest.mark.thorough) for cases in (100, 500))]
CONFIDENCE = 0.95
LEAST = 0.94
ALIKE, SPREAD, UNLIKE = math.inf, 4.0, 0.3
"""How far cases of one agent differ: not at all, somewhat, or so that nearly each always passes or always fails."""

Chance = np.random.Generator
Counts = TypeVar("Counts", bound=Mapping[object, int])
decided = cache(sequential.decide_side)


def thorough(*values: object) -> object:
    """What is left to `make thorough`."""
    return pytest.param(*values, marks=pytest.mark.thorough)


def of_each(estimated: Callable[[Counts, float], Estimate], drawn: Iterator[Counts]) -> list[Estimate]:
    """The estimates of many runs. Runs that came out alike have the same one, and it is made once."""
    known: dict[frozenset[tuple[object, int]], Estimate] = {}
    estimates = []
    for counts in drawn:
        key = frozenset(counts.items())
        if key not in known:
            known[key] = estimated(counts, CONFIDENCE)
        estimates.append(known[key])
    return estimates


def true_rates(chance: Chance, mean: float, spread: float, shape: tuple[int, int]) -> np.ndarray:
    if math.isinf(spread):
        return np.full(shape, mean)
    return chance.beta(mean * spread, (1 - mean) * spread, shape)


def single(chance: Chance, mean: float, spread: float, cases: int, repeats: int, runs: int) -> Iterator[Clusters[Runs]]:
    passed = chance.binomial(repeats, true_rates(chance, mean, spread, (runs, cases)))
    for row in passed:
        counts = np.bincount(row, minlength=repeats + 1)
        yield single_clusters({(k, repeats): int(count) for k, count in enumerate(counts) if count})


def pairs(
    chance: Chance, means: tuple[float, float], spread: float, cases: int, repeats: int, runs: int
) -> Iterator[stats.Pairs]:
    """The same cases in two runs: what is hard for one agent is hard for the other."""
    base, new = means
    rates = true_rates(chance, base, spread, (runs, cases))
    worse = rates * (new / base) if new <= base else 1 - (1 - rates) * (1 - new) / (1 - base)
    before, after = chance.binomial(repeats, rates), chance.binomial(repeats, worse)
    every = [((b, repeats), (n, repeats)) for b in range(repeats + 1) for n in range(repeats + 1)]
    for row in before * (repeats + 1) + after:
        counts = np.bincount(row, minlength=len(every))
        there = np.flatnonzero(counts)
        yield single_clusters(dict(zip([every[kind] for kind in there], counts[there].tolist(), strict=True)))


@pytest.mark.parametrize("mean", [0.95, *map(thorough, (0.5, 0.8, 0.99))])
@pytest.mark.parametrize("cases", SIZES)
@pytest.mark.parametrize(("repeats", "spread"), [(1, SPREAD), (3, SPREAD), (10, ALIKE), (10, SPREAD), (10, UNLIKE)])
@pytest.mark.parametrize("runs", SOME)
def test_intervals_of_rates_hold_the_true_rate(mean: float, cases: int, repeats: int, spread: float, runs: int) -> None:
    chance = np.random.default_rng([cases, repeats, int(mean * 100), int(min(spread, 99))])
    estimates = of_each(pass_rate, single(chance, mean, spread, cases, repeats, runs))
    assert np.mean([estimate.low <= mean <= estimate.high for estimate in estimates]) >= LEAST


@pytest.mark.parametrize("means", [(0.8, 0.9), *map(thorough, ((0.5, 0.5), (0.95, 0.85), (0.99, 0.99), (0.99, 0.96)))])
@pytest.mark.parametrize("cases", SIZES)
@pytest.mark.parametrize(("repeats", "spread"), [(1, SPREAD), (1, UNLIKE), (10, ALIKE), (10, SPREAD), (10, UNLIKE)])
@pytest.mark.parametrize("runs", SOME)
def test_intervals_of_differences_hold_the_true_one(
    means: tuple[float, float], cases: int, repeats: int, spread: float, runs: int
) -> None:
    chance = np.random.default_rng([cases, repeats, int(means[0] * 100), int(means[1] * 100), int(min(spread, 99))])
    estimates = of_each(stats.score_difference, pairs(chance, means, spread, cases, repeats, runs // 2))
    true = means[1] - means[0]
    assert np.mean([estimate.low <= true <= estimate.high for estimate in estimates]) >= LEAST


def test_what_is_shown_is_never_narrower_than_what_was_simulated() -> None:
    chance = np.random.default_rng(5)
    for pair in pairs(chance, (0.9, 0.8), SPREAD, 60, 3, 20):
        shown, simulated = stats.difference(pair, CONFIDENCE), stats.score_difference(pair, CONFIDENCE)
        assert shown.low <= simulated.low
        assert shown.high >= simulated.high


@pytest.mark.parametrize(
    ("mean", "cases", "repeats"),
    [(0.5, 40, 1), thorough(0.9, 200, 1), thorough(0.99, 500, 1), thorough(0.8, 30, 3)],
)
def test_false_alarms_of_worse_are_rare(mean: float, cases: int, repeats: int) -> None:
    chance = np.random.default_rng([cases, repeats])
    alarms = 0
    for pair in pairs(chance, (mean, mean), SPREAD, cases, repeats, RUNS):
        broke = sum(count for (((base, new), _),), count in pair.items() if new[0] < base[0])
        mended = sum(count for (((base, new), _),), count in pair.items() if new[0] > base[0])
        p = stats.mcnemar(broke, mended) if repeats == 1 else stats.permutation(pair)
        alarms += p <= 1 - CONFIDENCE and stats.score_difference(pair, CONFIDENCE).high < 0
    assert alarms / RUNS <= 0.05


@pytest.mark.parametrize("margin", [0.03, 0.1])
@pytest.mark.parametrize("mean", [0.9, *map(thorough, (0.5, 0.99))])
@pytest.mark.parametrize(
    ("cases", "repeats", "spread"), [(20, 1, ALIKE), thorough(100, 10, ALIKE), thorough(500, 1, SPREAD)]
)
@pytest.mark.parametrize("runs", SOME)
def test_an_agent_that_is_worse_by_the_margin_is_hardly_let_through(
    margin: float, mean: float, cases: int, repeats: int, spread: float, runs: int
) -> None:
    chance = np.random.default_rng([cases, repeats, int(mean * 100), int(margin * 100)])
    worse = pairs(chance, (mean, mean - margin), spread, cases, repeats, runs // 2)
    let_through = [estimate.low >= -margin for estimate in of_each(stats.score_difference, worse)]
    assert np.mean(let_through) <= 0.05


def decision(chance: Chance, rate: float, bound: float, most: int) -> tuple[str, int]:
    passed = 0
    for runs, outcome in enumerate(chance.random(most) < rate, 1):
        passed += bool(outcome)
        if side := decided(passed, runs, bound, CONFIDENCE):
            return side, runs
    return "", most


@pytest.mark.parametrize("bound", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("off", [0.0, 0.05])
def test_a_bad_case_is_hardly_called_good_and_a_good_one_hardly_bad(bound: float, off: float) -> None:
    chance = np.random.default_rng([int(bound * 100), int(off * 100)])
    bad = Counter(decision(chance, bound - off, bound, 300)[0] for _ in range(RUNS // 2))
    good = Counter(decision(chance, min(bound + off, 1.0), bound, 300)[0] for _ in range(RUNS // 2))
    assert bad["above"] / (RUNS // 2) <= 0.05
    assert good["below"] / (RUNS // 2) <= 0.05


def test_clear_cases_stop_early() -> None:
    """A suite of clear cases, three of four good: at least 60 % of the runs are saved, and no case is left open."""
    chance = np.random.default_rng(7)
    ends = [decision(chance, 0.995 if number % 4 else 0.1, 0.8, 50) for number in range(RUNS)]
    assert sum(runs for _, runs in ends) <= 0.4 * 50 * RUNS
    assert Counter(side for side, _ in ends)[""] <= 0.01 * RUNS


def test_few_runs_prove_nothing_and_a_rate_of_one_is_never_proved() -> None:
    rule = SequentialTest()
    assert (rule.side(5, 5, None), rule.side(0, 2, None), rule.side(0, 3, None)) == ("", "", "below")
    assert (rule.side(999, 999, 1.0), rule.side(998, 999, 1.0)) == ("", "below")
    assert min_runs_to_prove(0.8, 0.95, 50) == 16
    assert min_runs_to_prove(0.95, 0.95, 50) is None
