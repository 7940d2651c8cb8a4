"""A function of the user's, named as `module:function` or `file.py:function`: found, and called as it wishes."""

from __future__ import annotations

import asyncio
import inspect
import os
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from karat.errors import ConfigError
from karat.targets.base import TargetError
from karat.targets.capabilities import FOREVER
from karat.targets.threads import DaemonThreads
from karat.text.wording import did_you_mean, error_text

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
    while frames and frames.tb_frame.f_globals.get("__name__", "").startswith("karat."):
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
            raise ConfigError(
                f"{where} needs {parameter.name!r}, which Karat cannot provide.",
                fix=f"It may take the {first}, and by name: {', '.join(offered)}. {near}".rstrip(),
            )
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
