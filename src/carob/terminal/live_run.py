"""A run in front of somebody: warnings, progress, Ctrl-C, and at the end the summary."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TypeVar

import click

from carob.engine.events import Listener
from carob.errors import ExitCode
from carob.model.suite import Suite
from carob.reports.run_result import RunResult
from carob.terminal.ending import show_ending
from carob.terminal.progress import Lines, notices
from carob.terminal.screen import Screen, Verbosity

SHOW_CURSOR = b"\x1b[?25h\n"
ERASE = b"\r\x1b[2K"
STOPPING = b"carob: stopping; once more stops at once\n"

Ended = TypeVar("Ended")
Start = Callable[..., Awaitable[Ended]]
"""A function of carob.api with all its arguments but the listeners and the stop."""


def run_with_progress(suite: Suite, start: Start[RunResult], verbosity: Verbosity) -> tuple[RunResult, bool]:
    """How the run of a suite came out, once it was shown; and whether somebody wants no other to be begun."""
    screen = Screen.of(sys.stdout, os.environ, verbosity)
    result, stopped = run_interruptibly(suite, start, screen)
    show_ending(result, screen)
    return result, stopped


def run_interruptibly(suite: Suite, start: Start[Ended], screen: Screen) -> tuple[Ended, bool]:
    """What a run gives, with its progress on the screen; and whether somebody stopped it."""
    for warning in suite.warnings:
        click.echo(warning, err=True)
    listener, closing = _listener_for(screen, suite)
    with closing:
        return asyncio.run(_interruptible(start, listener, live=screen.live))


def _listener_for(screen: Screen, suite: Suite) -> tuple[Listener, AbstractContextManager[object]]:
    """A listener for the run, and a context in which it listens: a bar on a terminal, lines elsewhere."""
    if screen.verbosity is Verbosity.QUIET and not screen.live:
        return notices, nullcontext()
    if screen.live:
        from carob.terminal.bar import Bar  # rich, which a run without a bar does not load

        bar = Bar(screen, suite)
        return bar, bar.progress
    return Lines(screen, suite), nullcontext()


async def _interruptible(start: Start[Ended], listener: Listener, *, live: bool) -> tuple[Ended, bool]:
    stop = asyncio.Event()
    with _handle_interrupts(asyncio.get_running_loop(), stop, live=live):
        result = await start(listeners=[listener], stop=stop)
    return result, stop.is_set()


@contextmanager
def _handle_interrupts(loop: asyncio.AbstractEventLoop, stop: asyncio.Event, *, live: bool) -> Iterator[None]:
    """Ctrl-C once stops gracefully, twice at once. `live`: a bar may be where the cursor is."""
    interrupts = 0

    def on_signal(*_: object) -> None:
        nonlocal interrupts
        interrupts += 1
        if interrupts > 1:
            if sys.stdout.isatty():
                os.write(1, SHOW_CURSOR)
            os._exit(ExitCode.INTERRUPTED)
        with suppress(OSError):
            os.write(2, (ERASE if live and os.isatty(2) else b"\n") + STOPPING)
        loop.call_soon_threadsafe(stop.set)

    # Not the event loop's own handlers: an agent that blocks the loop would keep them from running.
    minded = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, on_signal) for number in minded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
