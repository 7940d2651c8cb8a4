"""Progress while a run goes on, in lines: one for each finished case, retry and notice."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING

import click

from carob.engine.events import CaseFinished, CaseRetried, Event, Notice, RunStarted
from carob.model.verdict import CaseStatus
from carob.reports.case_facts import case_name
from carob.reports.escaping import terminal
from carob.terminal.screen import CaseLines, Screen, show

if TYPE_CHECKING:
    from carob.model.suite import Suite

NAMES = 60
NOTICE = 500
FLUSH_EVERY = 0.2


def notices(event: Event) -> None:
    """Only what the one who waits should know."""
    if isinstance(event, Notice):
        click.echo(notice(event), err=True)


class Lines:
    """A line for each case as it finishes; why those did not pass that did not comes at the end."""

    def __init__(self, screen: Screen, suite: Suite) -> None:
        self._lines = lines_for(screen, suite)
        self._out = screen.out
        self._flushed = 0.0
        self._later: asyncio.TimerHandle | None = None
        self._repeated = False
        self._retried: set[tuple[int, int]] = set()

    def __call__(self, event: Event) -> None:
        if isinstance(event, CaseFinished):
            self._on_finished(event)
        elif isinstance(event, RunStarted):
            self._repeated = event.header.repeat > 1
        elif isinstance(event, CaseRetried):
            self._retried.add((event.item.index, event.item.repeat))
            show(self._out, f"{retry(event)}\n")
            self._flush()
        else:
            notices(event)

    def _on_finished(self, event: CaseFinished) -> None:
        case, result = event.item.case, event.done
        if self._repeated:
            name = f"{case.id} #{event.item.repeat + 1}"
            self._lines.one(result.status, name, case.category, result.duration_ms)
        elif result.status is CaseStatus.PASS and (event.item.index, event.item.repeat) not in self._retried:
            self._lines.one(result.status, case.id, case.category, result.duration_ms)
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


def lines_for(screen: Screen, suite: Suite) -> CaseLines:
    """Lines whose columns fit the names of a suite."""
    id_width = max(len(case.id) for case in suite.cases)
    category_width = max(len(case.category) for case in suite.cases)
    return CaseLines(screen, id_width=id_width, category_width=category_width)


def retry(event: CaseRetried) -> str:
    item = event.item
    why = f"{terminal(event.reason, NAMES)}, again in {event.delay:.1f}s"
    return f"RETRY    {terminal(case_name(item.case.id, item.repeat), NAMES)}  {why}"


def notice(event: Notice) -> str:
    return f"carob: {terminal(event.message, NOTICE)}"
