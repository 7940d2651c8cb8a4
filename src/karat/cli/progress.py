"""Progress while a run goes on: a bar on a terminal, a line per finished case elsewhere."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from time import monotonic
from typing import TYPE_CHECKING, TextIO

import click

from karat.engine.events import CaseFinished, CaseRetried, CaseStarted, Event, Listener, Noticed, RunStarted
from karat.model.suite import Suite
from karat.model.verdict import CaseStatus
from karat.reports.facts import case_name
from karat.reports.inert import terminal
from karat.reports.terminal import CaseLines, show

if TYPE_CHECKING:
    from rich.progress import Progress

RUNNING = 3
NAME = 24
NAMES = 60
NOTICE = 500
FLUSH_EVERY = 0.2


def listener_for(out: TextIO, suite: Suite, *, colour: bool) -> tuple[Listener, AbstractContextManager[object]]:
    """What hears of the run, and a context in which it does."""
    if out.isatty():
        bar = Bar(suite)
        return bar, bar.progress
    return Lines(out, suite, colour=colour), nullcontext()


class Lines:
    """A line for each case as it finishes, with the reasons if it did not pass; over repeats, those come at the end."""

    def __init__(self, out: TextIO, suite: Suite, *, colour: bool) -> None:
        id_width = max(len(case.id) for case in suite.cases)
        category_width = max(len(case.category) for case in suite.cases)
        self._lines = CaseLines(out, colour=colour, id_width=id_width, category_width=category_width)
        self._out = out
        self._flushed = 0.0
        self._later: asyncio.TimerHandle | None = None
        self._repeated = False
        self._retried: set[tuple[int, int]] = set()

    def __call__(self, event: Event) -> None:
        if isinstance(event, CaseFinished):
            self._finished(event)
        elif isinstance(event, RunStarted):
            self._repeated = event.header.repeat > 1
            self._lines.folder = os.path.dirname(event.journal)
        elif isinstance(event, CaseRetried):
            self._retried.add((event.item.index, event.item.repeat))
            show(self._out, f"{_retry(event)}\n")
            self._flush()
        elif isinstance(event, Noticed):
            _notice(event)

    def _finished(self, event: CaseFinished) -> None:
        case, done = event.item.case, event.done
        if self._repeated:
            name = f"{case.id} #{event.item.repeat + 1}"
            self._lines.one(done.status, name, case.category, done.duration_ms)
        elif done.status is CaseStatus.PASS and (event.item.index, event.item.repeat) not in self._retried:
            self._lines.passed(case.id, case.category, done.duration_ms)
        else:
            self._lines(event.record)
        if monotonic() - self._flushed > FLUSH_EVERY:
            self._flush()
        elif self._later is None:
            self._later = asyncio.get_running_loop().call_later(FLUSH_EVERY, self._flush)

    def _flush(self) -> None:
        if self._later is not None:
            self._later.cancel()
            self._later = None
        self._out.flush()
        self._flushed = monotonic()


class Bar:
    """Counts, and what is running now; above it, cases that are tried again."""

    def __init__(self, suite: Suite) -> None:
        self.progress = _progress()
        self._task = self.progress.add_task(terminal(suite.name or suite.file, 40), total=None, counts="", running="")
        self._counts: Counter[CaseStatus] = Counter()
        self._running: dict[tuple[int, int], str] = {}

    def __call__(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            kept = event.header.total - event.to_run
            self.progress.update(self._task, total=event.header.total, completed=kept)
        elif isinstance(event, CaseStarted):
            self._running[event.item.index, event.item.repeat] = event.item.case.id
            self._show()
        elif isinstance(event, CaseFinished):
            self._running.pop((event.item.index, event.item.repeat), None)
            self._counts[event.done.status] += 1
            self.progress.advance(self._task)
            self._show()
        elif isinstance(event, CaseRetried):
            self.progress.console.print(_retry(event), markup=False, highlight=False, emoji=False, soft_wrap=True)
        elif isinstance(event, Noticed):
            _notice(event)

    def _show(self) -> None:
        counts = "  ".join(f"{self._counts[status]} {status.value}" for status in CaseStatus if self._counts[status])
        now = [terminal(name, NAME) for name in list(self._running.values())[:RUNNING]]
        more = len(self._running) - len(now)
        running = ", ".join(now) + (f" and {more} more" if more > 0 else "")
        self.progress.update(self._task, counts=counts, running=running)


def _retry(event: CaseRetried) -> str:
    item = event.item
    why = f"{terminal(event.reason, NAMES)}, again in {event.delay:.1f}s"
    return f"RETRY    {terminal(case_name(item.case.id, item.repeat), NAMES)}  {why}"


def _notice(event: Noticed) -> None:
    click.echo(f"karat: {terminal(event.message, NOTICE)}", err=True)


def _progress() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[counts]}", markup=False),
        TextColumn("{task.fields[running]}", style="dim", markup=False),
        console=Console(),
        transient=True,
    )
