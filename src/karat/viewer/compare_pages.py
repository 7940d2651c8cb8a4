"""Two runs side by side, weighed as `karat compare` does, with how answers and calls differ."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from msgspec import structs

from karat.compare.gates import gates, verdicts
from karat.compare.kept import KeptStandings
from karat.compare.weighing import Weighing
from karat.journal.index import Index, IndexedRun
from karat.model.comparison import COMPARED, CaseChange, Change, Comparison, Flip
from karat.model.run import CaseRecord
from karat.plugins.project import Project
from karat.reports.compare import words
from karat.reports.html.calls import duration
from karat.reports.html.differences import difference
from karat.reports.inert import clip

SHOWN: Final = 60
NAMED: Final = 500
LONGEST: Final = 8_000
SIDE_BY_SIDE: Final = frozenset({*COMPARED, Change.ERRED})
"""What has an answer in both runs to the same question."""

FoundRecord = tuple[CaseRecord | None, str]
"""A record, and where its page is."""


@dataclass(frozen=True, slots=True)
class PairView:
    """One case in both runs; the differences are HTML."""

    id: str
    before: str
    after: str
    base_link: str
    new_link: str
    answer: str
    calls: str
    took: str
    flips: tuple[Flip, ...]


@dataclass(frozen=True, slots=True)
class ChangeView:
    """The cases that went one way: some of them side by side, or named where there is nothing to put side by side."""

    title: str
    count: int
    pairs: list[PairView]
    names: list[str]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """What a comparison found, in the words and figures of `karat compare`."""

    headline: str
    apart: str
    sure: str
    gates: list[tuple[str, str]]
    notes: tuple[str, ...]
    figures: list[str]
    changes: list[ChangeView]


def compared(index: Index, base: IndexedRun, new: IndexedRun, project: Project) -> SideBySide:
    """Weigh one run against another by the gates and the confidence of this project."""
    wanted = gates(project, {}, None)
    older, newer = (KeptStandings(Path(run.path), index, project) for run in (base, new))
    weighing = Weighing(older, newer, wanted.confidence)
    found = weighing.comparison()
    found = structs.replace(found, gates=tuple(verdicts(wanted, weighing, found.new.incomplete)))
    return SideBySide(
        headline=words.headline(found),
        apart=words.apart(found),
        sure=found.overall.sure,
        gates=list(words.gate_lines(found)),
        notes=found.notes,
        figures=list(_figures(found)),
        changes=list(_changes(index, base, new, found)),
    )


def _figures(found: Comparison) -> Iterator[str]:
    yield words.rates(found.overall)
    yield from map(words.of_measure, found.measures)
    yield from (f"{group.scope}: {words.of_group(group)}" for group in found.groups[:NAMED])


def _changes(index: Index, base: IndexedRun, new: IndexedRun, found: Comparison) -> Iterator[ChangeView]:
    by_change: dict[Change, list[CaseChange]] = defaultdict(list)
    for case in found.changes:
        by_change[case.change].append(case)
    beside = {change: cases[:SHOWN] for change, cases in by_change.items() if change in SIDE_BY_SIDE}
    names = [case.id for cases in beside.values() for case in cases]
    places = [(run, index.places(run.key, names)) for run in (base, new)]
    for change, title in words.SECTIONS:
        if cases := by_change[change]:
            pairs = [
                _pair(case, *(_found(index, *place, case.id) for place in places)) for case in beside.get(change, ())
            ]
            named = [] if pairs else [case.id for case in cases[:NAMED]]
            yield ChangeView(title, found.count(change), pairs, named)


def _found(index: Index, run: IndexedRun, places: Mapping[str, tuple[int, int]], name: str) -> FoundRecord:
    place = places.get(name)
    link = f"/run/{run.key}/case/{place[0]}/{place[1]}" if place else ""
    return index.record(run, *place) if place else None, link


def _pair(case: CaseChange, base: FoundRecord, new: FoundRecord) -> PairView:
    (old, base_link), (now, new_link) = base, new
    return PairView(
        id=case.id,
        before=case.base,
        after=case.new,
        base_link=base_link,
        new_link=new_link,
        answer=difference(_answer(old), _answer(now)),
        calls=difference(_calls(old), _calls(now)),
        took=f"{_took(old)} → {_took(now)}",
        flips=case.flips,
    )


def _answer(record: CaseRecord | None) -> str:
    return clip(record.trace.final_message, LONGEST) if record else ""


def _calls(record: CaseRecord | None) -> str:
    """The calls as lines, each with its arguments."""
    calls = record.trace.tool_calls if record else ()
    lines = [f"{call} {json.dumps(call.arguments, ensure_ascii=False, default=str)}" for call in calls]
    return clip("\n".join(lines), LONGEST)


def _took(record: CaseRecord | None) -> str:
    return duration(record.duration_ms) if record else "–"
