"""The runs of each suite: those of one kind in a table, the latest first, with the line of their pass rates."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from carob.journal.index import Index, IndexedRun
from carob.journal.run_kinds import by_kind, differing, is_same_suite
from carob.model.cost import TokenPrices
from carob.model.run import Header
from carob.reports.run_facts import seconds_between
from carob.scoring.figures import cost_words, pass_share
from carob.text.wording import pluralize

LIVE_SECONDS: Final = 900
TREND: Final = 30
HEIGHT: Final = 100
FLAKY_RUNS: Final = 10
MOST_FLAKY: Final = 12
JUDGED: Final = frozenset({"PASS", "FAIL", "PARTIAL"})
"""Statuses that say something about the agent: an error does not."""


class RunLine(NamedTuple):
    """One run in the list of all. `before` is the run of the same kind before it, `sort` the numbers of its columns."""

    run: IndexedRun
    before: str
    cost: str
    sort: dict[str, float | str]


class SuiteRuns(NamedTuple):
    """The runs of one suite against one target with its settings, the latest first; `trend` is a line of pass rates."""

    header: Header
    settings: dict[str, str]
    """Those that other runs of this suite and target have otherwise."""
    rows: list[RunLine]
    trend: str
    flaky: list[tuple[str, str]]
    """Cases that passed and did not in these runs, and how often they did."""
    kinds: int
    """How many kinds of runs this suite has."""


def suites(index: Index, runs: Sequence[IndexedRun], prices: TokenPrices | None) -> list[SuiteRuns]:
    """The runs by suite, target and settings, those with the latest run first."""
    kinds = [[runs[run_index] for run_index in places] for places in by_kind(run.header for run in runs)]
    return [_suite(index, kind, kinds, prices) for kind in kinds]


def total_words(runs: int, suites_of_runs: Sequence[SuiteRuns]) -> str:
    """`25 runs of 3 suites, against 2 targets`."""
    suites: list[str] = []
    for suite in suites_of_runs:
        suites += [] if any(is_same_suite(suite.header.suite, other) for other in suites) else [suite.header.suite]
    targets = {suite.header.target for suite in suites_of_runs}
    return f"{pluralize(runs, 'run')} of {pluralize(len(suites), 'suite')}, against {pluralize(len(targets), 'target')}"


def _suite(
    index: Index, runs: list[IndexedRun], kinds: Sequence[list[IndexedRun]], prices: TokenPrices | None
) -> SuiteRuns:
    header = runs[0].header
    of_suite = [kind[0].header for kind in kinds if is_same_suite(kind[0].header.suite, header.suite)]
    rivals = [other for other in of_suite if other.target == header.target]
    before = [*(run.key for run in runs[1:]), ""]
    return SuiteRuns(
        header=header,
        settings=differing(rivals)[rivals.index(header)],
        rows=[_run_row(run, earlier, prices) for run, earlier in zip(runs, before, strict=True)],
        trend=_trend(runs[:TREND]),
        flaky=_flaky(index, [run for run in runs if run.header.suite_sha256 == header.suite_sha256]),
        kinds=len(of_suite),
    )


def _flaky(index: Index, runs: Sequence[IndexedRun]) -> list[tuple[str, str]]:
    """Who passes and fails without reason in the last runs of a suite as it is now: came back, or did both in one."""
    by_rate = []
    for name, results in index.find_unsteady([run.key for run in reversed(runs[:FLAKY_RUNS])]).items():
        judged = [[status == "PASS" for status in run if status in JUDGED] for run in results]
        turns = sum(before != other for before, other in pairwise(all(run) for run in judged if run))
        if turns > 1 or any(len(set(run)) > 1 for run in judged):
            every = [passed for run in judged for passed in run]
            by_rate.append((sum(every) / len(every), name, f"{sum(every)} of {len(every)} passed"))
    return [(name, words) for _, name, words in sorted(by_rate)[:MOST_FLAKY]]


def _run_row(run: IndexedRun, before: str, prices: TokenPrices | None) -> RunLine:
    spent, share = run.summary.spent, pass_share(run.summary)
    return RunLine(
        run=run,
        before=before,
        cost=cost_words(spent, prices),
        sort={
            "started": run.header.started_at,
            "rate": -1.0 if share is None else share,
            "took": (seconds_between(run.header.started_at, run.finished_at) or 0.0) * 1000,
            "tokens": spent.input + spent.output,
            "cost": spent.cost_usd(prices) or 0.0,
        },
    )


def _trend(runs: Sequence[IndexedRun]) -> str:
    """The points of a line, the oldest first; none for a single run."""
    rates = [share for run in reversed(runs) if (share := pass_share(run.summary)) is not None]
    if len(rates) < 2:
        return ""
    step = 300 / (len(rates) - 1)
    return " ".join(f"{number * step:.0f},{HEIGHT * (1 - rate):.0f}" for number, rate in enumerate(rates))


def is_live(run: IndexedRun, now: float | None = None) -> bool:
    """Whether it has no end yet and was written to not long ago."""
    return not run.ended and not run.problem and (now or time.time()) - run.changed_at < LIVE_SECONDS


def trouble(run: IndexedRun) -> str:
    """Why cases of a run are missing; nothing while it goes on."""
    if is_live(run):
        return ""
    return run.problem or run.summary.incomplete or ("interrupted" if run.summary.interrupted else "")
