"""The comparison of two runs: every case paired and placed, all of them weighed, those worth a look kept."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Final, Protocol, TypeAlias

from msgspec import structs

from karat.compare.compared_cases import ComparedCase, check_names
from karat.compare.stats import (
    Estimate,
    Runs,
    difference,
    fisher,
    holm,
    marginals,
    mcnemar,
    pass_rate,
    permutation,
    t_quantile,
)
from karat.errors import UsageError
from karat.journal.views import RecordExcerpt
from karat.model.comparison import (
    COMPARED,
    Bounds,
    CaseChange,
    Change,
    Comparison,
    Flip,
    Measure,
    RunSide,
    Seen,
    Weighed,
)
from karat.model.verdict import Status

Pair: TypeAlias = tuple[ComparedCase | None, ComparedCase | None]
LISTED = 10_000
"""Cases that are listed by name; of the rest, only the number is given."""
SHOWN = 200
"""Of these, how many show what was said and called."""
SCOPES = 100
ANSWER, CALLS, CALL, FOUND = 400, 12, 80, 160
_STEADY: Final = Change.STEADY  # looked up once: members of an enum are slow to reach


def pair_cases(base: Iterable[ComparedCase], new: Iterable[ComparedCase]) -> Iterator[Pair]:
    """Every case of both runs, by id. Runs of one suite go side by side, so that hardly any case is kept waiting."""
    waiting: tuple[dict[str, ComparedCase], dict[str, ComparedCase]] = {}, {}
    for one, other in zip_longest(base, new):
        if one is not None and other is not None and one.id == other.id:
            yield one, other
            continue
        if one is not None:
            if (met := waiting[1].pop(one.id, None)) is not None:
                yield one, met
            else:
                waiting[0][one.id] = one
        if other is not None:
            if (met := waiting[0].pop(other.id, None)) is not None:
                yield met, other
            else:
                waiting[1][other.id] = other
    yield from ((one, None) for one in waiting[0].values())
    yield from ((None, other) for other in waiting[1].values())


def change(base: ComparedCase | None, new: ComparedCase | None, confidence: float) -> Change:
    """What became of a case. A flaky one broke or was fixed only if that is unlikely to be chance."""
    if base is None:
        return Change.NEW
    if new is None:
        return Change.GONE
    if base.asks != new.asks:
        return Change.ASKS_OTHER
    if base.expects != new.expects:
        return Change.EXPECTS_OTHER
    if not (base.judged and new.judged):
        return Change.ERRED if base.errors or new.errors else Change.APART
    if base.flickers or new.flickers:
        if fisher(base.runs, new.runs) > 1 - confidence:
            return Change.FLICKERS
        return Change.FIXED if new.passed / new.judged > base.passed / base.judged else Change.BROKE
    if base.passed:
        return Change.STEADY if new.passed else Change.BROKE
    return Change.FIXED if new.passed else Change.RED


class Ratio:
    """How often the new run takes what the base takes, over the cases of which both are known."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._cases = 0
        self._base = self._new = self._base_squares = self._new_squares = self._products = 0.0

    def add(self, base: float, new: float) -> None:
        self._cases += 1
        self._base += base
        self._new += new
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
        """By the spread of what each case is off the ratio, on a scale on which twice and half are equally far."""
        cases, ratio = self._cases, self._new / self._base
        if cases < 2:
            return Bounds(ratio, 0.0, math.inf)
        squares = self._new_squares - 2 * ratio * self._products + ratio * ratio * self._base_squares
        error = math.sqrt(max(squares, 0.0) * cases / (cases - 1)) / self._new
        spread = math.exp(t_quantile(confidence, cases - 1) * error)
        return Bounds(ratio, ratio / spread, ratio * spread)


class Source(Protocol):
    """A run, or what is kept of one, to compare with another."""

    def __iter__(self) -> Iterator[ComparedCase]: ...

    def side(self, cases: int, runs: int, errors: int) -> RunSide: ...

    def seen(self, result: ComparedCase, *, passed: bool) -> RecordExcerpt | None: ...


