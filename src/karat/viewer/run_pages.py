"""The runs, one run, and one case of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from karat.checks.catalog import CheckCatalog
from karat.journal.index import CaseFilter, Index, IndexedRun
from karat.reports.html import run_view
from karat.reports.html.case_view import case_view
from karat.reports.html.files import own_file
from karat.reports.html.row_view import RowView, row_view
from karat.reports.html.run_tally import evidence_anchor
from karat.reports.html.run_view import GroupView, RateView, RunHead
from karat.reports.html.views import CaseView, FileView
from karat.viewer.links import OfRun

PAGE: Final = 200
LIVE_SECONDS: Final = 900
TREND: Final = 30
HEIGHT: Final = 100
FLAKY_RUNS: Final = 10
MOST_FLAKY: Final = 12
JUDGED: Final = frozenset({"PASS", "FAIL", "PARTIAL"})
"""What tells of the agent: an error does not."""


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run in the list of all."""

    key: str
    started: str
    rate: RateView
    counts: dict[str, int]
    took: str
    tokens: str
    cost: str
    commit: str
    dirty: bool
    version: str
    flaky: int
    trouble: str
    live: bool
    before: str
    """The run of the same suite and target before this one."""


@dataclass(frozen=True, slots=True)
class SuiteRuns:
    """The runs of one suite against one target, the latest first; `trend` is a line of their pass rates."""

    suite: str
    name: str
    target: str
    rows: list[RunLine]
    trend: str
    flaky: list[tuple[str, str]]
    """Cases that passed and did not in these runs, and how often they did."""


def suites(index: Index, runs: Sequence[IndexedRun]) -> list[SuiteRuns]:
    """The runs by suite and target, those with the latest run first."""
    alike: dict[tuple[str, str], list[IndexedRun]] = {}
    for run in runs:
        alike.setdefault((run.header.suite, run.header.target), []).append(run)
    return [_suite(index, same) for same in alike.values()]


def _suite(index: Index, runs: list[IndexedRun]) -> SuiteRuns:
    header = runs[0].header
    before = [*(run.key for run in runs[1:]), ""]
    rows = [_run_row(run, earlier) for run, earlier in zip(runs, before, strict=True)]
    flaky = _flaky(index, [run for run in runs if run.header.suite_sha256 == header.suite_sha256])
    return SuiteRuns(header.suite, run_view.suite_name(header), header.target, rows, _trend(runs[:TREND]), flaky)


def _flaky(index: Index, runs: Sequence[IndexedRun]) -> list[tuple[str, str]]:
    """Who passes and fails without reason in the last runs of a suite as it is now: came back, or did both in one."""
    found = []
    for name, results in index.unsteady([run.key for run in reversed(runs[:FLAKY_RUNS])]).items():
        judged = [[status == "PASS" for status in run if status in JUDGED] for run in results]
        turns = sum(one != other for one, other in pairwise(all(run) for run in judged if run))
        if turns > 1 or any(len(set(run)) > 1 for run in judged):
            every = [passed for run in judged for passed in run]
            found.append((sum(every) / len(every), name, f"{sum(every)} of {len(every)} passed"))
    return [(name, words) for _, name, words in sorted(found)[:MOST_FLAKY]]


def _run_row(run: IndexedRun, before: str) -> RunLine:
    summary, project = run.summary, run.header.project
    return RunLine(
        key=run.key,
        started=run_view.moment(run.header.started_at),
        rate=run_view.rate_view(summary.passed, summary.total),
        counts=run_view.counts(summary),
        took=run_view.between(run.header.started_at, run.finished_at),
        tokens=_tokens(run),
        cost=run_view.cost(run.cost_usd),
        commit=project.commit[:10] if project else "",
        dirty=bool(project and project.dirty),
        version=run.header.target_version,
        flaky=summary.flaky,
        trouble=_trouble(run),
        live=is_live(run),
        before=before,
    )


def _trend(runs: Sequence[IndexedRun]) -> str:
    """The points of a line, the oldest first; none for a single run."""
    rates = [run.summary.passed / run.summary.total for run in reversed(runs) if run.summary.total]
    if len(rates) < 2:
        return ""
    step = 300 / (len(rates) - 1)
    return " ".join(f"{number * step:.0f},{HEIGHT * (1 - rate):.0f}" for number, rate in enumerate(rates))


