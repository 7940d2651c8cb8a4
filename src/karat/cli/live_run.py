"""A run in front of somebody: warnings, progress, Ctrl-C, and at the end the summary."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

import click

from karat.cli.main import complain
from karat.cli.progress import listener_for
from karat.engine.events import Listener
from karat.errors import Exit
from karat.model.suite import Suite
from karat.reports.run_result import RunResult
from karat.reports.terminal import show_cases, show_summary, wants_colour

SHOW_CURSOR = b"\x1b[?25h\n"
STOPPING = b"\nkarat: stopping; once more stops at once\n"

Start = Callable[..., Awaitable[RunResult]]
"""A function of karat.api with all its arguments but the listeners and the stop."""


def shown(suite: Suite, start: Start) -> tuple[RunResult, bool]:
    """How the run of a suite came out, once it was shown; and whether somebody wants no other to be begun."""
    for warning in suite.warnings:
        click.echo(warning, err=True)
    colour = wants_colour(sys.stdout, os.environ)
    listener, closing = listener_for(sys.stdout, suite, colour=colour)
    with closing:
        result, stopped = asyncio.run(_interruptible(start, listener))
    if sys.stdout.isatty() or result.journal.header.repeat > 1:
        show_cases(result.journal, sys.stdout, folder=os.path.dirname(result.journal.path), colour=colour)
    show_summary(result.journal, result.artifacts, sys.stdout, colour=colour)
    for failure in result.failures:
        complain(f"karat: {failure}")
    return result, stopped


async def _interruptible(start: Start, listener: Listener) -> tuple[RunResult, bool]:
    stop = asyncio.Event()
    with _heard(asyncio.get_running_loop(), stop):
        result = await start(listeners=[listener], stop=stop)
    return result, stop.is_set()


@contextmanager
def _heard(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> Iterator[None]:
    """Ctrl-C once stops gracefully, twice at once."""
    seen = 0

    def heard(*_: object) -> None:
        nonlocal seen
        seen += 1
        if seen > 1:
            if sys.stdout.isatty():
                os.write(1, SHOW_CURSOR)
            os._exit(Exit.INTERRUPTED)
        with suppress(OSError):
            os.write(2, STOPPING)
        loop.call_soon_threadsafe(stop.set)

    # Not the event loop's own handlers: an agent that blocks the loop would keep them from running.
    minded = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, heard) for number in minded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