class Scope:
    """The compared cases of one scope, as many as came out alike counted together."""

    def __init__(self) -> None:
        self.pairs: Counter[tuple[Runs, Runs]] = Counter()
        self.changes: Counter[Change] = Counter()
        """What became of those that did not stay green."""
        self.ratios: dict[str, Ratio] = {}
        self.worse: list[str] = []
        """Some cases that broke or are flaky: those whose repeats would show most."""
        self.flaky: list[str] = []

    def add(self, base: ComparedCase, new: ComparedCase, what: Change) -> None:
        self.pairs[base.runs, new.runs] += 1
        ratios, after = self.ratios, new.measures
        for name, value in base.measures.items():
            if name in after:
                if name not in ratios:
                    ratios[name] = Ratio(name)
                ratios[name].add(value, after[name])
        if what is not _STEADY:
            self._add_change(new, what)

    def _add_change(self, new: ComparedCase, what: Change) -> None:
        self.changes[what] += 1
        if what in (Change.BROKE, Change.FLICKERS) and len(self.worse) < SHOWN:
            self.worse.append(new.id)
            if what is Change.FLICKERS:
                self.flaky.append(new.id)

    def weighed(self, name: str, confidence: float) -> Weighed:
        base, new = marginals(self.pairs)
        single = all(runs == 1 for pair in self.pairs for _, runs in pair)
        broke, fixed = self.changes[Change.BROKE], self.changes[Change.FIXED]
        return Weighed(
            scope=name,
            cases=self.pairs.total(),
            broke=broke,
            fixed=fixed,
            base=_bounds(pass_rate(base, confidence)),
            new=_bounds(pass_rate(new, confidence)),
            difference=_bounds(difference(self.pairs, confidence)),
            test="McNemar" if single else "permutation",
            p=mcnemar(broke, fixed) if single else permutation(self.pairs),
            confidence=confidence,
        )

    def measures(self, confidence: float) -> tuple[Measure, ...]:
        return tuple(self.ratios[name].measure(confidence) for name in sorted(self.ratios))


class SideCounts:
    """What a run adds up to."""

    def __init__(self) -> None:
        self.cases = self.runs = self.errors = 0

    def add(self, result: ComparedCase) -> None:
        self.cases += 1
        self.runs += result.judged
        self.errors += result.errors


