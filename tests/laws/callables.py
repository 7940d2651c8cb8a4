"""All that can be handed over as a tool, how a call of it may end, and who brings that about."""

from __future__ import annotations

import asyncio
import functools
import inspect
import types
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, Final, Literal

Ending = Literal["returns", "raises", "is not taken", "is cancelled", "is closed early"]
ENDINGS: Final[tuple[Ending, ...]] = ("returns", "raises", "is not taken", "is cancelled", "is closed early")
RESULT: Final = {"id": "A", "total": 80}
LOOK: Final = "get_invoice"


class Body:
    """What a tool does, so that its call ends in this way."""

    def __init__(self, ending: Ending) -> None:
        self.ending = ending
        self.began = 0

    def now(self) -> Any:
        self.began += 1
        if self.ending == "raises":
            raise LookupError("there is no such invoice")
        return dict(RESULT)

    async def later(self) -> Any:
        result = self.now()
        await (asyncio.sleep(60) if self.ending == "is cancelled" else asyncio.sleep(0))
        return result

    def items(self) -> Iterator[Any]:
        yield {"progress": 1}
        yield self.now()

    async def items_later(self) -> AsyncIterator[Any]:
        yield {"progress": 1}
        yield await self.later()


def _named(function: Any) -> Any:
    function.__name__ = LOOK
    return function


def _logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


def function_of(body: Body) -> Any:
    def get_invoice(id: str) -> Any:
        return body.now()

    return get_invoice


def async_function_of(body: Body) -> Any:
    async def get_invoice(id: str) -> Any:
        return await body.later()

    return get_invoice


def generator_of(body: Body) -> Any:
    def get_invoice(id: str) -> Iterator[Any]:
        yield from body.items()

    return get_invoice


def async_generator_of(body: Body) -> Any:
    async def get_invoice(id: str) -> AsyncIterator[Any]:
        async for item in body.items_later():
            yield item

    return get_invoice


def _future_of(body: Body) -> Any:
    def get_invoice(id: str) -> Future[Any]:
        future: Future[Any] = Future()
        if body.ending == "is cancelled":
            future.cancel()
        elif body.ending != "is not taken":
            try:
                future.set_result(body.now())
            except LookupError as error:
                future.set_exception(error)
        return future

    return get_invoice


def _coroutine_by_yield_of(body: Body) -> Any:
    @types.coroutine
    def get_invoice(id: str) -> Any:
        return (yield from body.later().__await__())

    return get_invoice


class _Awaitable:
    def __init__(self, body: Body) -> None:
        self._body = body

    def __await__(self) -> Any:
        return self._body.later().__await__()


class _Items:
    def __init__(self, body: Body) -> None:
        self._items = body.items()

    def __iter__(self) -> _Items:
        return self

    def __next__(self) -> Any:
        return next(self._items)


class _AsyncItems:
    def __init__(self, body: Body) -> None:
        self._items = body.items_later()

    def __aiter__(self) -> _AsyncItems:
        return self

    async def __anext__(self) -> Any:
        return await anext(self._items)


class Desk:
    """A class whose methods are tools, and whose objects may be called."""

    def __init__(self, body: Body) -> None:
        self.body = body

    def get_invoice(self, id: str) -> Any:
        return self.body.now()

    async def __call__(self, id: str) -> Any:
        return await self.body.later()


class _NamedDesk(Desk):
    __name__ = LOOK


class _PlainDesk:
    __name__ = LOOK

    def __init__(self, body: Body) -> None:
        self.body = body

    def __call__(self, id: str) -> Any:
        return self.body.now()


def _in_class(kind: Any, body: Body) -> Any:
    def get_invoice(*args: Any, id: str) -> Any:
        return body.now()

    return kind(get_invoice)


def _sync(make: Callable[[Body], Any]) -> Callable[[Body], Any]:
    """A function that gives what can be waited for, or taken from, without being asynchronous itself."""
    return lambda body: _named(lambda id: make(body))


