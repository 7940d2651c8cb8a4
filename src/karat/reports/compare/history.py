"""A history in a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TextIO

import msgspec

from karat.model.history import CaseHistory, History, RunPoint
from karat.reports.inert import terminal
from karat.reports.terminal import show
from karat.text.wording import counted

NAME: Final = 48
LINE: Final = 200
SLOWEST: Final = 3
LEGEND: Final = "P passed, F failed, ~ flickered, E erred, s skipped, - absent; the newest run stands last"


def history_json(found: History) -> bytes:
    return msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n"


def show_history(found: History, out: TextIO) -> None:
    show(out, "".join(f"{line}\n" for line in _lines(found)))


def _lines(found: History) -> Iterator[str]:
    flaky = sum(case.is_flaky for case in found.cases)
    cases = f"{counted(len(found.cases), 'case')}, {flaky} flaky"
    yield f"{counted(len(found.runs), 'run')} of {terminal(found.suite, LINE)}, {cases}"
    width = min(max((len(case.id) for case in found.cases), default=0), NAME)
    for case in found.cases:
        yield f"  {terminal(case.id, NAME):<{width}}  {case.strip}{_story(case)}"
    yield f"  {LEGEND}"
    yield from _slowest(found)
    yield from (f"  {run.passed} of {run.cases} passed  {_at(run)}" for run in found.runs)
    yield from (f"  not read: {terminal(why, LINE)}" for why in found.unreadable)


def _story(case: CaseHistory) -> str:
    parts = []
    if case.broke is not None:
        parts.append(f"broke first in {_at(case.broke)}")
    if case.flake is not None:
        flake = case.flake
        parts.append(f"FLAKY: fails {flake.value:.0%} of its runs ({flake.low:.0%} to {flake.high:.0%})")
    if "quarantine" in case.tags:
        parts.append("in quarantine")
    return "  " + "; ".join(parts) if parts else ""


def _at(run: RunPoint) -> str:
    commit = f", commit {run.commit[:10]}{' with changes' if run.dirty else ''}" if run.commit else ""
    version = f", version {terminal(run.version, NAME)}" if run.version else ""
    return f"{terminal(run.path, LINE)} ({run.started_at[:19]}{commit}{version})"


def _slowest(found: History) -> Iterator[str]:
    slow = sorted((case for case in found.cases if case.seconds), key=lambda case: -(case.seconds or 0))[:SLOWEST]
    for case in slow:
        ratio = f", {case.seconds_ratio:.1f} times the first" if case.seconds_ratio else ""
        yield f"  slowest: {terminal(case.id, NAME)} {case.seconds:.2f} s{ratio}"
    dear = sorted((case for case in found.cases if case.cost), key=lambda case: -(case.cost or 0))[:SLOWEST]
    for case in dear:
        ratio = f", {case.cost_ratio:.1f} times the first" if case.cost_ratio else ""
        yield f"  most expensive: {terminal(case.id, NAME)} {case.cost:.4f}{ratio}"
