from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar

import pytest

from carob.targets.user_code import DaemonThreads

variable: ContextVar[str] = ContextVar("variable", default="unset")


async def test_results_and_exceptions() -> None:
    threads = DaemonThreads("test-results")
    for number in range(50):
        assert await threads.call(lambda number=number: number) == number
        with pytest.raises(ZeroDivisionError):
            await threads.call(lambda: 1 / 0)
    threads.close()


async def test_calls_run_side_by_side_and_reuse_threads() -> None:
    threads = DaemonThreads("test-reuse")
    barrier = threading.Barrier(4, timeout=30)
    await asyncio.gather(*(threads.call(barrier.wait) for _ in range(4)))
    await asyncio.gather(*(threads.call(barrier.wait) for _ in range(4)))
    mine = [thread for thread in threading.enumerate() if thread.name == "test-reuse"]
    assert len(mine) == 4
    assert all(thread.daemon for thread in mine)
    threads.close()
    for thread in mine:
        thread.join(30)
        assert not thread.is_alive()
    with pytest.raises(RuntimeError, match="closed"):
        await threads.call(int)


async def test_cancelling_returns_at_once_and_a_hung_thread_is_left_behind() -> None:
    threads, hung, release = DaemonThreads("test-hung"), asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def hang() -> None:
        loop.call_soon_threadsafe(hung.set)
        release.wait()

    await threads.call(int)
    running = asyncio.create_task(threads.call(hang))
    await hung.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await threads.call(lambda: "next") == "next"
    release.set()
    threads.close()


async def test_what_an_agent_puts_into_the_context_stays_there() -> None:
    threads = DaemonThreads("test-context")
    await threads.call(lambda: variable.set("set"))
    assert await threads.call(variable.get) == "unset"
    threads.close()


async def test_quick_calls_let_the_event_loop_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carob.targets.user_code.QUICK", 30)  # so that every call is waited for in place
    monkeypatch.setattr("carob.targets.user_code.TURN", 0)
    threads, turns = DaemonThreads("test-turns"), 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    await threads.call(int)
    counting = asyncio.create_task(count())
    for _ in range(100):
        await threads.call(int)
    counting.cancel()
    assert turns > 90
    threads.close()


def test_a_thread_that_comes_back_after_its_loop_is_closed_ends_in_peace() -> None:
    threads, release = DaemonThreads("test-late"), threading.Event()

    async def abandon() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(threads.call(release.wait), 0.01)

    asyncio.run(abandon())
    (thread,) = [thread for thread in threading.enumerate() if thread.name == "test-late"]
    threads.close()
    release.set()
    thread.join(30)
    assert not thread.is_alive()
