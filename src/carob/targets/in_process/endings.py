"""What a call gave is followed to its end: a coroutine, a future or an iterator is not a result yet."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from io import IOBase
from typing import Any, Final, Protocol

from carob.text.clean import jsonable

MOST_ITEMS: Final = 10_000
"""Of a longer stream the first items are kept."""
CUT: Final = f"… more than {MOST_ITEMS:,} items"
PLAIN: Final = frozenset({str, dict, list, int, float, bool, type(None)})
"""Types of most results, which have ended."""


class CallEnding(Protocol):
    """A call that hears how it ended. While its body runs, it is entered."""

    is_pending: bool

    @property
    def collects(self) -> bool:
        """Whether what it gave may be changed, so that a stream is taken whole first."""
        ...

    def __enter__(self) -> object: ...

    def __exit__(self, *error: object) -> None: ...

    def note_return(self, raw: Any = None) -> Any:
        """It ended with this; what the caller gets."""
        ...

    def note_error(self, error: BaseException) -> Any:
        """It ended with an error, or was given up; what the caller gets, if that is not the error."""
        ...


def is_unended(value: object) -> bool:
    """Whether a value is a placeholder of what a call will give."""
    if type(value) in PLAIN:
        return False
    kind = type(value)  # an object may say that it is of another class, and fail at that
    if issubclass(kind, Iterator):
        return not issubclass(kind, IOBase)
    return issubclass(kind, Awaitable | AsyncIterator | Future)


def follow(value: Any, call: CallEnding) -> Any:
    """The value once it is there; else a placeholder, which lets the call hear how it ended."""
    if not is_unended(value):
        return call.note_return(value)
    call.is_pending = True
    if isinstance(value, Future) or asyncio.isfuture(value):
        return _chain(value, call) if call.collects else _watch(value, call)
    if inspect.isawaitable(value):
        return _await(value, call) if inspect.iscoroutine(value) else _Awaitable(value, call)
    if isinstance(value, AsyncIterator):
        if call.collects:
            return _collect_async(value, call)
        return _iterate_async(value, call) if inspect.isasyncgen(value) else _AsyncItems(value, call)
    if call.collects:
        return _collect(value, call)
    return _iterate(value, call) if inspect.isgenerator(value) else _Items(value, call)


def items_of(value: Any) -> Iterable[Any]:
    """What a call of a generator gave, or what was given in its place."""
    return value if isinstance(value, Iterator | list) else (value,)


def _watch(future: Any, call: CallEnding) -> Any:
    def end(done: Any) -> None:
        with suppress(BaseException):  # the one who waits gets it
            try:
                value = done.result()
            except BaseException as error:  # noqa: BLE001 - also one that says it was cancelled
                call.note_error(error)
            else:
                call.note_return(value)

    future.add_done_callback(end)
    return future


def _chain(future: Any, call: CallEnding) -> Any:
    """A future of what the call makes of the result."""
    if not isinstance(future, Future):
        return _await(future, call)
    chained: Future[Any] = Future()

    def end(done: Future[Any]) -> None:
        try:
            try:
                value = done.result()
            except BaseException as error:  # noqa: BLE001 - also one that says it was cancelled
                chained.set_result(call.note_error(error))
            else:
                chained.set_result(call.note_return(value))
        except BaseException as error:  # noqa: BLE001 - the one who waits gets it
            chained.set_exception(error)

    future.add_done_callback(end)
    return chained


async def _await(pending: Awaitable[Any], call: CallEnding) -> Any:
    try:
        with call:
            value = await pending
    except BaseException as error:  # noqa: BLE001 - the call raises it again
        return call.note_error(error)
    return follow(value, call)


def _keep(kept: list[Any], item: object) -> None:
    if len(kept) <= MOST_ITEMS:
        kept.append(jsonable(item) if len(kept) < MOST_ITEMS else CUT)


def _iterate(steps: Generator[Any, Any, Any], call: CallEnding) -> Generator[Any, Any, Any]:
    """The steps of a generator that runs within this call, while the one who takes its items does not."""
    kept: list[Any] = []
    step: Any = partial(next, steps)
    while True:
        try:
            with call:
                item = step()
        except StopIteration as stop:
            call.note_return(kept if stop.value is None else [*kept, jsonable(stop.value)])
            return stop.value
        except BaseException as error:
            call.note_error(error)
            raise
        _keep(kept, item)
        try:
            sent = yield item
        except GeneratorExit as closed:
            with call:
                steps.close()
            call.note_error(closed)
        except BaseException as error:  # noqa: BLE001 - it is for the generator
            step = partial(steps.throw, error)
        else:
            step = partial(next, steps) if sent is None else partial(steps.send, sent)


async def _iterate_async(steps: AsyncGenerator[Any, Any], call: CallEnding) -> AsyncGenerator[Any, Any]:
    kept: list[Any] = []
    step: Any = steps.__anext__
    while True:
        try:
            with call:
                item = await step()
        except StopAsyncIteration:
            call.note_return(kept)
            return
        except BaseException as error:
            call.note_error(error)
            raise
        _keep(kept, item)
        try:
            sent = yield item
        except GeneratorExit as closed:
            with call:
                await steps.aclose()
            call.note_error(closed)
        except BaseException as error:  # noqa: BLE001 - it is for the generator
            step = partial(steps.athrow, error)
        else:
            step = partial(steps.asend, sent)


def _collect(items: Iterator[Any], call: CallEnding) -> Iterator[Any]:
    try:
        with call:
            kept = list(items)
    except BaseException as error:  # noqa: BLE001 - the call raises it again
        value = call.note_error(error)
    else:
        value = call.note_return(kept)
    yield from items_of(value)


async def _collect_async(items: AsyncIterator[Any], call: CallEnding) -> AsyncIterator[Any]:
    try:
        with call:
            kept = [item async for item in items]
    except BaseException as error:  # noqa: BLE001 - the call raises it again
        value = call.note_error(error)
    else:
        value = call.note_return(kept)
    for item in items_of(value):
        yield item


class _Followed:
    """In place of a value that is more than what can be waited for: all else of it stays."""

    def __init__(self, value: Any, call: CallEnding) -> None:
        self._value = value
        self._call = call
        self._kept: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._value, name)


class _Awaitable(_Followed):
    def __await__(self) -> Generator[Any, Any, Any]:
        return _await(self._value, self._call).__await__()


class _Items(_Followed):
    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            with self._call:
                item = next(self._value)
        except StopIteration:
            self._call.note_return(self._kept)
            raise
        except BaseException as error:
            self._call.note_error(error)
            raise
        _keep(self._kept, item)
        return item

    def __enter__(self) -> Any:
        entered = self._value.__enter__()
        return self if entered is self._value else entered

    def __exit__(self, *error: Any) -> Any:
        return self._value.__exit__(*error)


class _AsyncItems(_Followed):
    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        try:
            with self._call:
                item = await anext(self._value)
        except StopAsyncIteration:
            self._call.note_return(self._kept)
            raise
        except BaseException as error:
            self._call.note_error(error)
            raise
        _keep(self._kept, item)
        return item

    async def __aenter__(self) -> Any:
        entered = await self._value.__aenter__()
        return self if entered is self._value else entered

    async def __aexit__(self, *error: Any) -> Any:
        return await self._value.__aexit__(*error)
