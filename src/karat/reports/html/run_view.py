"""A run as the head of its page shows it: counts, scores, what broke."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from karat.model.run import Header, Summary
from karat.repeats import wilson
from karat.reports.facts import repeats
from karat.reports.html.calls import duration

WIDTH: Final = 1_000
FIGURES: Final = {
    "FAIL": "failed",
    "ERROR": "error",
    "PARTIAL": "partial",
    "XFAIL": "xfailed",
    "SKIP": "skipped",
    "PASS": "passed",
}
"""The figure of a summary that counts each status, in the order in which they matter to who opens a report."""


@dataclass(frozen=True, slots=True)
class Part:
    """A status with its share of the bar."""

    status: str
    count: int
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class RateView:
    """A pass rate with its interval, in parts of a bar."""

    passed: int
    total: int
    percent: str
    low: float
    high: float
    at: float
    words: str


@dataclass(frozen=True, slots=True)
class RunHead:
    """What is said of a run as a whole."""

    suite: str
    name: str
    target: str
    started: str
    took: str
    parts: list[Part]
    rate: RateView
    soft: str
    repeats: str
    trouble: str
    scores: dict[str, tuple[int, int]]
    versions: dict[str, str]
    live: bool
    planned: int
    finished: int
    tokens: str
    cost: str
    commit: str
    path: str


@dataclass(frozen=True, slots=True)
class GroupView:
    """Cases that broke in the same way; `cases` holds id, index, repeat and anchor of a few of them."""

    name: str
    status: str
    kind: str
    count: int
    cases: Sequence[tuple[str, int, int, str]]


class EndedRun(Protocol):
    """A journal, or a run as the index knows it."""

    @property
    def path(self) -> str: ...

    @property
    def header(self) -> Header: ...

    @property
    def summary(self) -> Summary: ...

    @property
    def finished_at(self) -> str: ...


def run_head(
    run: EndedRun,
    scores: dict[str, tuple[int, int]],
    trouble: str,
    *,
    live: bool = False,
    tokens: str = "",
    cost: str = "",
) -> RunHead:
    """The head of a run's page. `trouble`: why cases are missing."""
    header, summary = run.header, run.summary
    average = summary.avg_soft_score
    return RunHead(
        suite=header.suite,
        name=suite_name(header),
        target=header.target,
        started=moment(header.started_at),
        took=between(header.started_at, run.finished_at),
        parts=parts(counts(summary)),
        rate=rate_view(summary.passed, summary.total),
        soft="" if average is None else f"{average:.3f}",
        repeats=repeats(summary),
        trouble=trouble,
        scores=scores,
        versions=header.versions,
        live=live,
        planned=header.total,
        finished=summary.runs or summary.total,
        tokens=tokens,
        cost=cost,
        commit=commit(header),
        path=run.path,
    )


def counts(summary: Summary) -> dict[str, int]:
    """How many cases came out with each status, those that matter most first."""
    found = {status: int(getattr(summary, figure, 0)) for status, figure in FIGURES.items()}
    return {status: count for status, count in found.items() if count}


def parts(numbers: Mapping[str, int]) -> list[Part]:
    """The shares of a bar."""
    total, x, found = sum(numbers.values()) or 1, 0.0, []
    for status, count in numbers.items():
        width = WIDTH * count / total
        found.append(Part(status, count, round(x, 1), round(width, 1)))
        x += width
    return found


def rate_view(passed: int, total: int) -> RateView:
    """A rate with its 95% interval."""
    interval = wilson(passed, total)
    share = passed / total if total else 0.0
    percent = "–" if not total else "100%" if passed == total else f"{min(share * 100, 99.9):.1f}%"
    words = f"{passed} of {total} passed, 95% interval {interval.low:.0%} to {interval.high:.0%}"
    low, high, at = (round(WIDTH * value, 1) for value in (interval.low, interval.high, share))
    return RateView(passed, total, percent, low, high, at, words)


def moment(text: str) -> str:
    """A time as people read it: `2026-11-15 18:30`."""
    try:
        return datetime.fromisoformat(text).strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return text


def between(started: str, ended: str) -> str:
    try:
        took = datetime.fromisoformat(ended) - datetime.fromisoformat(started)
    except (ValueError, TypeError):
        return ""
    return duration(max(took.total_seconds(), 0) * 1000)


def cost(told: float | None) -> str:
    """`$0.0123`, or nothing where nobody told."""
    return "" if told is None else f"${told:,.2f}" if told >= 1 else f"${told:.4f}"


def commit(header: Header) -> str:
    """The commit of the project that was run, and whether it held changes that no commit has."""
    project = header.project
    return f"{project.commit[:10]}{' with changes' * project.dirty}" if project else ""


def suite_name(header: Header) -> str:
    """The last part of a suite's path."""
    return header.suite.replace("\\", "/").rstrip("/").rpartition("/")[2] or header.suite
