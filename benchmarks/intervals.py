"""How often the interval of a pass rate holds the true one: by simulation, seeded.

    .venv/bin/python -m benchmarks.intervals

The table is Markdown, for docs/statistics.md; `tests/scoring/test_coverage_of_intervals.py` holds it to 94 %.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from carob.scoring.intervals import Clusters, Runs, group_clusters, pass_rate, single_clusters

RATES = (0.5, 0.8, 0.9, 0.95, 0.99)
TRIALS = 2_000


class Design(NamedTuple):
    """Clusters of so many cases with so many runs each; `like`: how alike those of a cluster are, from 0 to 1."""

    name: str
    clusters: int
    cases: int = 1
    runs: int = 1
    like: float = 0.0
    alone: int = 0
    """Cases of their own besides."""


DESIGNS = (
    Design("10 cases, run once", 10),
    Design("100 cases, run once", 100),
    Design("5 cases, 10 runs each", 5, runs=10, like=0.2),
    Design("20 cases, 5 runs each", 20, runs=5, like=0.2),
    Design("20 cases, 5 runs each, most pass or fail whole", 20, runs=5, like=0.5),
    Design("10 cases, 5 runs each, alike by chance alone", 10, runs=5),
    Design("8 tables of 10 rows", 8, cases=10, like=0.5),
    Design("40 tables of 10 rows", 40, cases=10, like=0.2),
    Design("one table of 300 rows, 30 cases of their own", 1, cases=300, like=0.2, alone=30),
)


def draw(chance: random.Random, design: Design, rate: float) -> Clusters[Runs]:
    """What one run of a suite comes to."""
    named: dict[str, Counter[Runs]] = {}
    for number in range(design.clusters):
        spread = (1 - design.like) / design.like if design.like else 0.0
        own = chance.betavariate(spread * rate, spread * (1 - rate)) if spread else rate
        named[str(number)] = Counter(
            (sum(chance.random() < own for _ in range(design.runs)), design.runs) for _ in range(design.cases)
        )
    alone = Counter((int(chance.random() < rate), 1) for _ in range(design.alone))
    if design.cases == 1:
        return single_clusters(sum(named.values(), alone))
    return group_clusters(alone, named)


def coverage(design: Design, rate: float, trials: int = TRIALS) -> float:
    """The share of simulated runs whose interval holds the true rate."""
    chance = random.Random(f"{design} {rate}")
    estimates = (pass_rate(draw(chance, design, rate)) for _ in range(trials))
    return sum(estimate.low <= rate <= estimate.high for estimate in estimates) / trials


def table(trials: int = TRIALS) -> Iterator[str]:
    """The rows of the table."""
    yield f"| pass rate | {' | '.join(f'{rate:.0%}' for rate in RATES)} |"
    yield f"|---|{'---|' * len(RATES)}"
    for design in DESIGNS:
        yield f"| {design.name} | {' | '.join(f'{coverage(design, rate, trials):.1%}' for rate in RATES)} |"


def main() -> None:
    for row in table():
        print(row)


if __name__ == "__main__":
    main()
