"""What a team acts on holds what it promises, with variants that share their noise and with flaky cases; seeded."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from carob.features.compare import stats
from carob.features.compare.builder import settle_fall
from carob.features.compare.compared_cases import ComparedCase
from carob.features.compare.gates import Certainty, of_difference
from carob.features.compare.model import Change
from carob.scoring.intervals import Runs, group_clusters, kish_number, pass_rate

CONFIDENCE = 0.95
RUNS = 150
MANY = [RUNS, pytest.param(3_000, marks=pytest.mark.thorough)]
NONE = math.inf
Chance = np.random.Generator


def drawn(chance: Chance, rates: np.ndarray, spread: float) -> np.ndarray:
    """Rates around these; the smaller the number, the more each cluster passes or fails as one."""
    return rates if math.isinf(spread) else chance.beta(rates * spread + 1e-9, (1 - rates) * spread + 1e-9)


def two_runs(chance: Chance, clusters: int, mean: float, hard: float, noise: float, runs: int) -> Iterator[stats.Pairs]:
    """Clusters of ten variants that are equally `hard` in both runs, each run with noise that a cluster shares."""
    for _ in range(runs):
        difficulty = np.clip(drawn(chance, np.full(clusters, mean), hard), 1e-6, 1 - 1e-6)
        outcomes = [chance.random((10, clusters)) < drawn(chance, difficulty, noise) for _ in range(2)]
        named = {
            str(number): Counter(
                ((int(before), 1), (int(after), 1))
                for before, after in zip(*(run[:, number] for run in outcomes), strict=True)
            )
            for number in range(clusters)
        }
        yield group_clusters({}, named)


SHARED = [(0.5, NONE, 1.0), (0.8, 4.0, 4.0), (0.8, NONE, 0.3), (0.9, NONE, 1.0), (0.95, NONE, 1.0), (0.9, 3.0, NONE)]


@pytest.mark.parametrize("clusters", [20, 40])
@pytest.mark.parametrize(("mean", "hard", "noise"), SHARED)
@pytest.mark.parametrize("runs", MANY)
def test_intervals_and_alarms_hold_where_variants_share_their_noise(
    clusters: int, mean: float, hard: float, noise: float, runs: int
) -> None:
    chance = np.random.default_rng([clusters, int(mean * 100), int(min(hard, 9) * 10), int(min(noise, 9) * 10)])
    held = rate_held = alarms = 0
    for pairs in two_runs(chance, clusters, mean, hard, noise, runs):
        difference = stats.score_difference(pairs, CONFIDENCE)
        rate = pass_rate(stats.marginals(pairs)[1], CONFIDENCE)
        held += difference.low <= 0 <= difference.high
        rate_held += rate.low <= mean <= rate.high
        alarms += difference.high < 0 and stats.permutation(pairs) <= 1 - CONFIDENCE
    slack = 2 * math.sqrt(0.05 * 0.95 / runs) if runs == RUNS else 0  # of 150 runs, chance takes as much
    assert held / runs >= 0.93 - slack
    assert rate_held / runs >= 0.93 - slack
    assert alarms / runs <= 0.035


def test_cases_taken_for_independent_would_give_false_alarms() -> None:
    """What this is for: the same runs, with each variant as a case of its own."""
    chance = np.random.default_rng(8)
    alarms = 0
    for pairs in two_runs(chance, 20, 0.8, NONE, 1.0, RUNS):
        cases: Counter[stats.Pair] = Counter()
        for cluster, count in pairs.items():
            for pair, number in cluster:
                cases[pair] += number * count
        fell, rose = cases[(1, 1), (0, 1)], cases[(0, 1), (1, 1)]
        alarms += fell > rose and stats.mcnemar(fell, rose) <= 0.05
    assert alarms / RUNS > 0.1


def judged(base: Runs, new: Runs) -> tuple[ComparedCase, ComparedCase]:
    sides = [ComparedCase(id="x", asks="", expects="", passed=passed, judged=runs) for passed, runs in (base, new)]
    return sides[0], sides[1]


def is_blocked(pairs: list[stats.Pair]) -> bool:
    """Whether max_new_failures = 0 is not met: a case broke, or fell in too few runs to tell."""
    fell = [pair for pair in pairs if pair[1][0] * pair[0][1] < pair[0][0] * pair[1][1]]
    others = Counter(pair for pair in pairs if pair not in fell and pair[0][0] and sum(pair[0]) < 2 * pair[0][1])
    shown = stats.find_fallen(fell, CONFIDENCE, others)
    settled = [
        settle_fall(*judged(*pair), is_significant=is_significant)
        for pair, is_significant in zip(fell, shown, strict=True)
    ]
    return any(what in (Change.BROKE, Change.FELL) for what in settled)


def a_change(chance: Chance, rates: np.ndarray, base: int, repeats: int, confirm: int) -> list[stats.Pair]:
    """A pull request: a base of so many runs, a run, and what fell run again."""
    pairs: list[stats.Pair] = []
    for rate in rates:
        before, after = int(chance.binomial(base, rate)), int(chance.binomial(repeats, rate))
        again = confirm if after * base < before * repeats else 0
        pairs.append(((before, base), (after + int(chance.binomial(again, rate)), repeats + again)))
    return pairs


@pytest.mark.parametrize("fails", [0.05, 0.2, 0.4, 0.6, 0.85])
@pytest.mark.parametrize(("base", "repeats", "confirm"), [(5, 1, 5), (6, 6, 0), (10, 1, 9)])
@pytest.mark.parametrize("runs", MANY)
def test_a_change_of_nothing_is_let_through_over_ten_flaky_cases(
    fails: float, base: int, repeats: int, confirm: int, runs: int
) -> None:
    chance = np.random.default_rng([int(fails * 100), base, repeats])
    rates = np.full(10, 1 - fails)
    blocked = sum(is_blocked(a_change(chance, rates, base, repeats, confirm)) for _ in range(runs))
    assert blocked / runs <= 0.05


def test_a_case_that_broke_is_found_among_ten_flaky_ones() -> None:
    chance = np.random.default_rng(2)
    flaky = np.full(10, 0.7)
    blocked = sum(is_blocked([*a_change(chance, flaky, 5, 1, 5), ((5, 5), (0, 6))]) for _ in range(RUNS))
    assert blocked == RUNS


@pytest.mark.parametrize("runs", MANY)
def test_thirty_gates_of_one_command_hardly_give_a_false_alarm(runs: int) -> None:
    """Thirty categories of twenty cases, each to be no worse than before, and none is."""
    chance = np.random.default_rng(30)
    certainty = Certainty.for_gates(CONFIDENCE, 30)
    alarms = alone_alarms = 0
    for _ in range(runs // 3):
        verdicts, uncorrected = [], []
        for _ in range(30):
            before, after = (chance.random(20) < 0.8 for _ in range(2))
            cases = Counter(((int(b), 1), (int(n), 1)) for b, n in zip(before, after, strict=True))
            pairs = group_clusters(cases, {})
            verdicts.append(certainty.decide(lambda level, pairs=pairs: _score(pairs, level), 0.0, at_least=True))
            uncorrected.append(_score(pairs, CONFIDENCE).high < 0)
        alarms += "broken" in verdicts
        alone_alarms += any(uncorrected)
    assert alarms / (runs // 3) <= 0.05
    assert alone_alarms / (runs // 3) > 0.1


def _score(pairs: stats.Pairs, level: float) -> stats.Estimate:
    """Without resampling, which only widens it and takes most of the time."""
    return stats.score_difference(pairs, level)


def test_what_gates_decide_by_is_no_narrower() -> None:
    pairs = next(two_runs(np.random.default_rng(1), 20, 0.8, NONE, 1.0, 1))
    assert of_difference(pairs, CONFIDENCE).high >= stats.score_difference(pairs, CONFIDENCE).high


UNEQUAL = {
    "one of 300 and 30 alone": [300, *[1] * 30],
    "one of 100 and 50 alone": [100, *[1] * 50],
    "three of 50 and 30 alone": [*[50] * 3, *[1] * 30],
    "60, 30, 10 and 20 alone": [60, 30, 10, *[1] * 20],
    "one of 20 and 100 alone": [20, *[1] * 100],
}


@pytest.mark.parametrize("shared", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("mean", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("sizes", UNEQUAL.values(), ids=UNEQUAL)
@pytest.mark.parametrize("runs", MANY)
def test_a_rate_holds_where_one_table_has_most_of_the_cases(
    sizes: list[int], mean: float, shared: float, runs: int
) -> None:
    """The effective number of runs follows Kish: 31 clusters of which one has most cases are hardly more than one."""
    chance = np.random.default_rng([sum(sizes), int(mean * 100), int(shared * 10)])
    spread = 1 / shared - 1 if shared else NONE
    held = 0
    for _ in range(runs):
        alike = (chance.random(len(sizes)) < mean).astype(float)  # each passes or fails as one
        rates = alike if spread == 0 else drawn(chance, np.full(len(sizes), mean), spread)
        passed = chance.binomial(sizes, np.clip(rates, 0, 1))
        named = {
            str(number): Counter({(1, 1): int(good), (0, 1): size - int(good)})
            for number, (size, good) in enumerate(zip(sizes, passed, strict=True))
        }
        rate = pass_rate(group_clusters({}, {name: +cluster for name, cluster in named.items()}), CONFIDENCE)
        held += rate.low <= mean <= rate.high
    slack = 2 * math.sqrt(0.05 * 0.95 / runs)
    assert held / runs >= 0.95 - slack


@pytest.mark.parametrize(("clusters", "size"), [(1, 40), (7, 1), (10, 20), (330, 1)])
def test_clusters_of_one_size_are_as_many_as_they_are(clusters: int, size: int) -> None:
    assert kish_number({float(size): clusters}) == pytest.approx(clusters)


def test_one_large_cluster_is_hardly_more_than_one() -> None:
    assert kish_number({300.0: 1, 1.0: 30}) == pytest.approx(1.21, abs=0.01)
