"""What the pages of a run show: its head, its cases, one case, its cases over other runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec import Struct, structs

from carob.criteria.decide import agent_of
from carob.features.viewer.run_list import is_live, trouble
from carob.journal.index import CaseFilter, Index, IndexedRun, Result
from carob.journal.run_kinds import by_kind, differing, is_same_kind, is_same_suite
from carob.model.cost import TokenPrices
from carob.reports.html import run_view
from carob.reports.html.case_view import CaseSetting, CaseView, FileView, case_view
from carob.reports.html.pages import find_own_file
from carob.reports.html.run_pages import OfRun
from carob.reports.html.run_view import (
    RowView,
    RunHead,
    row_view,
)
from carob.scoring.figures import pass_percent

PAGE: Final = 100


def run_head(run: IndexedRun, prices: TokenPrices | None, model: str = "") -> RunHead:
    """The head of a run's page."""
    return RunHead(run, run.scores, trouble(run), prices, is_live(run), model)


def seen_model(index: Index, run: IndexedRun) -> str:
    """The models that were seen in the first case of a run."""
    record = index.record(run, 0, 0)
    return agent_of(record.trace, "").model if record is not None else ""


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
