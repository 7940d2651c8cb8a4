"""`python -m benchmarks.coverage JOURNAL...`: whether the share of asserted tools says how much an audit catches.

Each journal is that of a suite as it is now, with runs that pass. Its suite is taken whole, and thinned by leaving out
checks at random. Each is judged again, audited and measured.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

import carob
from carob.api import load_recorded_suite, open_journal, project_for
from carob.model.check import CheckSpec
from carob.model.suite import Suite, without_checks

SEED = 20261119
KEPT = (0.85, 0.7, 0.55, 0.4, 0.25)
"""The shares of checks that thinned suites keep, in turn."""


class Point(NamedTuple):
    """A suite, whole or thinned: what it asserts, and what it catches."""

    name: str
    kept: float
    tools: int
    asserted: float
    kill_rate: float
    audited: int


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.add_argument("journals", nargs="+")
    parser.add_argument("--thinned", type=int, default=30, help="So many thinned suites in all.")
    given = parser.parse_args(arguments)
    chance = random.Random(SEED)
    points = [_measure(journal, 1.0, chance) for journal in given.journals]
    names = [given.journals[n % len(given.journals)] for n in range(given.thinned)]
    points += [_measure(name, KEPT[n // len(given.journals) % len(KEPT)], chance) for n, name in enumerate(names)]
    print("| suite | checks kept | tools | asserted | kill rate | cases audited |\n|---|---|---|---|---|---|")
    for p in sorted(points, key=lambda p: (p.name, -p.kept)):
        print(f"| {p.name} | {p.kept:.0%} | {p.tools} | {p.asserted:.2f} | {p.kill_rate:.2f} | {p.audited} |")
    _print_correlation("all", points)
    for name in dict.fromkeys(point.name for point in points):
        _print_correlation(name, [point for point in points if point.name == name])
    return 0


def _measure(path: str, kept: float, chance: random.Random) -> Point:
    """Coverage and kill rate of a suite that keeps this share of its checks."""
    journal = open_journal(path, project_for())
    suite = _thin(load_recorded_suite(journal, project_for()), kept, chance)
    with tempfile.TemporaryDirectory() as folder:
        rescored = carob.rescore(journal, suite, results_dir=folder).journal
        summary = carob.audit(rescored).summary
        coverage = carob.coverage(suite, rescored)
    share = coverage.asserted
    return Point(
        Path(suite.file).parent.name + "/" + Path(suite.file).stem,
        kept,
        share.whole,
        share.value,
        summary.rate.value,
        summary.audited,
    )


def _thin(suite: Suite, kept: float, chance: random.Random) -> Suite:
    specs = [spec for case in suite.cases for _, spec in case.all_checks if spec.name != "outcome"]
    left_out = {id(spec) for spec in specs if chance.random() >= kept}

    def is_left_out(spec: CheckSpec) -> bool:
        return id(spec) in left_out

    return structs.replace(suite, cases=tuple(without_checks(case, is_left_out) for case in suite.cases))


def _print_correlation(name: str, points: Sequence[Point]) -> None:
    asserted, killed = [point.asserted for point in points], [point.kill_rate for point in points]
    if len(set(asserted)) < 2 or len(set(killed)) < 2:
        print(f"{name}: {len(points)} suites, all with the same figure")
        return
    pearson, ranks = statistics.correlation(asserted, killed), statistics.correlation(_ranks(asserted), _ranks(killed))
    print(f"{name}: {len(points)} suites, Pearson {pearson:.2f}, Spearman {ranks:.2f}")


def _ranks(values: Sequence[float]) -> list[float]:
    """The mean rank of each value among all."""
    return [sum(other < value for other in values) + (values.count(value) - 1) / 2 for value in values]


if __name__ == "__main__":
    sys.exit(main())
