"""Statistics agree with scipy and statsmodels where those have the same method.

Both take seconds to load, so only who runs a test that needs them does.
"""

from __future__ import annotations

import math
import random
from collections import Counter

import numpy as np
import pytest

from carob.features.compare import stats
from carob.scoring import intervals
from carob.scoring.intervals import CLUSTERED, EXACT, single_clusters

COUNTS = [(0, 1), (1, 1), (0, 20), (1, 20), (19, 20), (20, 20), (7, 50), (480, 500), (999_000, 1_000_000)]


def of_single_runs(passed: int, total: int) -> dict[intervals.Cluster[intervals.Runs], int]:
    return single_clusters({runs: count for runs, count in (((1, 1), passed), ((0, 1), total - passed)) if count})


@pytest.mark.parametrize(("passed", "total"), COUNTS)
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_the_rate_of_single_runs_and_of_one_case_is_clopper_pearson(passed: int, total: int, confidence: float) -> None:
    from scipy import stats as scipy_stats

    theirs = tuple(scipy_stats.binomtest(passed, total).proportion_ci(confidence, "exact"))
    for estimate in (
        intervals.pass_rate(of_single_runs(passed, total), confidence),
        intervals.share(passed, total, confidence),
    ):
        assert estimate.value == pytest.approx(passed / total)
        assert (estimate.low, estimate.high) == pytest.approx(theirs, abs=1e-9)
        assert estimate.method == EXACT


def test_the_rate_of_repeats_is_korn_graubard() -> None:
    """By the formula: 20 cases of 10 runs, of which six pass 5 of 10."""
    from scipy import stats as scipy_stats

    rates = [1.0] * 14 + [0.5] * 6
    mean, variance = np.mean(rates), np.var(rates, ddof=1) / 20
    ratio = scipy_stats.t.ppf(0.975, 199) / scipy_stats.t.ppf(0.975, 6)
    effective = mean * (1 - mean) / variance * ratio**2
    tails = (scipy_stats.beta.ppf(0.025, effective * mean, effective * (1 - mean) + 1),
             scipy_stats.beta.ppf(0.975, effective * mean + 1, effective * (1 - mean)))  # fmt: skip
    estimate = intervals.pass_rate(single_clusters({(10, 10): 14, (5, 10): 6}), 0.95)
    assert estimate.method == CLUSTERED
    assert (estimate.low, estimate.high) == pytest.approx(tails, abs=1e-9)


@pytest.mark.parametrize("freedom", [1, 2, 5, 19, 120, 5_000, 999_999])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
def test_t_quantiles(freedom: int, confidence: float) -> None:
    from scipy import stats as scipy_stats

    theirs = scipy_stats.t.ppf(0.5 + confidence / 2, freedom)
    assert intervals.t_quantile(confidence, freedom) == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize(("broke", "mended"), [(0, 0), (1, 0), (3, 9), (0, 6), (40, 20), (5_000, 5_200)])
