"""The page of the viewer on two runs side by side."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from carob.errors import UsageError
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
MOST_RUNS: Final = 200
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


class GroupView(NamedTuple):
    """Cases in which the same expectation flipped."""

    what: str
    pairs: list[PairView]


class LinkedName(NamedTuple):
    """A case that is only named, and its page."""

    name: str
    link: str


class ChangeView(NamedTuple):
    """The cases that went one way: some of them side by side by what flipped, and the others by name."""

    section: ChangeSection
    groups: list[GroupView]
    names: list[LinkedName]
    left_out: int


def compare_page(request: PageRequest) -> dict[str, Any]:
    """The runs `base` and `new` of the address, compared by the gates and the confidence of this project."""
    index, project = request.index, request.project
    base, new = (request.find_run(request.query.get(name, "")) for name in ("base", "new"))
    older, newer = (CachedCases(Path(run.path), index, project) for run in (base, new))
    frame = {
        "heads": [request.head(base), request.head(new)],
        "keys": (base.key, new.key),
        "runs": index.runs()[:MOST_RUNS],
    }
    try:
        comparison = compare(older, newer, read_gates(project, {}, None))
    except UsageError as error:  # such as runs without a common case: others can be chosen
        return {**frame, "problem": str(error)}
    view = view_comparison(comparison)
    return {
        **frame,
        "problem": "",
        "comparison": comparison,
        "view": view,
        "changes": [*_change_views(index, base, new, view.sections, request.home)],
        "groups": view.groups[:NAMED],
    }


def _change_views(
    index: Index, base: IndexedRun, new: IndexedRun, sections: Sequence[ChangeSection], home: str
) -> Iterator[ChangeView]:
    for section in sections:
        shown = section.cases[:MOST_COMPARED] if section.change in SIDE_BY_SIDE else []
        named = section.cases[len(shown) :][:NAMED]
        names = [case.id for case in (*shown, *named)]
        places = [(run, index.places(run.key, names)) for run in (base, new)]
        groups: defaultdict[str, list[PairView]] = defaultdict(list)
        for case in shown:
            pair = _pair_view(case, *(_find_record(index, *numbers, case.id, home) for numbers in places))
            groups[case.flips[0].check if case.flips else ""].append(pair)
        by_size = sorted(groups.items(), key=lambda group: -len(group[1]))
        links = [LinkedName(case.id, _link_of(places, case.id, home)) for case in named]
        left_out = section.total - len(shown) - len(named)
        yield ChangeView(section, [GroupView(*group) for group in by_size], links, left_out)


def _link_of(places: Sequence[tuple[IndexedRun, Mapping[str, tuple[int, int]]]], name: str, home: str) -> str:
    """The page of a case in the new run, or else in the base."""
    found = next(((run, numbers[name]) for run, numbers in reversed(places) if name in numbers), None)
    return OfRun(home, found[0].key, CaseFilter()).case(*found[1]) if found else ""


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
