"""Every test has a limit, hears the signals that it sends, and leaves no process behind.

A test that overruns fails with the stacks of its threads, and what it started is killed, so that nothing keeps
waiting for it. `@pytest.mark.limit(seconds)` sets another limit; it holds for set-up, test and teardown each.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from types import FrameType

import pytest

from processes import below, children

USUAL = 300.0
GRACE = 60.0
"""How long a test that overran, from its set-up on, may take to give in before its whole process is ended."""
MOMENT = 5.0
"""How long a process that was told to end may take."""

_STDERR = pytest.StashKey[int]()
_BEFORE = pytest.StashKey[set[int]]()


def pytest_configure(config: pytest.Config) -> None:
    """Hear what shells make their background jobs deaf to; what the tests start inherits it."""
    config.addinivalue_line("markers", "limit(seconds): how long this test may take")
    config.stash[_STDERR] = os.dup(2)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGQUIT, signal.SIGTERM})


def pytest_unconfigure(config: pytest.Config) -> None:
    os.close(config.stash[_STDERR])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    faulthandler.dump_traceback_later(_seconds(item) + GRACE, exit=True, file=item.config.stash[_STDERR])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    item.stash[_BEFORE] = children()
    with _limited(item):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    item.stash[_BEFORE] = children()
    with _limited(item):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    with _limited(item):
        yield
    left = children() - item.stash[_BEFORE]
    end = time.monotonic() + MOMENT
    while left and (left := left & children()) and time.monotonic() < end:
        time.sleep(0.01)
    if left:
        told = [line.replace(b"\0", b" ").decode() for pid, line in below(os.getpid()) if pid in left]
        _kill(left)
        pytest.fail(f"left behind: {told}", pytrace=False)


def _seconds(item: pytest.Item) -> float:
    mark = item.get_closest_marker("limit")
    return float(mark.args[0]) if mark else USUAL


@contextmanager
def _limited(item: pytest.Item) -> Generator[None]:
    seconds = _seconds(item)

    def overrun(_number: int, _frame: FrameType | None) -> None:
        faulthandler.dump_traceback(2)
        _kill(children() - item.stash[_BEFORE])
        pytest.fail(f"it took longer than {seconds:g} s; the stacks of its threads are in its stderr")

    signal.signal(signal.SIGALRM, overrun)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _kill(started: set[int]) -> None:
    """End these processes with all below them."""
    for process in {pid for top in started for pid, _ in below(top)} | started:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
