"""The bar: how far a run is, how it goes, how long it will take and which cases are in flight."""

from __future__ import annotations

import io
import sys
from collections import Counter
from time import monotonic

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column
from rich.text import Text

from carob.engine.events import (
    CaseFinished,
    CaseRetried,
    CaseStarted,
    Event,
    Notice,
    RunStarted,
)
from carob.model.suite import Suite
from carob.model.verdict import CaseStatus
from carob.reports.escaping import terminal
from carob.terminal.progress import lines_for, notice, retry
from carob.terminal.screen import Screen, Verbosity, wrap

RUNNING = 3
NAME = 24
TITLE = 30
BAR = 16
SURE = 3
"""Cases after which the remaining time is shown."""


class Bar:
    """One line that is redrawn. Above it are retries and cases that did not pass: all if VERBOSE, none if QUIET."""

    def __init__(self, screen: Screen, suite: Suite) -> None:
        self.progress = _progress(screen)
        title = terminal(suite.name or suite.file, TITLE)
        self._task = self.progress.add_task("", total=None, status=f"{title}: opening the target")
        self._lines_out = io.StringIO()
        self._lines = lines_for(screen._replace(out=self._lines_out), suite)
        self._every = screen.verbosity >= Verbosity.VERBOSE
        self._quiet = screen.verbosity is Verbosity.QUIET
        self._counts: Counter[CaseStatus] = Counter()
        self._running: dict[tuple[int, int], str] = {}
        self._kept = self._total = 0
        self._began = monotonic()

    def __call__(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self._total, self._kept = event.header.total, event.header.total - event.to_run
            self._began = monotonic()
            self.progress.update(self._task, total=self._total, completed=self._kept)
        elif isinstance(event, CaseStarted):
            self._running[event.item.index, event.item.repeat] = event.item.case.id
        elif isinstance(event, CaseFinished):
            self._on_finished(event)
        elif isinstance(event, CaseRetried) and not self._quiet:
            self._print_above(retry(event))
        elif isinstance(event, Notice):
            self._notice(notice(event))
        if self._total:
            self.progress.update(self._task, status=self._status_line())

    def _on_finished(self, event: CaseFinished) -> None:
        item, result = event.item, event.done
        self._running.pop((item.index, item.repeat), None)
        self._counts[result.status] += 1
        self.progress.advance(self._task)
        broke = not self._quiet and result.status not in (CaseStatus.PASS, CaseStatus.SKIP, CaseStatus.XFAIL)
        if self._every or broke:
            name = f"{item.case.id} #{item.repeat + 1}" if item.repeat else item.case.id
            self._print_above(
                self._lines.line(result.status, name, item.case.category, result.duration_ms).rstrip("\n")
            )

    def _notice(self, line: str) -> None:
        """Through the bar where both are on one screen: other writing would leave parts of it on the screen."""
        if sys.stderr.isatty():
            self._print_above(line)
        else:
            click.echo(line, err=True)

    def _print_above(self, line: str) -> None:
        self.progress.console.print(Text.from_ansi(wrap(line, self.progress.console.width)), soft_wrap=True)

    def _status_line(self) -> str:
        far = f"{self._kept + self._counts.total()}/{self._total}"
        kept_words = [f"{self._kept} kept"] if self._kept else []
        counts = [f"{self._counts[status]} {status.value}" for status in CaseStatus if self._counts[status]]
        return "  ".join([far, *kept_words, *counts, *self._time_left(), *self._in_flight()])

    def _time_left(self) -> list[str]:
        finished = self._counts.total()
        remaining = self._total - self._kept - finished
        if finished < SURE or not remaining:
            return []
        return [f"~{span((monotonic() - self._began) / finished * remaining)} left"]

    def _in_flight(self) -> list[str]:
        now = [terminal(name, NAME) for name in list(self._running.values())[:RUNNING]]
        more = len(self._running) - len(now)
        return [", ".join(now) + (f" and {more} more" if more > 0 else "")] if now else []


def span(seconds: float) -> str:
    """A span of time as people say it: `45s`, `12m`, `3h`."""
    for size, unit in ((3600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:.0f}s"


def _progress(screen: Screen) -> Progress:
    """One line, whatever the terminal's width: what does not fit is cut, because a second line would not be erased."""
    return Progress(
        BarColumn(bar_width=BAR, complete_style="blue", finished_style="blue", table_column=Column(min_width=BAR)),
        TimeElapsedColumn(table_column=Column(no_wrap=True, min_width=len("0:00:00"))),
        TextColumn("{task.fields[status]}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
        console=Console(file=screen.out, no_color=not screen.colour, highlight=False, emoji=False, markup=False),
        transient=True,
    )