def is_live(run: IndexedRun, now: float | None = None) -> bool:
    """Whether it has no end yet and was written to not long ago."""
    return not run.ended and not run.problem and (now or time.time()) - run.changed_at < LIVE_SECONDS


def _trouble(run: IndexedRun) -> str:
    if is_live(run):
        return ""
    return run.problem or run.summary.incomplete or ("interrupted" if run.summary.interrupted else "")


def _tokens(run: IndexedRun) -> str:
    if run.tokens_in is None and run.tokens_out is None:
        return ""
    return f"{run.tokens_in or 0:,} in, {run.tokens_out or 0:,} out"


def run_head(run: IndexedRun) -> RunHead:
    """The head of a run's page."""
    header, summary = run.header, run.summary
    average = summary.avg_soft_score
    return RunHead(
        suite=header.suite,
        name=run_view.suite_name(header),
        target=header.target,
        started=run_view.moment(header.started_at),
        took=run_view.between(header.started_at, run.finished_at),
        parts=run_view.parts(run_view.counts(summary)),
        rate=run_view.rate_view(summary.passed, summary.total),
        soft="" if average is None else f"{average:.3f}",
        repeats=f"{summary.repeat} repeats, {summary.flaky} flaky" if summary.repeat > 1 else "",
        trouble=_trouble(run),
        scores=run.scores,
        versions=header.versions,
        live=is_live(run),
        planned=header.total,
        finished=summary.runs or summary.total,
        tokens=_tokens(run),
        cost=run_view.cost(run.cost_usd),
        commit=run_view.commit(header),
        path=run.path,
    )


def groups(index: Index, run: IndexedRun) -> list[GroupView]:
    """What broke in a run."""
    return [
        GroupView(
            group.name,
            group.status,
            group.kind,
            group.cases,
            [(name, at, repeat, evidence_anchor(at, repeat, number)) for name, at, repeat, number in group.first],
        )
        for group in index.groups(run.key)
    ]


def rows(index: Index, run: IndexedRun, chosen: CaseFilter, start: int) -> tuple[list[RowView], int]:
    """A page of the table, and how many cases the filter leaves."""
    listed, total = index.cases(run.key, chosen, start, PAGE)
    records = index.records(run, [one.offset for one in listed])
    made = [
        row_view(record, one.status, _strip(index, run, one.index) if len(one.strip) > 1 else ())
        for record, one in zip(records, listed, strict=True)
    ]
    return made, total


def _strip(index: Index, run: IndexedRun, at: int) -> list[tuple[str, int]]:
    return [(status, repeat) for repeat, status in index.repeats(run.key, at)]


@dataclass(frozen=True, slots=True)
class CasePage:
    """What the page of a case is made with."""

    case: CaseView
    to: OfRun
    strip: list[tuple[str, int]]
    run: RunHead


def case_page(
    index: Index, run: IndexedRun, at: int, repeat: int, chosen: CaseFilter, catalog: CheckCatalog
) -> CasePage | None:
    """The page of one run of a case; None if there is no such case."""
    record = index.record(run, at, repeat)
    if record is None:
        return None
    base = f"/run/{run.key}/case/{at}/{repeat}/file"
    numbers = {file: number for number, file in enumerate(record.trace.attachments.values())}

    def address(file: str) -> str | None:
        return f"{base}/{numbers[file]}" if own_file(run.path, file) else None

    view = case_view(record, run.header, address, catalog)
    shown = replace(view, attachments=[_pictured(file, run) for file in view.attachments])
    strip = _strip(index, run, at)
    to = OfRun(run.key, chosen, index.neighbours(run.key, at, chosen))
    return CasePage(shown, to, strip if len(strip) > 1 else [], run_head(run))


def _pictured(file: FileView, run: IndexedRun) -> FileView:
    found = own_file(run.path, file.file) if file.link else None
    return replace(file, source=file.link) if found and found.is_picture else file
