"""The comparison of two runs: every case paired and placed, all of them weighed, those worth a look kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Final, NamedTuple, Protocol, TypeAlias

from msgspec import structs

from karat.analysis.compare.compared_cases import ComparedCase, check_names
from karat.analysis.compare.model import (
    COMPARED,
    CaseChange,
    Change,
    Comparison,
    Flip,
    RunExcerpt,
    RunSide,
    ScopeComparison,
)
from karat.analysis.compare.run_differences import differences
from karat.analysis.compare.scopes import SHOWN, Scope
from karat.analysis.compare.stats import Pair, find_fallen, fisher, holm
from karat.errors import UsageError
from karat.journal.views import RecordExcerpt
from karat.model.verdict import Status
from karat.text.wording import pluralize, shorten

PairedCases: TypeAlias = tuple[ComparedCase | None, ComparedCase | None]
LISTED = 10_000
"""Cases that are listed by name; of the rest, only the number is given."""
SCOPES = 100
FEW = 6
"""Fewer clusters than this never prove a difference, whatever became of their cases."""
ANSWER, CALLS, CALL, FOUND = 400, 12, 80, 160
_STEADY: Final = Change.STEADY  # looked up once: members of an enum are slow to reach


def pair_cases(base: Iterable[ComparedCase], new: Iterable[ComparedCase]) -> Iterator[PairedCases]:
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
    """What became of a case; of one that fell, BROKE until all that fell are weighed together.

    A flaky one was fixed only if that is unlikely to be chance.
    """
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
    rise = new.passed * base.judged - base.passed * new.judged
    if rise < 0:
        return Change.BROKE
    if rise > 0:
        flaky = (base.flickers or new.flickers) and fisher(base.runs, new.runs) > 1 - confidence
        return Change.FLAKY if flaky else Change.FIXED
    return Change.FLAKY if new.flickers else Change.STEADY if new.passed else Change.RED


def settle_fall(base: ComparedCase, new: ComparedCase, *, shown: bool) -> Change:
    """What became of a case that fell; `shown`: chance does not explain it."""
    if shown:
        return Change.BROKE
    return Change.FELL if not new.passed and base.passed == base.judged else Change.FLAKY


class Source(Protocol):
    """A run, or what is kept of one, to compare with another."""

    def __iter__(self) -> Iterator[ComparedCase]: ...

    def side(self, cases: int, runs: int, errors: int) -> RunSide: ...

    def find_record(self, result: ComparedCase, *, passed: bool) -> RecordExcerpt | None: ...


class Fall(NamedTuple):
    """A case that fell, to be weighed with the others that did; `place` is where it is listed, if it is."""

    base: ComparedCase
    new: ComparedCase
    place: int | None


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
        self._falls: list[Fall] = []
        self._wavering: Counter[Pair] = Counter()
        """Cases that failed at times and did not fall."""
        self._sides = SideCounts(), SideCounts()
        for pair in pair_cases(base, new):
            self._add(*pair)
        self._settle_falls()

    def _add(self, base: ComparedCase | None, new: ComparedCase | None) -> None:
        if base is not None:
            self._sides[0].add(base)
        if new is not None:
            self._sides[1].add(new)
        what = change(base, new, self.confidence)
        if new is not None and new.errors:
            self.erred.update(["", *scopes_of(new)])
        if base is not None and new is not None and what in COMPARED:
            self.overall.add(base, new)
            for name in scopes_of(new):
                if name not in self.scopes and len(self.scopes) < SCOPES:
                    self.scopes[name] = Scope()
                if name in self.scopes:
                    self.scopes[name].add(base, new)
        place = self._keep(base, new, what) if what is not _STEADY else None
        if what in (Change.FIXED, Change.FLAKY) and base is not None and new is not None and base.passed:
            self._wavering[base.runs, new.runs] += 1
        if what is Change.BROKE:
            assert base is not None
            assert new is not None
            self._falls.append(Fall(base, new, place))
        else:
            self._count(base, new, what)

    def _count(self, base: ComparedCase | None, new: ComparedCase | None, what: Change) -> None:
        self._counts[what] += 1
        if what is not _STEADY and what in COMPARED and new is not None:
            self.overall.add_change(new.id, what)
            for name in scopes_of(new):
                if name in self.scopes:
                    self.scopes[name].add_change(new.id, what)

    def _settle_falls(self) -> None:
        """Say of each case that fell whether it broke. The runs of a deterministic target need no test."""
        falls, certain = self._falls, self._sources[1].side(0, 0, 0).deterministic
        shown = find_fallen([(fall.base.runs, fall.new.runs) for fall in falls], self.confidence, self._wavering)
        for fall, is_shown in zip(falls, shown, strict=True):
            what = settle_fall(fall.base, fall.new, shown=is_shown or certain)
            self._count(fall.base, fall.new, what)
            if fall.place is not None and what is not Change.BROKE:
                self._changes[fall.place] = structs.replace(self._changes[fall.place], change=what)

    def _keep(self, base: ComparedCase | None, new: ComparedCase | None, what: Change) -> int | None:
        flips = _flips(base, new) if base and new and what in COMPARED else ()
        self._flips.update(flip.check for flip in flips)
        if len(self._changes) >= LISTED:
            self._left_off += 1
            return None
        known = new or base
        assert known is not None
        shown: list[RunExcerpt | None] = [None, None]
        if base and new and flips and len(self._changes) < SHOWN:
            flips, shown = self._look_up(base, new, flips)
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
        return len(self._changes) - 1

    def _look_up(
        self, base: ComparedCase, new: ComparedCase, flips: tuple[Flip, ...]
    ) -> tuple[tuple[Flip, ...], list[RunExcerpt | None]]:
        """What was said and called in a run of each side that shows the change, and what the flipped checks found."""
        better = new.passed / new.judged > base.passed / base.judged
        records = [
            source.find_record(result, passed=passed)
            for source, result, passed in zip(self._sources, (base, new), (not better, better), strict=True)
        ]
        failing = records[0] if better else records[1]
        return tuple(_with_found(flip, failing) for flip in flips), [_excerpt_of(record) for record in records]

    def comparison(self, notes: Sequence[str] = ()) -> Comparison:
        base, new = (
            source.side(side.cases, side.runs, side.errors)
            for source, side in zip(self._sources, self._sides, strict=True)
        )
        self._refuse_nothing(base, new)
        confidence = self.confidence
        groups = [scope.compare(name, confidence) for name, scope in sorted(self.scopes.items())]
        return Comparison(
            base=base,
            new=new,
            confidence=confidence,
            counts={what.value: count for what in Change if (count := self._counts[what])},
            overall=self.overall.compare("", confidence),
            groups=correct_p_values(groups),
            measures=self.overall.measures(confidence),
            changes=tuple(sorted(self._changes, key=lambda change: list(Change).index(change.change))),
            left_off=self._left_off,
            flips=dict(self._flips.most_common(SCOPES)),
            differs=tuple(differences(base, new)),
            notes=(*notes, *self._notes(base, new)),
        )

    def _refuse_nothing(self, base: RunSide, new: RunSide) -> None:
        if self.overall.cases:
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


def correct_p_values(groups: Sequence[ScopeComparison]) -> tuple[ScopeComparison, ...]:
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
                words = (
                    f"expected: {check.expected}; found: {check.found}"
                    if check.found
                    else f"expected: {check.expected}"
                )
                return Flip(name, flip.before, flip.after, shorten(words, FOUND))
    return flip


def _excerpt_of(record: RecordExcerpt | None) -> RunExcerpt | None:
    if record is None:
        return None
    calls = [shorten(str(call), CALL) for call in record.trace.tool_calls]
    more = [f"and {len(calls) - CALLS} more"] if len(calls) > CALLS else []
    answer = record.trace.final_message
    return RunExcerpt(shorten(answer, ANSWER), tuple(calls[:CALLS] + more))
