"""The compared cases of all, of one category or of one tag: how they came out, and what that proves."""

from __future__ import annotations

import math
from collections import Counter

from karat.analysis.compare.compared_cases import ComparedCase
from karat.analysis.compare.model import Bounds, Change, Measure, ScopeComparison
from karat.analysis.compare.stats import Pair, difference, marginals, mcnemar, permutation
from karat.scoring.intervals import Cluster, group_clusters, pass_rate, t_quantile

SHOWN = 200


class Ratio:
    """How often the new run takes what the base takes, over the cases of which both are known; by cluster."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._cases = self._alone = 0
        self._base = self._new = self._base_squares = self._new_squares = self._products = 0.0
        self._clusters: dict[str, tuple[float, float]] = {}

    def add(self, cluster: str, base: float, new: float) -> None:
        self._cases += 1
        self._base += base
        self._new += new
        if cluster:
            before, after = self._clusters.get(cluster, (0.0, 0.0))
            self._clusters[cluster] = before + base, after + new
        else:
            self._alone += 1
            self._base_squares += base * base
            self._new_squares += new * new
            self._products += base * new

    def measure(self, confidence: float) -> Measure:
        cases = self._cases
        return Measure(
            name=self._name,
            cases=cases,
            base=self._base / cases,
            new=self._new / cases,
            ratio=self._bounds(confidence) if self._base > 0 and self._new > 0 else None,
        )

    def _bounds(self, confidence: float) -> Bounds:
        """By the spread of what each cluster is off the ratio, on a scale on which twice and half are equally far."""
        clusters, ratio = self._alone + len(self._clusters), self._new / self._base
        if clusters < 2:
            return Bounds(ratio, 0.0, math.inf)
        squares = self._new_squares - 2 * ratio * self._products + ratio * ratio * self._base_squares
        squares += sum((after - ratio * before) ** 2 for before, after in self._clusters.values())
        error = math.sqrt(max(squares, 0.0) * clusters / (clusters - 1)) / self._new
        spread = math.exp(t_quantile(confidence, clusters - 1) * error)
        return Bounds(ratio, ratio / spread, ratio * spread)


class Scope:
    """The compared cases of one scope, as many as came out alike counted together."""

    def __init__(self) -> None:
        self._alone: Counter[Pair] = Counter()
        self._clusters: dict[str, Counter[Pair]] = {}
        self.changes: Counter[Change] = Counter()
        """What became of those that did not stay green."""
        self.ratios: dict[str, Ratio] = {}
        self.fell: list[str] = []
        """Some cases that fell in too few runs, and some that are flaky: those whose repeats would show most."""
        self.flaky: list[str] = []

    def add(self, base: ComparedCase, new: ComparedCase) -> None:
        cluster = new.cluster
        if cluster:
            self._clusters.setdefault(cluster, Counter())[base.runs, new.runs] += 1
        else:
            self._alone[base.runs, new.runs] += 1
        ratios, after = self.ratios, new.measures
        for name, value in base.measures.items():
            if name in after:
                if name not in ratios:
                    ratios[name] = Ratio(name)
                ratios[name].add(cluster, value, after[name])

    def add_change(self, case_id: str, what: Change) -> None:
        """Note what became of a case, once that is known."""
        self.changes[what] += 1
        worth = {Change.FELL: self.fell, Change.FLAKY: self.flaky}.get(what)
        if worth is not None and len(worth) < SHOWN:
            worth.append(case_id)

    @property
    def pairs(self) -> dict[Cluster[Pair], int]:
        return group_clusters(self._alone, self._clusters)

    @property
    def cases(self) -> int:
        return self._alone.total() + sum(cluster.total() for cluster in self._clusters.values())

    @property
    def clusters(self) -> int:
        return self._alone.total() + len(self._clusters)

    def compare(self, name: str, confidence: float) -> ScopeComparison:
        pairs = self.pairs
        base, new = marginals(pairs)
        single = not self._clusters and all(runs == 1 for pair in self._alone for _, runs in pair)
        return ScopeComparison(
            scope=name,
            cases=self.cases,
            clusters=self.clusters,
            broke=self.changes[Change.BROKE],
            fixed=self.changes[Change.FIXED],
            base=Bounds(*pass_rate(base, confidence)),
            new=Bounds(*pass_rate(new, confidence)),
            difference=Bounds(*difference(pairs, confidence)),
            test="McNemar" if single else "permutation",
            p=mcnemar(*self._moved) if single else permutation(pairs),
            confidence=confidence,
        )

    @property
    def _moved(self) -> tuple[int, int]:
        """How many cases of single runs fell, and how many rose."""
        return self._alone[(1, 1), (0, 1)], self._alone[(0, 1), (1, 1)]

    def measures(self, confidence: float) -> tuple[Measure, ...]:
        return tuple(self.ratios[name].measure(confidence) for name in sorted(self.ratios))
