"""A function of the user's, named as `module:function` or `file.py:function`: found, and called as it wishes.

One that blocks is called in a thread that never keeps the process alive.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from datetime import timedelta
from functools import partial
from queue import SimpleQueue
from time import perf_counter
from typing import Any

from carob.errors import ConfigError
from carob.targets.base import TargetError
from carob.targets.capabilities import FOREVER
from carob.text.wording import did_you_mean, error_text

QUICK = 0.0005
"""A call this short is waited for in place: going through the event loop would cost three times as much."""
TURN = 0.01
"""Calls waited for in place let the event loop do its other work this often."""


class _Job:
    __slots__ = ("context", "done", "error", "finished", "loop", "mutex", "ready", "result", "work")

    def __init__(self, work: Callable[[], object], loop: asyncio.AbstractEventLoop) -> None:
        self.work = work
        self.loop = loop
        self.result: object = None
        self.error: BaseException | None = None
        self.finished = False
        self.context = copy_context()
        self.done: asyncio.Future[None] | None = None
        self.mutex = threading.Lock()
        self.ready = threading.Lock()
        self.ready.acquire()

    def run(self) -> None:
        try:
            self.result = self.context.run(self.work)
        except BaseException as raised:  # noqa: BLE001  it is handed to the one who waits
            self.error = raised

    def tell(self) -> None:
        """Wake the one who waits, in place or in the event loop."""
        with self.mutex:
            self.finished = True
            future = self.done
        self.ready.release()
        if future is not None:
            try:
                self.loop.call_soon_threadsafe(_settle, future)
            except RuntimeError:
                return  # the loop is closed, so no one waits for this

    def waiting(self) -> asyncio.Future[None] | None:
        """A future to wait for, or None if the job is finished."""
        with self.mutex:
            if not self.finished:
                self.done = self.loop.create_future()
            return self.done

    def outcome(self) -> object:
        if self.error is not None:
            raise self.error
        return self.result


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class DaemonThreads:
    """Threads that wait for work. One that hangs is given up, and the next call gets another."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._idle: deque[SimpleQueue[_Job | None]] = deque()
        self._closed = False
        self._quick = False
        self._turned = 0.0

    async def call(self, work: Callable[[], Any]) -> Any:
        """The result of `work`, run in a thread. Cancelling returns at once, whatever the thread does."""
        if self._closed:
            raise RuntimeError("these threads are closed")
        job = _Job(work, asyncio.get_running_loop())
        self._inbox().put(job)
        if self._quick and job.ready.acquire(timeout=QUICK):
            now = perf_counter()
            if now - self._turned > TURN:
                self._turned = now
                await asyncio.sleep(0)
        elif (future := job.waiting()) is not None:
            await future
        return job.outcome()

    def close(self) -> None:
        """Let idle threads end now, and busy ones when they come back."""
        self._closed = True
        while self._idle:
            self._idle.pop().put(None)

    def _inbox(self) -> SimpleQueue[_Job | None]:
        try:
            return self._idle.pop()
        except IndexError:
            inbox: SimpleQueue[_Job | None] = SimpleQueue()
            threading.Thread(target=self._serve, args=(inbox,), name=self._name, daemon=True).start()
            return inbox

    def _serve(self, inbox: SimpleQueue[_Job | None]) -> None:
        while (job := inbox.get()) is not None:
            began, here = perf_counter(), os.getpid()
            job.run()
            if os.getpid() != here:
                os._exit(0)  # the work forked, and came back in both
            self._quick = perf_counter() - began < QUICK
            self._idle.append(inbox)
            job.tell()
            if self._closed:
                return
            del job


DETAIL_CAP = 8_000
BY_PLACE = "*"


