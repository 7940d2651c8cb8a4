"""The comparison of two runs: every case paired and classified, all of them compared, those worth a look kept."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Final, NamedTuple, TypeAlias

from msgspec import structs

from carob.errors import UsageError
from carob.features.compare import model, stats
from carob.features.compare.compared_cases import ComparedCase, Source, check_names
from carob.journal.run_kinds import ABSENT, is_same_suite
from carob.journal.views import RecordExcerpt
from carob.model.verdict import ACCEPTED
from carob.reports.case_details import short_call_line
from carob.scoring.intervals import Cluster, group_clusters, pass_rate, t_quantile
from carob.text.wording import pluralize, shorten

PairedCases: TypeAlias = tuple[ComparedCase | None, ComparedCase | None]
LISTED = 10_000
"""Cases that are listed by name; of the rest, only the number is given."""
IN_FULL = 200
"""Cases of which answers and calls are looked up, and ids that a scope keeps to name some."""
SCOPES = 100
FEW = 6
"""Fewer clusters than this never prove a difference, whatever became of their cases."""
ANSWER, CALLS, CALL, FOUND = 400, 12, 120, 160
_STEADY: Final = model.Change.STEADY  # looked up once: members of an enum are slow to reach


def pair_cases(base: Iterable[ComparedCase], new: Iterable[ComparedCase]) -> Iterator[PairedCases]:
    """Every case of both runs, by id. Runs of one suite go side by side, so that hardly any case is kept waiting."""
    waiting_base: dict[str, ComparedCase] = {}
    waiting_new: dict[str, ComparedCase] = {}
    for before, after in zip_longest(base, new):
        if before is not None and after is not None and before.id == after.id:
            yield before, after
            continue
        if before is not None:
            if before.id in waiting_new:
                yield before, waiting_new.pop(before.id)
            else:
                waiting_base[before.id] = before
        if after is not None:
            if after.id in waiting_base:
                yield waiting_base.pop(after.id), after
            else:
                waiting_new[after.id] = after
    yield from ((case, None) for case in waiting_base.values())
    yield from ((None, case) for case in waiting_new.values())


def classify(base: ComparedCase | None, new: ComparedCase | None, confidence: float) -> model.Change:
    """What became of a case; of one that fell, BROKE until all that fell are judged together.

    A flaky one was fixed only if that is unlikely to be chance.
    """
    if base is None:
        return model.Change.NEW
    if new is None:
        return model.Change.REMOVED
    if base.asks != new.asks:
        return model.Change.PROMPT_CHANGED
    if base.expects != new.expects:
        return model.Change.EXPECTATIONS_CHANGED
    if base.judges and new.judges and base.judges != new.judges:
        return model.Change.ANOTHER_JUDGE
    if not (base.judged and new.judged):
        return model.Change.ERRED if base.errors or new.errors else model.Change.SKIPPED
    rise = new.passed * base.judged - base.passed * new.judged
    if rise < 0:
        return model.Change.BROKE
    if rise > 0:
        flaky = (base.is_flaky or new.is_flaky) and stats.fisher(base.runs, new.runs) > 1 - confidence
        return model.Change.FLAKY if flaky else model.Change.FIXED
    return model.Change.FLAKY if new.is_flaky else model.Change.STEADY if new.passed else model.Change.RED


def settle_fall(base: ComparedCase, new: ComparedCase, *, is_significant: bool) -> model.Change:
    """What became of a case that fell; `shown`: chance does not explain it."""
    if is_significant:
        return model.Change.BROKE
    return model.Change.FELL if not new.passed and base.passed == base.judged else model.Change.FLAKY


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

    def measure(self, confidence: float) -> model.Measure:
        cases = self._cases
        return model.Measure(
            name=self._name,
            cases=cases,
            base=self._base / cases,
            new=self._new / cases,
            ratio=self._bounds(confidence) if self._base > 0 and self._new > 0 else None,
        )

    def _bounds(self, confidence: float) -> model.Bounds:
        """By the spread of what each cluster is off the ratio, on a scale on which twice and half are equally far."""
        clusters, ratio = self._alone + len(self._clusters), self._new / self._base
        if clusters < 2:
            return model.Bounds(ratio, 0.0, math.inf)
        squares = self._new_squares - 2 * ratio * self._products + ratio * ratio * self._base_squares
        squares += sum((after - ratio * before) ** 2 for before, after in self._clusters.values())
        error = math.sqrt(max(squares, 0.0) * clusters / (clusters - 1)) / self._new
        spread = math.exp(t_quantile(confidence, clusters - 1) * error)
        return model.Bounds(ratio, ratio / spread, ratio * spread)


class Scope:
    """The compared cases of all, of one category or of one tag; as many as came out alike are counted together."""

    def __init__(self) -> None:
        self._alone: Counter[stats.Pair] = Counter()
        self._clusters: dict[str, Counter[stats.Pair]] = {}
        self.changes: Counter[model.Change] = Counter()
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

    def add_change(self, case_id: str, change: model.Change) -> None:
        """Note what became of a case, once that is known."""
        self.changes[change] += 1
        ids = {model.Change.FELL: self.fell, model.Change.FLAKY: self.flaky}.get(change)
        if ids is not None and len(ids) < IN_FULL:
            ids.append(case_id)

    @property
    def pairs(self) -> dict[Cluster[stats.Pair], int]:
        return group_clusters(self._alone, self._clusters)

    @property
    def cases(self) -> int:
        return self._alone.total() + sum(cluster.total() for cluster in self._clusters.values())

    @property
    def clusters(self) -> int:
        return self._alone.total() + len(self._clusters)

    def compare(self, name: str, confidence: float) -> model.ScopeComparison:
        pairs, alone = self.pairs, self._alone
        base, new = stats.marginals(pairs)
        single = not self._clusters and all(runs == 1 for pair in alone for _, runs in pair)
        return model.ScopeComparison(
            scope=name,
            cases=self.cases,
            clusters=self.clusters,
            broke=self.changes[model.Change.BROKE],
            fixed=self.changes[model.Change.FIXED],
            base=model.Bounds(*pass_rate(base, confidence)),
            new=model.Bounds(*pass_rate(new, confidence)),
            difference=model.Bounds(*stats.difference(pairs, confidence)),
            test="McNemar" if single else "permutation",
            p=stats.mcnemar(alone[(1, 1), (0, 1)], alone[(0, 1), (1, 1)]) if single else stats.permutation(pairs),
            confidence=confidence,
        )


class Fall(NamedTuple):
    """A case that fell, to be judged with the others that did; `position` is where it is listed, if it is."""

    base: ComparedCase
    new: ComparedCase
    position: int | None


class ComparisonBuilder:
    """Takes two runs and compares them. Gates look at the scopes that it keeps."""

    def __init__(self, base: Source, new: Source, confidence: float) -> None:
        self._sources = base, new
        self.confidence = confidence
        self.overall = Scope()
        self.scopes: dict[str, Scope] = {}
        self.erred: Counter[str] = Counter()
        """Cases whose new runs ended in an error, by scope: they are not compared, and no gate is met over them."""
        self.added_failures: Counter[str] = Counter()
        """Cases that fail and were not in the base, or not with the same prompt and expectations, by scope."""
        self.lost: Counter[str] = Counter()
        """Cases of the base that the new run does not have, by scope."""
        self._counts: Counter[model.Change] = Counter()
        self._flips: Counter[str] = Counter()
        self._changes: list[model.CaseChange] = []
        self._left_off = 0
        self._falls: list[Fall] = []
        self._wavering: Counter[stats.Pair] = Counter()
        """Cases that failed at times and did not fall."""
        self._totals: tuple[Counter[str], Counter[str]] = Counter(), Counter()
        for pair in pair_cases(base, new):
            self._add(*pair)
        self._settle_falls()

    def _add(self, base: ComparedCase | None, new: ComparedCase | None) -> None:
        if base is not None:
            self._totals[0].update(base.size)
        if new is not None:
            self._totals[1].update(new.size)
            if new.errors:
                self.erred.update(["", *scopes_of(new)])
        change = classify(base, new, self.confidence)
        position = self._keep(base, new, change) if change is not _STEADY else None
        if base is None or new is None or change not in model.COMPARED:
            self._counts[change] += 1
            if new is not None and change in model.NOT_IN_BASE and new.passed < new.judged:
                self.added_failures.update(["", *scopes_of(new)])
            if base is not None and new is None:
                self.lost.update(["", *scopes_of(base)])
            return
        self.overall.add(base, new)
        for name in scopes_of(new):
            if name not in self.scopes and len(self.scopes) < SCOPES:
                self.scopes[name] = Scope()
            if name in self.scopes:
                self.scopes[name].add(base, new)
        if change in (model.Change.FIXED, model.Change.FLAKY) and base.passed:
            self._wavering[base.runs, new.runs] += 1
        if change is model.Change.BROKE:
            self._falls.append(Fall(base, new, position))
        else:
            self._count(new, change)

    def _count(self, new: ComparedCase, change: model.Change) -> None:
        self._counts[change] += 1
        if change is not _STEADY:
            self.overall.add_change(new.id, change)
            for name in scopes_of(new):
                if name in self.scopes:
                    self.scopes[name].add_change(new.id, change)

    def _settle_falls(self) -> None:
        """Say of each case that fell whether it broke. The runs of a deterministic target need no test."""
        falls, certain = self._falls, self._sources[1].side().deterministic
        significant = stats.find_fallen(
            [(fall.base.runs, fall.new.runs) for fall in falls], self.confidence, self._wavering
        )
        for fall, is_shown in zip(falls, significant, strict=True):
            change = settle_fall(fall.base, fall.new, is_significant=is_shown or certain)
            self._count(fall.new, change)
            if fall.position is not None:
                self._changes[fall.position] = structs.replace(self._changes[fall.position], change=change)

    def _keep(self, base: ComparedCase | None, new: ComparedCase | None, change: model.Change) -> int | None:
        """List a case with what flipped in it; where it is listed."""
        case = new or base
        assert case is not None
        flips: tuple[model.Flip, ...] = ()
        excerpts: list[model.RunExcerpt | None] = [None, None]
        if base and new and change in model.COMPARED:
            flips = _flips(base, new)
            self._flips.update(flip.check for flip in flips)
            if flips and len(self._changes) < IN_FULL:
                flips, excerpts = self._look_up(base, new, flips)
        if len(self._changes) >= LISTED:
            self._left_off += 1
            return None
        self._changes.append(
            model.CaseChange(
                id=case.id,
                change=change,
                category=case.category,
                base=str(base) if base else "",
                new=str(new) if new else "",
                flips=flips,
                base_excerpt=excerpts[0],
                new_excerpt=excerpts[1],
            )
        )
        return len(self._changes) - 1

    def _look_up(
        self, base: ComparedCase, new: ComparedCase, flips: tuple[model.Flip, ...]
    ) -> tuple[tuple[model.Flip, ...], list[model.RunExcerpt | None]]:
        """What was said and called in a run of each side that shows the change, and what the flipped checks found."""
        better = new.passed / new.judged > base.passed / base.judged
        before = self._sources[0].find_record(base, passed=not better)
        after = self._sources[1].find_record(new, passed=better)
        failing = before if better else after
        return tuple(_with_found(flip, failing) for flip in flips), [excerpt_of(before), excerpt_of(after)]

    def comparison(self, notes: Sequence[str] = ()) -> model.Comparison:
        sides = zip(self._sources, self._totals, strict=True)
        base, new = (structs.replace(source.side(), **totals) for source, totals in sides)
        if not self.overall.cases:
            reasons = ", ".join(f"{count} {change}" for change, count in self._counts.items()) or "no case at all"
            fix = "Compare runs of one suite; `carob rescore --suite` judges an older run by newer expectations."
            raise UsageError(
                f"no case can be compared with {base.path}: {reasons}.", where=new.path, fix=fix, slug="nothing-common"
            )
        confidence = self.confidence
        groups = [scope.compare(name, confidence) for name, scope in sorted(self.scopes.items())]
        p_values = stats.holm([group.p for group in groups])
        return model.Comparison(
            base=base,
            new=new,
            confidence=confidence,
            counts={change.value: count for change in model.Change if (count := self._counts[change])},
            overall=self.overall.compare("", confidence),
            groups=tuple(structs.replace(group, p=p) for group, p in zip(groups, p_values, strict=True)),
            measures=tuple(ratio.measure(confidence) for _, ratio in sorted(self.overall.ratios.items())),
            changes=tuple(sorted(self._changes, key=lambda case: list(model.Change).index(case.change))),
            left_off=self._left_off,
            flips=dict(self._flips.most_common(SCOPES)),
            differs=tuple(differences(base, new)),
            notes=(*notes, *self._notes(base, new)),
        )

    def _notes(self, base: model.RunSide, new: model.RunSide) -> Iterator[str]:
        for name, side in (("base", base), ("new run", new)):
            if side.incomplete:
                yield f"the {name} is not complete: {side.incomplete}"
        cases, clusters = self.overall.cases, self.overall.clusters
        if cases == 1:
            yield "only one case can be compared, which shows hardly anything"
        elif clusters < min(FEW, cases):
            yield (
                f"{pluralize(cases, 'case')} in {pluralize(clusters, 'cluster')} show hardly anything:"
                " rows of one `each` are variants of one case;"
                " give rows that are not a `cluster` of their own, such as 'row-{column}'"
            )
        if len(self.scopes) >= SCOPES:
            yield f"only the first {SCOPES} categories and tags are compared"


def scopes_of(result: ComparedCase) -> list[str]:
    """The categories and tags that a case is looked at under."""
    category = [f"category {result.category}"] if result.category else []
    return category + [f"tag {tag}" for tag in dict.fromkeys(result.tags)]


def _flips(base: ComparedCase, new: ComparedCase) -> tuple[model.Flip, ...]:
    """The expectations that hold more often in one run than in the other."""
    flips = []
    for check in dict.fromkeys((*base.lacks, *new.lacks)):
        before, after = base.lacks.get(check, base.judged), new.lacks.get(check, new.judged)
        if before * new.judged != after * base.judged:
            flips.append(model.Flip(check, f"held in {before} of {base.judged}", f"held in {after} of {new.judged}"))
    return tuple(flips)


def _with_found(flip: model.Flip, record: RecordExcerpt | None) -> model.Flip:
    if record is not None:
        for name, check in zip(check_names(record.case), record.verdict.checks, strict=False):
            if name == flip.check and check.status not in ACCEPTED:
                evidence = f"; found: {check.found}" if check.found else ""
                return structs.replace(flip, found=shorten(f"expected: {check.expected}{evidence}", FOUND))
    return flip


def excerpt_of(record: RecordExcerpt | None) -> model.RunExcerpt | None:
    if record is None:
        return None
    calls = record.trace.tool_calls
    lines = [short_call_line(call, CALL) for call in calls[:CALLS]]
    more = [f"and {len(calls) - CALLS} more"] if len(calls) > CALLS else []
    return model.RunExcerpt(shorten(record.trace.final_message, ANSWER), tuple(lines + more))


def differences(base: model.RunSide, new: model.RunSide) -> Iterator[str]:
    """What is not the same in both runs, the weightiest first; commits are given with each run."""
    changes = [] if is_same_suite(base.suite, new.suite) else [("suite", base.suite, new.suite)]
    changes += [("target", base.target, new.target), ("version", base.version, new.version)]
    if base.settings and new.settings:
        changes += [
            (name, base.settings.get(name, ""), new.settings.get(name, ""))
            for name in dict.fromkeys((*base.settings, *new.settings))
            if name != "use" or base.target == new.target  # the target says it already
        ]
    for name, before, after in changes:
        if before != after:
            yield f"{name}: {before or ABSENT} → {after or ABSENT}"