def test_mcnemar(broke: int, mended: int) -> None:
    from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

    theirs = statsmodels_mcnemar([[5, broke], [mended, 7]], exact=True).pvalue if broke + mended else 1.0
    assert stats.mcnemar(broke, mended) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_permutations_are_those_of_scipy(seed: int) -> None:
    from scipy import stats as scipy_stats

    chance = random.Random(seed)
    runs = chance.choice([2, 3, 5]), chance.choice([2, 4])
    cases = [((chance.randint(0, runs[0]), runs[0]), (chance.randint(0, runs[1]), runs[1])) for _ in range(11)]
    unit = math.lcm(*runs)
    steps = [n * (unit // n_runs) - b * (unit // b_runs) for (b, b_runs), (n, n_runs) in cases]
    theirs = scipy_stats.permutation_test((steps,), np.sum, permutation_type="samples", n_resamples=10**6)
    assert stats.permutation(single_clusters(Counter(cases))) == pytest.approx(float(theirs.pvalue), abs=1e-9)


def test_a_drawn_permutation_test_is_near_the_exact_one(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = single_clusters({((3, 3), (2, 3)): 30, ((1, 3), (3, 3)): 12, ((2, 3), (2, 3)): 50, ((3, 3), (1, 3)): 9})
    exact = stats.permutation(pairs)
    monkeypatch.setattr(stats, "EXACT", 0)
    assert stats.permutation(pairs) == pytest.approx(exact, abs=0.02)
    assert stats.permutation(pairs) == stats.permutation(dict(reversed(pairs.items())))


@pytest.mark.parametrize(("one", "other"), [((5, 5), (4, 5)), ((10, 10), (4, 10)), ((1, 1), (0, 9)), ((3, 8), (7, 9))])
def test_fisher(one: intervals.Runs, other: intervals.Runs) -> None:
    from scipy import stats as scipy_stats

    table = [[passed, runs - passed] for passed, runs in (one, other)]
    assert stats.fisher(one, other) == pytest.approx(scipy_stats.fisher_exact(table)[1], abs=1e-9)


@pytest.mark.parametrize("values", [[], [0.03], [0.01, 0.04, 0.03, 0.5], [0.2, 0.2, 0.9], [1e-12, 0.05, 0.05, 0.05]])
def test_holm(values: list[float]) -> None:
    from statsmodels.stats.multitest import multipletests

    theirs = list(multipletests(values, method="holm")[1]) if values else []
    assert stats.holm(values) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("values", [[], [0.03], [0.01, 0.04, 0.03, 0.5], [0.2, 0.2, 0.9], [0.012] * 5])
def test_hochberg(values: list[float]) -> None:
    from statsmodels.stats.multitest import multipletests

    theirs = list(multipletests(values, method="simes-hochberg")[1]) if values else []
    assert stats.hochberg(values) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize(("base", "new"), [((5, 5), (4, 5)), ((10, 10), (4, 10)), ((1, 1), (0, 9)), ((3, 8), (7, 9))])
def test_the_chance_of_a_fall_is_fishers_one_sided_test(base: intervals.Runs, new: intervals.Runs) -> None:
    from scipy import stats as scipy_stats

    table = [[passed, runs - passed] for passed, runs in (base, new)]
    theirs = scipy_stats.fisher_exact(table, alternative="greater")[1]
    assert stats.chance_of_fall(base, new) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.thorough
def test_the_spread_of_clusters_is_that_of_statsmodels() -> None:
    import statsmodels.api as models

    chance = random.Random(4)
    clusters = [[(chance.randint(0, 1), chance.randint(0, 1)) for _ in range(chance.randint(1, 9))] for _ in range(30)]
    rises = [new - base for cluster in clusters for base, new in cluster]
    groups = [number for number, cluster in enumerate(clusters) for _ in cluster]
    fit = models.OLS(rises, np.ones(len(rises))).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    # statsmodels also scales by (cases - 1) / (cases - parameters), which is 1 for a mean
    theirs = fit.conf_int(0.05)[0]
    named = {str(number): Counter(((b, 1), (n, 1)) for b, n in cluster) for number, cluster in enumerate(clusters)}
    estimate = stats.robust(intervals.group_clusters({}, named), 0.95)
    assert (estimate.low, estimate.high) == pytest.approx(tuple(theirs), abs=1e-9)


def test_variants_that_fall_as_one_are_one_fall() -> None:
    """Ten variants of one case that broke are no ten cases: of six cases one broke, which chance may explain."""
    apart = single_clusters({((1, 1), (1, 1)): 5, ((1, 1), (0, 1)): 10})
    variants = intervals.group_clusters({((1, 1), (1, 1)): 5}, {"one": {((1, 1), (0, 1)): 10}})
    assert stats.permutation(apart) < 0.01
    assert stats.permutation(variants) == 1.0
    assert stats.difference(apart, 0.95).high < 0 < stats.difference(variants, 0.95).high


def test_which_cases_fell_by_more_than_chance_explains() -> None:
    broke, flaky, steady = ((5, 5), (0, 6)), ((4, 5), (3, 6)), ((5, 5), (5, 6))
    assert stats.find_fallen([broke, *[flaky] * 9, steady], 0.95) == [True, *[False] * 10]
    assert stats.find_fallen([((1, 1), (0, 1))] * 3, 0.95) == [False] * 3
    assert stats.find_fallen([((3, 3), (0, 6))] * 5, 0.95) == [True] * 5, "five that broke alike confirm each other"


def test_the_bootstrap_is_that_of_scipy_within_its_own_chance() -> None:
    from scipy import stats as scipy_stats

    chance = random.Random(3)
    cases = [((chance.randint(1, 3), 3), (chance.randint(0, 3), 3)) for _ in range(120)]
    steps = [n / 3 - b / 3 for (b, _), (n, _) in cases]
    estimate = stats.resample(single_clusters(Counter(cases)), 0.95)
    theirs = scipy_stats.bootstrap((steps,), np.mean, method="percentile", rng=np.random.default_rng(1))
    assert (estimate.low, estimate.high) == pytest.approx(tuple(theirs.confidence_interval), abs=0.01)
    assert estimate == stats.resample(single_clusters(Counter(reversed(cases))), 0.95)


def test_one_case_and_none_are_told_by_wide_intervals() -> None:
    assert intervals.pass_rate(single_clusters({(1, 1): 1}), 0.95).low < 0.1
    assert math.isnan(intervals.pass_rate(single_clusters({}), 0.95).value)
    single_case = stats.difference(single_clusters({((1, 1), (1, 1)): 1}), 0.95)
    assert (single_case.value, single_case.low < -0.8, single_case.high > 0.8) == (0.0, True, True)


def test_no_change_seen_is_not_no_change() -> None:
    """Resampling 20 cases that all passed twice would give an interval of no width."""
    estimate = stats.difference(single_clusters({((1, 1), (1, 1)): 20}), 0.95)
    assert estimate.low < -0.1
    assert estimate.high > 0.1


def test_one_failure_does_not_make_us_surer() -> None:
    clean = intervals.pass_rate(single_clusters({(10, 10): 20}), 0.95)
    spotted = intervals.pass_rate(single_clusters({(10, 10): 19, (9, 10): 1}), 0.95)
    assert spotted.low <= clean.low + 0.02


def test_repeats_of_unlike_cases_are_not_further_cases() -> None:
    """Half of the cases always fail: a hundred repeats of each tell no more of other cases than one."""
    once = intervals.pass_rate(single_clusters({(1, 1): 25, (0, 1): 25}), 0.95)
    often = intervals.pass_rate(single_clusters({(100, 100): 25, (0, 100): 25}), 0.95)
    assert (often.low, often.high) == pytest.approx((once.low, once.high), abs=0.005)


def test_repeats_of_cases_that_flicker_alike_count_as_runs() -> None:
    once = intervals.pass_rate(single_clusters({(1, 1): 40, (0, 1): 10}), 0.95)
    often = intervals.pass_rate(single_clusters({(8, 10): 50}), 0.95)
    assert often.high - often.low < (once.high - once.low) / 2
