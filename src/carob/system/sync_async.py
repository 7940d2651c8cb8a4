"""Twins: the synchronous face of what is asynchronous, and the asynchronous one of what is not."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def make_sync(work: Callable[Arguments, Coroutine[object, object, Result]]) -> Callable[Arguments, Result]:
    """The twin that waits. It works where an event loop already runs too: in notebooks and asynchronous tests."""

    @wraps(work)
    def waiting(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        return _run_blocking(work(*args, **kwargs))

    return _rename(waiting, work.__name__.removeprefix("a"))


def make_async(work: Callable[Arguments, Result]) -> Callable[Arguments, Coroutine[object, object, Result]]:
    """The twin that is awaited while a thread does the work, so that the event loop goes on."""

    @wraps(work)
    async def run_in_thread(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        from asyncio import to_thread  # judging recorded runs needs no event loop, and loading one takes time

        return await to_thread(work, *args, **kwargs)

    return _rename(run_in_thread, f"a{work.__name__}")


def _rename(twin: Callable[Arguments, Result], name: str) -> Callable[Arguments, Result]:
    twin.__name__ = twin.__qualname__ = name
    return twin


def _run_blocking(work: Coroutine[object, object, Result]) -> Result:
    """The result of a coroutine; on a thread of its own where this one already runs an event loop."""
    import asyncio
    import threading

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        alone = True
    else:
        alone = False
    if alone:
        return asyncio.run(work)
    outcome: list[Result] = []
    failure: list[BaseException] = []

    def on_its_own() -> None:
        try:
            outcome.append(asyncio.run(work))
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread, which raises it
            failure.append(error)

    thread = threading.Thread(target=on_its_own, name="carob-run")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]
