"""A wait ends in time and says so, in a task that is being cancelled too; a cancellation stays one."""

from __future__ import annotations

import asyncio

import pytest

from carob.targets.conversation import timeout


async def waiting(seconds: float | None, started: asyncio.Event) -> str:
    """What a wait for nothing comes to after this was cancelled once."""
    try:
        started.set()
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        try:
            async with timeout(seconds):
                started.set()
                await asyncio.Event().wait()
        except TimeoutError:
            return "timeout"
    return "never"


async def test_a_wait_ends_in_time() -> None:
    with pytest.raises(TimeoutError):
        async with timeout(0.01):
            await asyncio.Event().wait()


async def test_also_while_its_task_is_cancelled() -> None:
    started = asyncio.Event()
    task = asyncio.create_task(waiting(0.01, started))
    await started.wait()
    task.cancel()
    assert await task == "timeout"
    assert task.cancelling() == 1


@pytest.mark.parametrize("seconds", [None, 600.0])
async def test_who_is_cancelled_meanwhile_does_not_time_out(seconds: float | None) -> None:
    started = asyncio.Event()
    task = asyncio.create_task(waiting(seconds, started))
    for _ in range(2):
        await started.wait()
        started.clear()
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