class ComparisonBuilder:
    """Takes two runs and weighs them. Gates look at the scopes that it keeps."""

    def __init__(self, base: Source, new: Source, confidence: float) -> None:
        self._sources = base, new
        self.confidence = confidence
        self.overall = Scope()
        self.scopes: dict[str, Scope] = {}
        self.erred: Counter[str] = Counter()
        """Cases whose new runs ended in an error, by scope: they are not compared, and no gate is met over them."""
        self._counts: Counter[Change] = Counter()
        self._flips: Counter[str] = Counter()
        self._changes: list[CaseChange] = []
        self._left_off = 0
        self._sides = SideCounts(), SideCounts()
        for pair in pair_cases(base, new):
            self._add(*pair)

    def _add(self, base: ComparedCase | None, new: ComparedCase | None) -> None:
        if base is not None:
            self._sides[0].add(base)
        if new is not None:
            self._sides[1].add(new)
        what = change(base, new, self.confidence)
        self._counts[what] += 1
        if new is not None and new.errors:
            self.erred.update(["", *scopes_of(new)])
        if base is not None and new is not None and what in COMPARED:
            self.overall.add(base, new, what)
            for name in scopes_of(new):
                if name not in self.scopes and len(self.scopes) < SCOPES:
                    self.scopes[name] = Scope()
                if name in self.scopes:
                    self.scopes[name].add(base, new, what)
        if what is not _STEADY:
            self._keep(base, new, what)

    def _keep(self, base: ComparedCase | None, new: ComparedCase | None, what: Change) -> None:
        flips = _flips(base, new) if base and new and what in COMPARED else ()
        self._flips.update(flip.check for flip in flips)
        if len(self._changes) >= LISTED:
            self._left_off += 1
            return
        known = new or base
        assert known is not None
        shown: list[Seen | None] = [None, None]
        if base and new and flips and len(self._changes) < SHOWN:
            flips, shown = self._looked_up(base, new, flips)
        self._changes.append(
            CaseChange(
                id=known.id,
                change=what,
                category=known.category,
                base=str(base) if base else "",
                new=str(new) if new else "",
                flips=flips,
                base_seen=shown[0],
                new_seen=shown[1],
            )
        )

    def _looked_up(
        self, base: ComparedCase, new: ComparedCase, flips: tuple[Flip, ...]
    ) -> tuple[tuple[Flip, ...], list[Seen | None]]:
        """What was said and called in a run of each side that shows the change, and what the flipped checks found."""
        better = new.passed / new.judged > base.passed / base.judged
        records = [
            source.seen(result, passed=passed)
            for source, result, passed in zip(self._sources, (base, new), (not better, better), strict=True)
        ]
        failing = records[0] if better else records[1]
        return tuple(_with_found(flip, failing) for flip in flips), [_seen(record) for record in records]

    def comparison(self, notes: Sequence[str] = ()) -> Comparison:
        base, new = (
            source.side(side.cases, side.runs, side.errors)
            for source, side in zip(self._sources, self._sides, strict=True)
        )
        self._refuse_nothing(base, new)
        confidence = self.confidence
        groups = [scope.weighed(name, confidence) for name, scope in sorted(self.scopes.items())]
        return Comparison(
            base=base,
            new=new,
            confidence=confidence,
            counts={what.value: count for what in Change if (count := self._counts[what])},
            overall=self.overall.weighed("", confidence),
            groups=corrected(groups),
            measures=self.overall.measures(confidence),
            changes=tuple(sorted(self._changes, key=lambda change: list(Change).index(change.change))),
            left_off=self._left_off,
            flips=dict(self._flips.most_common(SCOPES)),
            notes=(*notes, *self._notes(base, new)),
        )

    def _refuse_nothing(self, base: RunSide, new: RunSide) -> None:
        if self.overall.pairs:
            return
        reasons = ", ".join(f"{count} {what.value}" for what, count in self._counts.items()) or "no case at all"
        fix = "Compare runs of one suite; `karat rescore --suite` judges an older run by newer expectations."
        raise UsageError(
            f"no case can be compared with {base.path}: {reasons}.", where=new.path, fix=fix, slug="nothing-common"
        )

    def _notes(self, base: RunSide, new: RunSide) -> Iterator[str]:
        for name, side in (("base", base), ("new run", new)):
            if side.incomplete:
                yield f"the {name} is not complete: {side.incomplete}"
        if base.suite != new.suite:
            yield f"the runs are of different suites: {base.suite} and {new.suite}"
        if self.overall.pairs.total() == 1:
            yield "only one case can be compared, which shows hardly anything"
        if len(self.scopes) >= SCOPES:
            yield f"only the first {SCOPES} categories and tags are weighed"


def corrected(groups: Sequence[Weighed]) -> tuple[Weighed, ...]:
    """The same groups, their p-values corrected for how many are looked at."""
    values = holm([group.p for group in groups])
    return tuple(structs.replace(group, p=p) for group, p in zip(groups, values, strict=True))


def scopes_of(result: ComparedCase) -> list[str]:
    """The categories and tags that a case is looked at under."""
    category = [f"category {result.category}"] if result.category else []
    return category + [f"tag {tag}" for tag in dict.fromkeys(result.tags)]


def _flips(base: ComparedCase, new: ComparedCase) -> tuple[Flip, ...]:
    """The expectations that hold more often in one run than in the other."""
    found = []
    for check in dict.fromkeys((*base.lacks, *new.lacks)):
        before, after = base.lacks.get(check, base.judged), new.lacks.get(check, new.judged)
        if before * new.judged != after * base.judged:
            found.append(Flip(check, f"held in {before} of {base.judged}", f"held in {after} of {new.judged}"))
    return tuple(found)


def _with_found(flip: Flip, record: RecordExcerpt | None) -> Flip:
    if record is not None:
        for name, check in zip(check_names(record.case), record.verdict.checks, strict=False):
            if name == flip.check and check.status is not Status.PASSED:
                return Flip(name, flip.before, flip.after, f"expected {check.expected}, found {check.found}"[:FOUND])
    return flip


def _seen(record: RecordExcerpt | None) -> Seen | None:
    if record is None:
        return None
    calls = [str(call)[:CALL] for call in record.trace.tool_calls]
    more = [f"and {len(calls) - CALLS} more"] if len(calls) > CALLS else []
    answer = record.trace.final_message
    return Seen(answer if len(answer) <= ANSWER else f"{answer[:ANSWER]}…", tuple(calls[:CALLS] + more))


def _bounds(estimate: Estimate) -> Bounds:
    return Bounds(*estimate)
