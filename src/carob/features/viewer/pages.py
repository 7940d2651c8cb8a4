"""What the pages of a run show: its head, its cases, one case, two runs side by side, an audit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import urlencode

import msgspec
from msgspec import Struct, structs

from carob.features.audit.report import read_audit
from carob.features.compare.compared_cases import CachedCases
from carob.features.compare.comparisons import compare
from carob.features.compare.gates import read_gates
from carob.features.compare.model import COMPARED, CaseChange, Change
from carob.features.compare.report import ChangeSection, view_comparison
from carob.features.compare.run_differences import by_kind, differing, is_same_kind, is_same_suite
from carob.features.stress.report import read_stress, template_values
from carob.features.viewer.run_list import is_live, trouble
from carob.journal.index import CaseFilter, FailureGroup, Index, IndexedRun, Result
from carob.model.cost import TokenPrices
from carob.model.run import CaseRecord
from carob.plugins.project import Project
from carob.reports.escaping import clip
from carob.reports.html import run_view
from carob.reports.html.calls import duration
from carob.reports.html.case_view import CaseSetting, CaseView, FileView, case_view
from carob.reports.html.markup import side_by_side
from carob.reports.html.pages import find_own_file
from carob.reports.html.run_view import (
    RowView,
    RunHead,
    row_view,
)
from carob.scoring.figures import pass_percent

PAGE: Final = 100
MOST_COMPARED: Final = 60
NAMED: Final = 500
LONGEST: Final = 8_000
SIDE_BY_SIDE: Final = frozenset({*COMPARED, Change.ERRED})
"""What has an answer in both runs to the same question."""

FoundRecord = tuple[CaseRecord | None, str]
"""A record, and where its page is."""
MOST_AUDITED: Final = 200
LARGEST: Final = 64 << 20

Found = TypeVar("Found")


class OfRun:
    """Addresses within one run, from a page that is so far from `home`; what it is filtered by goes along."""

    def __init__(self, home: str, run: str, chosen: CaseFilter) -> None:
        self._at = f"{home}run/{run}"
        self.chosen = chosen
        self._query = query(chosen)
        self.before = self.after = ""
        """The pages of the neighbours of a case, if it has some."""

    @property
    def run(self) -> str:
        return f"{self._at}{self._query}"

    def case(self, index: int, repeat: int) -> str:
        return f"{self._at}/case/{index}/{repeat}{self._query}"

    def file(self, index: int, repeat: int, number: int) -> str:
        return f"{self._at}/case/{index}/{repeat}/file/{number}"

    def record(self, index: int, repeat: int) -> str:
        return f"{self._at}/case/{index}/{repeat}/record"

    def hash(self, anchor: str) -> str:
        return ""

    def group(self, group: FailureGroup) -> str:
        return f"{self._at}{query(CaseFilter(check=group.name, kind=group.kind))}"


def query(chosen: CaseFilter) -> str:
    chosen_fields = {name: value for name, value in structs.asdict(chosen).items() if value}
    return f"?{urlencode(chosen_fields)}" if chosen_fields else ""


def run_head(run: IndexedRun, prices: TokenPrices | None) -> RunHead:
    """The head of a run's page."""
    return RunHead(run, run.scores, trouble(run), prices, is_live(run))


def rows(index: Index, run: IndexedRun, chosen: CaseFilter, start: int) -> tuple[list[RowView], int]:
    """A page of the table, and how many cases the filter leaves."""
    listed, total = index.cases(run.key, chosen, start, PAGE)
    records = index.records(run, [item.offset for item in listed])
    views = [
        row_view(record, item.status, strip(index, run, item.index) if len(item.strip) > 1 else ())
        for record, item in zip(records, listed, strict=True)
    ]
    return views, total


def strip(index: Index, run: IndexedRun, at: int) -> list[tuple[str, int]]:
    """Status and number of each run of a case."""
    return [(status, repeat) for repeat, status in index.repeats(run.key, at)]


def case_page(index: Index, run: IndexedRun, setting: CaseSetting, to: OfRun, at: int, repeat: int) -> CaseView | None:
    """One run of a case, and in `to` its neighbours; None if the case does not exist."""
    record = index.record(run, at, repeat)
    if record is None:
        return None
    numbers = {file: number for number, file in enumerate(record.trace.attachments.values())}

    def address(file: str) -> str | None:
        return to.file(at, repeat, numbers[file]) if find_own_file(run.path, file) else None

    view = case_view(record, setting, address, to.record(at, repeat))
    neighbours = index.neighbours(run.key, at, to.chosen)
    to.before, to.after = ("" if index is None else to.case(index, 0) for index in neighbours)
    return structs.replace(view, attachments=[_add_picture(file, run) for file in view.attachments])


def _add_picture(file: FileView, run: IndexedRun) -> FileView:
    own_file = find_own_file(run.path, file.file) if file.link else None
    return structs.replace(file, source=file.link) if own_file and own_file.is_picture else file


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


def compare_page(index: Index, base: IndexedRun, new: IndexedRun, project: Project, home: str) -> dict[str, Any]:
    """Compare one run with another by the gates and the confidence of this project; what the template needs."""
    older, newer = (CachedCases(Path(run.path), index, project) for run in (base, new))
    comparison = compare(older, newer, read_gates(project, {}, None))
    view = view_comparison(comparison)
    changes = [*_change_views(index, base, new, view.sections, home)]
    return {"comparison": comparison, "view": view, "changes": changes, "groups": view.groups[:NAMED]}


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


