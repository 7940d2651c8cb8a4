"""The page of the viewer on two runs side by side."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from carob.features.compare.compared_cases import CachedCases
from carob.features.compare.comparisons import compare
from carob.features.compare.gates import read_gates
from carob.features.compare.model import COMPARED, CaseChange, Change
from carob.features.compare.report import ChangeSection, view_comparison
from carob.journal.index import CaseFilter, Index, IndexedRun
from carob.model.run import CaseRecord
from carob.reports.escaping import clip
from carob.reports.html.calls import duration
from carob.reports.html.markup import side_by_side
from carob.reports.html.run_pages import OfRun, PageRequest

MOST_COMPARED: Final = 60
NAMED: Final = 500
LONGEST: Final = 8_000
SIDE_BY_SIDE: Final = frozenset({*COMPARED, Change.ERRED})
"""What has an answer in both runs to the same question."""

FoundRecord = tuple[CaseRecord | None, str]
"""A record, and where its page is."""


class PairView(NamedTuple):
    """One case in both runs; the differences are HTML."""

    case: CaseChange
    base_link: str
    new_link: str
    answers: tuple[str, str]
    calls: tuple[str, str]
    took: str


class ChangeView(NamedTuple):
    """The cases that went one way: some of them side by side, or named where there is nothing to put side by side."""

    section: ChangeSection
    pairs: list[PairView]
    names: list[str]


def compare_page(request: PageRequest) -> dict[str, Any]:
    """The runs `base` and `new` of the address, compared by the gates and the confidence of this project."""
    index, project = request.index, request.project
    base, new = (request.find_run(request.query.get(name, "")) for name in ("base", "new"))
    older, newer = (CachedCases(Path(run.path), index, project) for run in (base, new))
    comparison = compare(older, newer, read_gates(project, {}, None))
    view = view_comparison(comparison)
    return {
        "heads": [request.head(base), request.head(new)],
        "keys": (base.key, new.key),
        "comparison": comparison,
        "view": view,
        "changes": [*_change_views(index, base, new, view.sections, request.home)],
        "groups": view.groups[:NAMED],
    }


def _change_views(
    index: Index, base: IndexedRun, new: IndexedRun, sections: Sequence[ChangeSection], home: str
) -> Iterator[ChangeView]:
    paired = {section.change: section.cases[:MOST_COMPARED] for section in sections if section.change in SIDE_BY_SIDE}
    names = [case.id for cases in paired.values() for case in cases]
    places = [(run, index.places(run.key, names)) for run in (base, new)]
    for section in sections:
        pairs = [
            _pair_view(case, *(_find_record(index, *numbers, case.id, home) for numbers in places))
            for case in paired.get(section.change, ())
        ]
        yield ChangeView(section, pairs, [] if pairs else [case.id for case in section.cases[:NAMED]])


def _find_record(
    index: Index, run: IndexedRun, places: Mapping[str, tuple[int, int]], name: str, home: str
) -> FoundRecord:
    numbers = places.get(name)
    link = OfRun(home, run.key, CaseFilter()).case(*numbers) if numbers else ""
    return index.record(run, *numbers) if numbers else None, link


def _pair_view(case: CaseChange, base: FoundRecord, new: FoundRecord) -> PairView:
    (old, base_link), (now, new_link) = base, new
    return PairView(
        case=case,
        base_link=base_link,
        new_link=new_link,
        answers=side_by_side(_answer(old), _answer(now)),
        calls=side_by_side(_calls(old), _calls(now)),
        took=f"{_format_duration(old)} → {_format_duration(now)}",
    )


def _answer(record: CaseRecord | None) -> str:
    return clip(record.trace.final_message, LONGEST) if record else ""


def _calls(record: CaseRecord | None) -> str:
    """The calls as lines, each with its arguments."""
    calls = record.trace.tool_calls if record else ()
    lines = [f"{call} {json.dumps(call.arguments, ensure_ascii=False, default=str)}" for call in calls]
    return clip("\n".join(lines), LONGEST)


def _format_duration(record: CaseRecord | None) -> str:
    return duration(record.duration_ms) if record else "–"
