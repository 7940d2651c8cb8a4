"""Progress while a run goes on: a bar on a terminal, a line per finished case elsewhere."""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from time import monotonic
from typing import TYPE_CHECKING, Any, TextIO

from karat.engine.events import CaseFinished, CaseStarted, Event, Listener, RunStarted
from karat.model.suite import Suite
from karat.model.verdict import CaseStatus
from karat.reports.facts import case_name
from karat.reports.inert import terminal
from karat.reports.terminal import CaseLines

if TYPE_CHECKING:
    from rich.progress import Progress

RUNNING = 3
NAME = 24
FLUSH_EVERY = 0.2


def listener_for(out: TextIO, suite: Suite, *, colour: bool) -> tuple[Listener, AbstractContextManager[Any]]:
    """What hears of the run, and a context in which it does."""
    if out.isatty():
        bar = Bar(suite)
        return bar, bar.progress
    id_width = max(len(case.id) for case in suite.cases)
    category_width = max(len(case.category) for case in suite.cases)
    lines = CaseLines(out, colour=colour, id_width=id_width, category_width=category_width)

    flushed = 0.0

    def heard(event: Event) -> None:
        nonlocal flushed
        if not isinstance(event, CaseFinished):
            return
        if event.done.status is CaseStatus.PASS:
            case = event.item.case
            lines.passed(case_name(case.id, event.item.repeat), case.category, event.done.duration_ms)
        else:
            lines(event.record)
        now = monotonic()
        if now - flushed > FLUSH_EVERY:
            out.flush()
            flushed = now

    return heard, nullcontext()


class Bar:
    """Counts, and what is running now."""

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

    def _show(self) -> None:
        counts = "  ".join(f"{self._counts[status]} {status.value}" for status in CaseStatus if self._counts[status])
        now = [terminal(name, NAME) for name in list(self._running.values())[:RUNNING]]
        more = len(self._running) - len(now)
        running = ", ".join(now) + (f" and {more} more" if more > 0 else "")
        self.progress.update(self._task, counts=counts, running=running)


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
