"""One call on its way: through the method of a framework, or a function that was handed over.

A call is kept with the case that it is of, and goes the way that the stubs, faults and guards of its case say.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import nullcontext, suppress
from contextvars import Token
from itertools import islice
from traceback import walk_tb
from typing import Any, cast

from carob.evidence.recorder import RanCall
from carob.proxy.faults.world import CaseWorld, FaultError, ToolPlan
from carob.targets.in_process.cases import CASES, RunningCase, open_call
from carob.targets.in_process.endings import follow, is_unended
from carob.targets.in_process.result_forms import PlainForm
from carob.targets.in_process.tool_classes import Called, Reader, ToolClass, find_owner
from carob.text.clean import jsonable

EARLY_FRAMES = 8
"""The functions that look at a tool's arguments are among the first ones that its method calls."""
ORIGINAL = "__carob_original__"


class Passage:
    """One call on its way through one method."""

    __slots__ = ("_follows", "_is_over", "_is_own", "_plan", "_row", "_token", "_world", "call", "called", "form")

    def __init__(self, row: ToolClass, called: Called, call: RanCall, form: PlainForm, *, is_own: bool) -> None:
        self._row = row
        self._is_own = is_own
        """Whether the call begins here, and so ends here."""
        self.called = called
        self.call = call
        self.form = form
        world = cast(RunningCase, call.owner).world
        self._world: CaseWorld | None = world if call.began and world is not None and world.hits_tools else None
        self._plan: ToolPlan | None = None
        self._follows = self._is_over = False
        self._token: Token[RanCall | None]

    def __enter__(self) -> None:
        self._token = open_call.set(self.call)

    def __exit__(self, *_: object) -> None:
        with suppress(ValueError, RuntimeError):  # a coroutine may be closed elsewhere than where it ran
            open_call.reset(self._token)

    @property
    def is_pending(self) -> bool:
        return self.call.is_pending

    @is_pending.setter
    def is_pending(self, is_pending: bool) -> None:
        self.call.is_pending = self._follows = is_pending

    @property
    def collects(self) -> bool:
        return self._plan is not None and self._plan.is_due

    @property
    def has_world(self) -> bool:
        return self._world is not None

    def run(self, method: Callable[[], Any]) -> Any:
        """What the method gives, as the world of the case has it."""
        try:
            with self:
                if delay := self.open():
                    time.sleep(delay)
                raw = method() if self._runs else None
        except BaseException as error:  # noqa: BLE001 - it is raised again
            return self.note_error(error)
        return follow(raw, self) if self._runs else self.note_return()

    async def arun(self, method: Callable[[], Awaitable[Any]]) -> Any:
        try:
            with self:
                if delay := self.open():
                    await asyncio.sleep(delay)
                raw = await method() if self._runs else None
        except BaseException as error:  # noqa: BLE001 - it is raised again
            return self.note_error(error)
        return follow(raw, self) if self._runs else self.note_return()

    def open(self) -> float:
        """Ask the world of the case; the seconds to wait first. Raises FaultError for a call that is refused."""
        if self._world is None:
            return 0.0
        called = self.called
        arguments = called.arguments if called.judged is None else called.judged
        self._plan = self._world.open_call(called.name, arguments)
        return self._plan.delay

    @property
    def _runs(self) -> bool:
        return self._plan is None or self._plan.runs

    def note_return(self, raw: Any = None) -> Any:
        """The method returned this, or is not to run: what the caller gets."""
        if self._is_over:
            return raw
        if self.is_pending and not self._follows:  # a method below gave the caller what has not ended
            return raw
        value = self.form.open(raw) if self._runs else None
        if is_unended(value):
            self.is_pending = True
            return raw
        self._is_over, self.is_pending = True, False
        self.call.shows_failure = self.call.shows_failure or self.form.failed
        try:
            if self._plan is not None:
                value = self._plan.settle(value)
            if self._plan is not None or not self.call.has_result:
                self.call.note_result(value, failed=self.form.failed)
            return raw if self._plan is None else self.form.close(value)
        except FaultError as error:
            return self._refuse(error)
        finally:
            self._leave()

    def note_error(self, error: BaseException) -> Any:
        """The method raised, or was given up: what it returns for that; else the error is raised again."""
        if self._is_over:
            raise error
        self._is_over, self.is_pending = True, False
        try:
            if self._plan is not None:
                self._plan.fail(error)
            if isinstance(error, FaultError):
                return self._refuse(error)
            if self._is_own and _is_before_run(error, self._row):
                self.call.began = False
            self.call.note_error(error)
            raise error
        finally:
            self._leave()

    def _refuse(self, error: FaultError) -> Any:
        """The world of the case gave an error: what the method returns for it, if it does not raise."""
        self.call.note_error(error)
        self.call.began = self.call.began and not error.is_refused
        self.call.refused = error.is_refused
        return self.form.fail(error)

    def _leave(self) -> None:
        if self._is_own:
            self.call.end()


