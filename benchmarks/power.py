"""How often a real drop is found, and how often nothing is called a drop: by simulation, seeded.

    .venv/bin/python -m benchmarks.power

The tables are Markdown. What must hold is held by tests/features/compare/test_cluster_simulations.py; this prints
the figures.
"""

from __future__ import annotations

import random
from collections import Counter

from carob.features.compare import stats
from carob.features.compare.stats import Pairs
from carob.scoring.intervals import group_clusters, single_clusters

CONFIDENCE = 0.95
RUNS = 1_000


def is_worse(pairs: Pairs, p: float) -> bool:
    """Whether a comparison would say that the new run is significantly worse."""
    return p <= 1 - CONFIDENCE and stats.score_difference(pairs, CONFIDENCE).high < 0


def found(chance: random.Random, base: float, drop: float, cases: int) -> float:
    """The share of comparisons that are called worse; each case fails as often as its suite does."""
    worse = 0
    for _ in range(RUNS):
        counts = Counter(
            ((int(chance.random() < base), 1), (int(chance.random() < base - drop), 1)) for _ in range(cases)
        )
        p = stats.mcnemar(counts[(1, 1), (0, 1)], counts[(0, 1), (1, 1)])
        worse += is_worse(single_clusters(counts), p)
    return worse / RUNS


def found_in_clusters(chance: random.Random, base: float, drop: float, clusters: int) -> float:
    """The same of clusters of ten, the rate of each drawn anew in each run: noise that its variants share."""
    worse = 0
    for _ in range(RUNS):
        named = {}
        for number in range(clusters):
            before = chance.betavariate(4 * base, 4 * (1 - base))
            after = chance.betavariate(4 * (base - drop), 4 * (1 - base + drop))
            named[str(number)] = Counter(
                ((int(chance.random() < before), 1), (int(chance.random() < after), 1)) for _ in range(10)
            )
        pairs = group_clusters({}, named)
        worse += is_worse(pairs, stats.permutation(pairs))
    return worse / RUNS


def main() -> None:
    chance = random.Random(33)
    print("| single runs | drop | 100 cases | 400 cases |\n|---|---|---|---|")
    for base in (0.95, 0.8):
        for drop in (0.0, 0.05):
            shares = [found(chance, base, drop, cases) for cases in (100, 400)]
            print(f"| {base:.0%} before | {drop * 100:g} points | {shares[0]:.1%} | {shares[1]:.1%} |")
    print("\n| clusters of 10, shared noise | drop | 20 clusters | 40 clusters |\n|---|---|---|---|")
    for drop in (0.0, 0.05, 0.15):
        shares = [found_in_clusters(chance, 0.8, drop, clusters) for clusters in (20, 40)]
        print(f"| 80% before | {drop * 100:g} points | {shares[0]:.1%} | {shares[1]:.1%} |")


if __name__ == "__main__":
    main()