def audit_page(run: IndexedRun) -> dict[str, Any]:
    """What the template needs: the latest audit next to a journal, or why there is none to show."""
    stem = Path(run.path).stem
    names = sorted(path.name for path in Path(run.path).parent.glob(f"{_literal(stem)}.audit*.json"))
    audit, why = _read_next_to(run, names[-1] if names else "", read_audit, "This run has not been audited yet.")
    return {"audit": audit, "why": why, "shown": audit.report.cases[:MOST_AUDITED] if audit else ()}


def stress_page(run: IndexedRun, home: str) -> dict[str, Any]:
    """What the template needs: the report next to a journal, or why there is none to show."""
    name = f"{Path(run.path).stem}.stress.json"
    report, why = _read_next_to(run, name, read_stress, "This is not a stress run.")
    if report is None:
        return {"report": None, "why": why}
    return template_values(report, lambda cell: f"{home}run/{run.key}/case/{cell.index}/0")


def _read_next_to(run: IndexedRun, name: str, read: Callable[[bytes], Found], missing: str) -> tuple[Found | None, str]:
    """What a file next to a journal holds, or why it cannot be shown."""
    file = find_own_file(run.path, name)
    if file is None or file.size > LARGEST:
        return None, missing
    try:
        return read(file.path.read_bytes()), ""
    except (msgspec.DecodeError, UnicodeDecodeError, OSError):
        return None, f"{name} cannot be read."


def _literal(stem: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in stem)


COLUMNS: Final = 30
ROWS: Final = 100
LEVELS: Final = 4
JUDGED: Final = ("PASS", "FAIL", "PARTIAL")
ABSENT: Final = "absent"
ORDERS: Final = {"worst": "most failures first", "unsteady": "most changing first", "suite": "as in the suite"}
OVERS: Final = {"runs": "its last runs", "targets": "the last run of each target and setting"}


class GridColumn(Struct, frozen=True):
    """A run."""

    key: str
    title: str
    about: str
    percent: str


class GridCell(NamedTuple):
    """What a case came to in a run: a colour, a sign, words, and where its page is."""

    look: str
    sign: str = ""
    words: str = ABSENT
    link: str = ""


NOTHING: Final = GridCell(ABSENT)


class GridRow(Struct, frozen=True):
    """A case; `words` says how often it passed."""

    id: str
    words: str
    cells: list[GridCell]


class GridPage(Struct, frozen=True):
    """A part of the grid: `total` cases in all, of which those from `start` on are here."""

    over: str
    order: str
    columns: list[GridColumn]
    rows: list[GridRow]
    start: int
    total: int
    targets: int
    """How many kinds of runs there are to choose between."""


def grid_page(index: Index, run: IndexedRun, over: str, order: str, start: int, home: str) -> GridPage:
    """The grid of the suite of a run: over runs of its kind, or over the newest run of each kind; the latest first."""
    of_suite = [other for other in index.runs() if is_same_suite(other.header.suite, run.header.suite)]
    newest = [of_suite[places[0]] for places in by_kind(other.header for other in of_suite)]
    over = over if over in OVERS else "runs"
    order = order if order in ORDERS else "worst"
    alike = [other for other in of_suite if is_same_kind(other.header, run.header)]
    columns = (alike if over == "runs" else newest)[:COLUMNS]
    cases, total = index.grid_cases([column.key for column in columns], order, start, ROWS)
    results = index.results([column.key for column in columns], cases)
    rows = [
        GridRow(
            case.id,
            f"{case.passed} of {case.judged}" if case.judged else "",
            [_cell(results.get((column.key, case.id), ()), f"{home}run/{column.key}/case") for column in columns],
        )
        for case in cases
    ]
    return GridPage(over, order, _columns(columns, over), rows, start, total, len(newest))


def _columns(runs: Sequence[IndexedRun], over: str) -> list[GridColumn]:
    apart = differing([run.header for run in runs]) if over == "targets" else [{} for _ in runs]
    return [
        GridColumn(
            run.key,
            run_view.moment(run.header.started_at) if over == "runs" else run.header.target,
            run_view.commit(run.header) if over == "runs" else ", ".join(f"{k} {v}" for k, v in settings.items()),
            pass_percent(run.summary),
        )
        for run, settings in zip(runs, apart, strict=True)
    ]


def _cell(results: Sequence[Result], link: str) -> GridCell:
    """An error is not a pass; what was not judged says nothing."""
    if not results:
        return NOTHING
    statuses = [result.status for result in results]
    worst = next((result for result in results if result.status != "PASS"), results[0])
    to = f"{link}/{worst.case}/{worst.repeat}"
    passed, errors = statuses.count("PASS"), statuses.count("ERROR")
    total = sum(statuses.count(status) for status in JUDGED) + errors
    if errors == total > 0:
        return GridCell("error", "!", "error", to)
    if not total:
        is_expected = "XFAIL" in statuses
        return GridCell("apart", "x" if is_expected else "–", "known to fail" if is_expected else "skipped", to)
    if passed == total:
        return GridCell(f"g{LEVELS}", "✓", "passed", to)
    if not passed:
        return GridCell("g0", "✕", "failed", to)
    level = min(max(round(passed / total * LEVELS), 1), LEVELS - 1)
    return GridCell(f"g{level}", f"{passed}/{total}", f"passed {passed} of {total} times", to)