def enter(
    row: ToolClass,
    is_inner: bool,
    tool: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    owner: RunningCase | None = None,
) -> Passage | None:
    """What becomes of a call; None if it is of no case, or is one that is on its way already."""
    if row.hands_on(tool):
        return None
    read: Reader = row.read_inner if is_inner and row.read_inner is not None else row.read
    called = read(tool, args, kwargs)
    above = open_call.get()
    if above is not None and above.name == called.name and not above.is_over:
        if is_inner and not above.began:
            above.began = True
            return Passage(row, called, above, row.form(tool, above.call_id, args), is_own=False)
        if is_inner or _is_on_its_way(above, called, row, owner):
            return None
    case = owner or _find_case(called.tool or tool, called.name)
    if case is None:
        return None
    parent = above.name if above is not None else None
    began = is_inner or not row.inner
    call = RanCall(called.name, jsonable(called.arguments), called.call_id, parent, began, case)
    call.approval, call.is_entered = called.approval, owner is not None
    if called.plugin:
        case.recorder.plugins.add(called.plugin)
    case.recorder.note_ran(call)
    return Passage(row, called, call, row.form(tool, call.call_id, args), is_own=True)


def _find_case(tool: Any, name: str) -> RunningCase | None:
    """What a call is of: the tool was handed over, a guard has it or watches this process, or it is of a run."""
    if (find := find_owner(tool)) is not None:
        return find(CASES.current())
    current = CASES.current()
    if CASES.of_none is None or (current is not None and not current.is_run):
        return CASES.of_call(name)
    return CASES.of_none(name)


def _is_on_its_way(above: RanCall, called: Called, row: ToolClass, owner: RunningCase | None) -> bool:
    """Whether a call is the one above it, which came by another method. A tool that calls itself makes another."""
    if above.arguments != jsonable(called.arguments):
        return False
    if owner is None:
        return not (row.inner and above.began)
    if above.is_entered or cast(RunningCase, above.owner).recorder is not owner.recorder:
        return False
    above.is_entered = True
    return True


def _is_before_run(error: BaseException, row: ToolClass) -> bool:
    """Whether an error arose while the arguments were looked at."""
    if not row.validators:
        return False
    names = [frame.f_code.co_name for frame, _ in islice(walk_tb(error.__traceback__), EARLY_FRAMES)]
    return not row.validators.isdisjoint(names)


def wrap_method(row: ToolClass, method: Callable[..., Any], *, is_inner: bool) -> Callable[..., Any]:
    if inspect.isasyncgenfunction(method):
        wrapped = _wrap_stream(row, method)
    elif inspect.iscoroutinefunction(method):
        wrapped = _wrap_async(row, method, is_inner)
    else:
        wrapped = _wrap_sync(row, method, is_inner)
    setattr(wrapped, ORIGINAL, method)
    with suppress(TypeError, ValueError):  # frameworks look at it in each call, and it takes a while to be found
        wrapped.__signature__ = inspect.signature(method)  # type: ignore[attr-defined]
    return wrapped


def _bind(method: Callable[..., Any], tool: Any) -> Callable[..., Any]:
    """The method of this tool: a decorator of the framework may look at whose method is called."""
    return cast(Callable[..., Any], method.__get__(tool, type(tool)))


def _wrap_sync(row: ToolClass, method: Callable[..., Any], is_inner: bool) -> Callable[..., Any]:
    @functools.wraps(method)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        passage = enter(row, is_inner, self, args, kwargs)
        call = functools.partial(_bind(method, self), *args, **kwargs)
        return call() if passage is None else passage.run(call)

    return run


def _wrap_async(row: ToolClass, method: Callable[..., Any], is_inner: bool) -> Callable[..., Any]:
    @functools.wraps(method)
    async def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        passage = enter(row, is_inner, self, args, kwargs)
        call = functools.partial(_bind(method, self), *args, **kwargs)
        return await (call() if passage is None else passage.arun(call))

    return run


def _wrap_stream(row: ToolClass, method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that gives events, of which the last one has the result."""

    @functools.wraps(method)
    async def run(self: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        passage = enter(row, False, self, args, kwargs)
        events = _iterate_within(passage, _bind(method, self)(*args, **kwargs))
        if passage is None or not passage.has_world:
            last: Any = None
            try:
                async for event in events:
                    last = event
                    if passage is not None and passage.form.is_result(event):
                        passage.note_return(event)  # whoever takes it may not come back for the end
                    yield event
            except BaseException as error:
                if passage is not None:
                    passage.note_error(error)
                raise
            if passage is not None:
                passage.note_return(last)
            return
        kept: list[Any] = []

        async def collect() -> Any:
            kept.extend([event async for event in events])
            return kept.pop()

        last = await passage.arun(collect)
        for event in (*kept, last):
            yield event

    return run


async def _iterate_within(passage: Passage | None, events: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """The events of a method that runs within this call, while those who take them do not."""
    while True:
        try:
            with passage or nullcontext():
                event = await anext(events)
        except StopAsyncIteration:
            return
        yield event