class Environment:
    """Variables for code that runs in this process; those that were there before are put back."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self._before: dict[str, str | None] = {}

    def set(self) -> None:
        self._before = {name: os.environ.get(name) for name in self._variables}
        os.environ.update(self._variables)

    def restore(self) -> None:
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        self._before = {}


class Callee:
    """A function, and which of the arguments on offer it asks for.

    Its parameters are filled by name; the first that bears no name on offer gets the first argument.
    """

    def __init__(self, function: Callable[..., object], where: str, first: str, offered: Sequence[str]) -> None:
        self.function = function
        self.is_async = _is_async(function)
        self.takes_first, self.takes = _match_parameters(function, where, first, offered)

    def bind(self, first: object, offered: Mapping[str, object]) -> Callable[[], object]:
        by_name = {name: offered[name] for name in self.takes}
        if not self.takes_first:
            return partial(self.function, **by_name)
        if self.takes_first == BY_PLACE:
            return partial(self.function, first, **by_name)
        return partial(self.function, **{self.takes_first: first}, **by_name)

    async def call(self, first: object, offered: Mapping[str, object], threads: DaemonThreads) -> object:
        """Call it: in the event loop if it is async, else in a thread."""
        bound = self.bind(first, offered)
        result = bound() if self.is_async else await threads.call(bound)
        return await result if inspect.isawaitable(result) else result


def build_error(kind: str, error: BaseException, doing: str = "") -> TargetError:
    """What the user's function raised, with the end of its traceback."""
    message = error_text(error)
    frames = error.__traceback__
    while frames and frames.tb_frame.f_globals.get("__name__", "").startswith("carob."):
        frames = frames.tb_next
    detail = "".join(traceback.format_exception(type(error), error, frames))
    return TargetError(
        kind,
        f"{doing}{type(error).__name__}{f': {message}' if message else ''}",
        detail=detail[-DETAIL_CAP:],
        retry_after=_retry_after(error),
    )


def from_outside(error: BaseException, task: asyncio.Task[object] | None, *, in_thread: bool = False) -> bool:
    """Whether an exception that came out of the user's code in a task is not its own, and has to go on.

    A task is cancelled or interrupted by others, and its coroutine is closed from outside when its loop is.
    """
    if isinstance(error, asyncio.CancelledError):
        return task is not None and task.cancelling() > 0
    if isinstance(error, GeneratorExit):
        try:
            return asyncio.current_task() is not task
        except RuntimeError:
            return True
    return isinstance(error, KeyboardInterrupt) and not in_thread


def _match_parameters(
    function: Callable[..., object], where: str, first: str, offered: Sequence[str]
) -> tuple[str, tuple[str, ...]]:
    """How it takes the first argument (by which name, by place, or not at all), and which others it asks for."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        return BY_PLACE, ()  # some functions written in C do not tell their parameters
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    names = tuple(p.name for p in parameters if p.name in offered and p.kind in by_name)
    others = [p for p in parameters if p.name not in names and p.kind is not p.VAR_KEYWORD]
    taker = others.pop(0) if others and others[0].kind is not others[0].KEYWORD_ONLY else None
    for parameter in others:
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL:
            near = did_you_mean(parameter.name, offered)
            message = f"{where} needs {parameter.name!r}, which Carob cannot provide."
            fix = f"It may take the {first}, and by name: {', '.join(offered)}. {near}".rstrip()
            raise ConfigError(message, fix=fix)
    if taker is None:
        return "", names
    return taker.name if taker.kind is taker.POSITIONAL_OR_KEYWORD else BY_PLACE, names


def _is_async(function: Callable[..., object]) -> bool:
    call = getattr(function, "__call__", None)  # noqa: B004  the method itself is asked, not whether there is one
    return inspect.iscoroutinefunction(inspect.unwrap(function)) or inspect.iscoroutinefunction(call)


def _retry_after(error: BaseException) -> float | None:
    """How long a provider asked to wait: `retry_after` of the exception, or the header of its response."""
    try:
        delay = getattr(error, "retry_after", None)
        headers = getattr(getattr(error, "response", None), "headers", None)
        if delay is None and isinstance(headers, Mapping):
            delay = next((value for name, value in headers.items() if str(name).lower() == "retry-after"), None)
        seconds = None if delay is None else _seconds(delay)
    except Exception:  # noqa: BLE001 - whatever is there, it is not a time
        return None
    return min(seconds, FOREVER) if seconds is not None and seconds >= 0 else None


def _seconds(delay: Any) -> float:
    """A number of seconds, or the seconds until a date as HTTP writes it."""
    if isinstance(delay, timedelta):
        return delay.total_seconds()
    try:
        return float(delay)
    except OverflowError:
        return FOREVER
    except (TypeError, ValueError):
        from email.utils import parsedate_to_datetime

        return max(parsedate_to_datetime(delay).timestamp() - time.time(), 0.0)