CALLABLES: Final[dict[str, tuple[Callable[[Body], Any], str]]] = {
    "function": (function_of, ""),
    "async function": (async_function_of, ""),
    "generator": (generator_of, ""),
    "async generator": (async_generator_of, ""),
    "lambda": (lambda body: lambda id: body.now(), LOOK),
    "lambda with a name": (lambda body: _named(lambda id: body.now()), ""),
    "partial": (lambda body: functools.partial(function_of(body), id="A"), LOOK),
    "async partial": (lambda body: functools.partial(async_function_of(body)), LOOK),
    "partial with a name": (lambda body: _named(functools.partial(function_of(body))), ""),
    "bound method": (lambda body: Desk(body).get_invoice, ""),
    "callable object": (_PlainDesk, ""),
    "callable object, async": (_NamedDesk, ""),
    "callable object without a name": (Desk, LOOK),
    "static method": (lambda body: _in_class(staticmethod, body).__func__, ""),
    "decorated": (lambda body: _logged(function_of(body)), ""),
    "decorated, async": (lambda body: _logged(async_function_of(body)), ""),
    "decorated, generator": (lambda body: _logged(generator_of(body)), ""),
    "cached": (lambda body: functools.lru_cache(function_of(body)), ""),
    "function that gives a coroutine": (_sync(lambda body: body.later()), ""),
    "function that gives an awaitable": (_sync(_Awaitable), ""),
    "function that gives a task": (_sync(lambda body: asyncio.ensure_future(body.later())), ""),
    "function that gives a future of a thread": (_future_of, ""),
    "function that gives a generator": (_sync(lambda body: body.items()), ""),
    "function that gives an async generator": (_sync(lambda body: body.items_later()), ""),
    "function that gives an iterator": (_sync(_Items), ""),
    "function that gives an async iterator": (_sync(_AsyncItems), ""),
    "function that gives a map": (_sync(lambda body: map(Body.now, [body])), ""),
    "coroutine by yield": (_coroutine_by_yield_of, ""),
}  # fmt: skip
"""How each is made, and the name that must be said with it."""


async def bring_about(ending: Ending, call: Callable[[], Any]) -> bool:
    """Make the call and let it end; whether it can end in this way."""
    with suppress(LookupError, asyncio.CancelledError, CancelledError):
        value = call()
        if isinstance(value, Future):
            return await _wait_for_thread(ending, value)
        if inspect.isawaitable(value):
            return await _wait(ending, value)
        if hasattr(value, "__next__"):
            return _take(ending, value)
        if hasattr(value, "__anext__"):
            return await _take_later(ending, value)
        return ending == "returns"
    return ending in ("raises", "is cancelled")


async def _wait_for_thread(ending: Ending, future: Future[Any]) -> bool:
    if ending == "is not taken":
        return True
    future.result(0)
    return ending == "returns"


async def _wait(ending: Ending, pending: Awaitable[Any]) -> bool:
    if ending == "is not taken":
        if isinstance(pending, asyncio.Future):
            pending.cancel()
        elif inspect.iscoroutine(pending):
            pending.close()
        return True
    task = asyncio.ensure_future(pending)
    await asyncio.sleep(0)
    if ending == "is cancelled":
        await asyncio.sleep(0)
        task.cancel()
    await task
    return ending == "returns"


def _take(ending: Ending, items: Any) -> bool:
    if ending == "is not taken":
        return True
    if ending == "is closed early":
        next(items)
        getattr(items, "close", lambda: None)()
        return True
    assert [*items], "a stream has items"
    return ending == "returns"


async def _take_later(ending: Ending, items: Any) -> bool:
    if ending == "is not taken":
        return True
    if ending == "is closed early":
        await anext(items)
        if hasattr(items, "aclose"):
            await items.aclose()
        return True

    async def take() -> None:
        assert [item async for item in items], "a stream has items"

    return await _wait(ending, take())
