"""Wraps the methods by which frameworks call tools, as soon as their module is loaded, and puts them back.

A call is kept with the case that it is of, and goes the way that the stubs and faults of its case say.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from itertools import islice
from traceback import walk_tb
from types import ModuleType
from typing import Any, ParamSpec, TypeVar, cast

from carob.evidence.recorder import RanCall
from carob.proxy.faults.world import CaseWorld, FaultError
from carob.targets.in_process.cases import (
    CASES,
    SENDERS,
    RunningCase,
    open_call,
    wrap_sender,
    wrap_start,
    wrap_submit,
)
from carob.targets.in_process.result_forms import PlainForm
from carob.targets.in_process.tool_classes import TOOL_CLASSES, Called, Reader, ToolClass
from carob.text.clean import jsonable

P = ParamSpec("P")
T = TypeVar("T")

EARLY_FRAMES = 8
"""The functions that look at a tool's arguments are among the first ones that its method calls."""
BY_MODULE = {module: [row for row in TOOL_CLASSES if row.module == module] for module, *_ in TOOL_CLASSES}
SENDERS_BY_MODULE = {module: [row for row in SENDERS if row.module == module] for module, *_ in SENDERS}
ORIGINAL = "__carob_original__"


class _Passage:
    """One call on its way through one method."""

    __slots__ = ("_is_own", "_row", "call", "called", "form", "world")

    def __init__(self, row: ToolClass, called: Called, call: RanCall, form: PlainForm, *, is_own: bool) -> None:
        self._row = row
        self._is_own = is_own
        """Whether the call begins here, and so ends here."""
        self.called = called
        self.call = call
        self.form = form
        world = cast(RunningCase, call.owner).world
        self.world: CaseWorld | None = world if call.began and world is not None and world.hits_tools else None

    def open(self, raw: Any) -> Any:
        """The content alone of what the method returned, for the world of the case."""
        value = self.form.open(raw)
        self.call.shows_failure = self.call.shows_failure or self.form.failed
        return value

    def finish(self, raw: Any) -> Any:
        """The method returned this."""
        value = self.form.open(raw)
        if not self.call.has_result:
            self.call.note_result(value, failed=self.form.failed)
        return raw

    def finish_altered(self, value: Any) -> Any:
        """The world of the case gave this content: what the method returns for it."""
        self.call.note_result(value, failed=self.form.failed)
        return self.form.close(value)

    def refuse(self, error: FaultError) -> Any:
        """The world of the case gave an error: what the method returns for it, if it does not raise."""
        self.call.note_error(error)
        self.call.began = self.call.began and not error.is_refused
        self.call.refused = error.is_refused
        return self.form.fail(error)

    def fail(self, error: BaseException) -> None:
        """The method raised."""
        if self._is_own and _is_before_run(error, self._row):
            self.call.began = False
        self.call.note_error(error)

    def leave(self) -> None:
        if self._is_own:
            self.call.end()


def _enter(
    row: ToolClass,
    is_inner: bool,
    tool: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    owner: RunningCase | None = None,
) -> _Passage | None:
    """What becomes of a call; None if it is of no case, or is one that is on its way already."""
    if row.hands_on(tool):
        return None
    read: Reader = row.read_inner if is_inner and row.read_inner is not None else row.read
    called = read(tool, args, kwargs)
    above = open_call.get()
    if above is not None and above.name == called.name and not above.is_over:
        if is_inner and not above.began:
            above.began = True
            return _Passage(row, called, above, row.form(tool, above.call_id, args), is_own=False)
        if is_inner or above.arguments == jsonable(called.arguments):
            return None
    case = owner or CASES.of_call(called.name) or CASES.of_none
    if case is None:
        return None
    parent = above.name if above is not None else None
    began = is_inner or not row.inner
    call = RanCall(called.name, jsonable(called.arguments), called.call_id, parent, began, case)
    call.approval = called.approval
    if called.plugin:
        case.recorder.plugins.add(called.plugin)
    case.recorder.note_ran(call)
    return _Passage(row, called, call, row.form(tool, call.call_id, args), is_own=True)


def _is_before_run(error: BaseException, row: ToolClass) -> bool:
    """Whether an error arose while the arguments were looked at."""
    if not row.validators:
        return False
    names = [frame.f_code.co_name for frame, _ in islice(walk_tb(error.__traceback__), EARLY_FRAMES)]
    return not row.validators.isdisjoint(names)


def _wrap(row: ToolClass, method: Callable[..., Any], *, is_inner: bool) -> Callable[..., Any]:
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


def _wrap_sync(
    row: ToolClass, method: Callable[..., Any], is_inner: bool, owner: RunningCase | None = None
) -> Callable[..., Any]:
    @functools.wraps(method)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        passage = _enter(row, is_inner, self, args, kwargs, owner)
        if passage is None:
            return method(self, *args, **kwargs)
        token, is_pending = open_call.set(passage.call), False
        try:
            if passage.world is not None:
                run_opened = lambda: passage.open(method(self, *args, **kwargs))  # noqa: E731
                called = passage.called
                return passage.finish_altered(passage.world.call(called.name, called.arguments, run_opened))
            raw = method(self, *args, **kwargs)
            is_pending = hasattr(raw, "__await__")
            return _follow(passage, raw) if is_pending else passage.finish(raw)
        except FaultError as error:
            return passage.refuse(error)
        except BaseException as error:
            passage.fail(error)
            raise
        finally:
            open_call.reset(token)
            if not is_pending:
                passage.leave()

    return run


async def _follow(passage: _Passage, pending: Awaitable[Any]) -> Any:
    """Wait for what a method that is not asynchronous itself gave to be awaited."""
    token = open_call.set(passage.call)
    try:
        return passage.finish(await pending)
    except BaseException as error:
        passage.fail(error)
        raise
    finally:
        open_call.reset(token)
        passage.leave()


def _wrap_async(
    row: ToolClass, method: Callable[..., Any], is_inner: bool, owner: RunningCase | None = None
) -> Callable[..., Any]:
    @functools.wraps(method)
    async def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        passage = _enter(row, is_inner, self, args, kwargs, owner)
        if passage is None:
            return await method(self, *args, **kwargs)
        token = open_call.set(passage.call)
        try:
            if passage.world is None:
                return passage.finish(await method(self, *args, **kwargs))

            async def run_opened() -> Any:
                return passage.open(await method(self, *args, **kwargs))

            called = passage.called
            return passage.finish_altered(await passage.world.acall(called.name, called.arguments, run_opened))
        except FaultError as error:
            return passage.refuse(error)
        except BaseException as error:
            passage.fail(error)
            raise
        finally:
            open_call.reset(token)
            passage.leave()

    return run


def _wrap_stream(row: ToolClass, method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that gives events, of which the last one has the result."""

    @functools.wraps(method)
    async def run(self: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        passage = _enter(row, False, self, args, kwargs)
        if passage is None:
            async for event in method(self, *args, **kwargs):
                yield event
            return
        last: Any = None
        try:
            if passage.world is not None:
                for event in await _collect_altered(passage, method(self, *args, **kwargs)):
                    yield event
                return
            async for event in _iterate_within(passage.call, method(self, *args, **kwargs)):
                last = event
                yield event
            passage.finish(last)
        except BaseException as error:
            passage.fail(error)
            raise
        finally:
            passage.leave()

    return run


async def _iterate_within(call: RanCall, events: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """The events of a method that runs within this call, while those who take them do not."""
    while True:
        token = open_call.set(call)
        try:
            event = await anext(events)
        except StopAsyncIteration:
            return
        finally:
            open_call.reset(token)
        yield event


async def _collect_altered(passage: _Passage, events: AsyncIterator[Any]) -> list[Any]:
    """All events of a call that goes the way of its world, the last one as that has it."""
    kept: list[Any] = []

    async def run() -> Any:
        kept.extend([event async for event in _iterate_within(passage.call, events)])
        return passage.open(kept.pop())

    assert passage.world is not None
    try:
        value = await passage.world.acall(passage.called.name, passage.called.arguments, run)
        return [*kept, passage.finish_altered(value)]
    except FaultError as error:
        return [*kept, passage.refuse(error)]


def wrap_function(function: Callable[P, T], name: str, owner: RunningCase) -> Callable[P, T]:
    """A function of the agent as a tool of this run of a case, sync or async as it is."""
    tool = name or getattr(function, "__name__", type(function).__name__)

    parameters = _positional_parameters(function)

    def read(_: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Called:
        rest = {"": list(args[len(parameters) :])} if len(args) > len(parameters) else {}
        return Called(tool, {**dict(zip(parameters, args, strict=False)), **kwargs, **rest})

    row = ToolClass("", tool, (), read)
    wrapped: Callable[..., Any]
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def wait(_: object, *args: Any, **kwargs: Any) -> Any:
            return await function(*args, **kwargs)

        wrapped = _wrap_async(row, wait, is_inner=False, owner=owner)

        @functools.wraps(function)
        async def acall(*args: Any, **kwargs: Any) -> Any:
            return await wrapped(None, *args, **kwargs)

        return cast("Callable[P, T]", acall)

    @functools.wraps(function)
    def run(_: object, *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    wrapped = _wrap_sync(row, run, is_inner=False, owner=owner)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return cast("T", wrapped(None, *args, **kwargs))

    return call


def _positional_parameters(function: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # what is built in may say nothing of its parameters
        return []
    return [each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]


class _OwnMethod:
    """In the place of a method that each object has as a value of its own."""

    def __init__(self, row: ToolClass, name: str) -> None:
        self._row = row
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            raise AttributeError(self._name)
        try:
            method = vars(instance)[self._name]
        except KeyError:
            raise AttributeError(self._name) from None
        if self._row.hands_on(instance):
            return method

        @functools.wraps(method, assigned=[name for name in functools.WRAPPER_ASSIGNMENTS if hasattr(method, name)])
        async def call(tool: Any, *args: Any, **kwargs: Any) -> Any:
            return await method(*args, **kwargs)

        bound = functools.partial(_wrap_async(self._row, call, is_inner=False), instance)
        vars(bound).update({**getattr(method, "__dict__", {}), ORIGINAL: method})
        return bound

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self._name] = getattr(value, ORIGINAL, value)


class _Wrapping:
    """What is wrapped, as long as some target in this process is open."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._users = 0
        self._replaced: list[tuple[type, str, Any]] = []
        self._wrapped: dict[type, ToolClass] = {}
        self._has_proxy = False
        self._finder = _Finder(self)

    def open(self, *, has_proxy: bool = False) -> None:
        """Wrap what is loaded, and what will be; with a proxy of Carob's, also what sends requests to it."""
        with self._lock:
            self._users += 1
            self._has_proxy = self._has_proxy or has_proxy
            if self._users == 1:
                sys.meta_path.insert(0, self._finder)
            for module in (*BY_MODULE, *SENDERS_BY_MODULE):
                if module in sys.modules:
                    self.wrap_module(sys.modules[module])

    def close(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users:
                return
            sys.meta_path.remove(self._finder)
            for kind, name, value in reversed(self._replaced):
                setattr(kind, name, value) if value is not _ABSENT else delattr(kind, name)
            self._replaced.clear()
            self._wrapped.clear()
            self._has_proxy = False

    @property
    def classes(self) -> dict[type, ToolClass]:
        """The classes of tools that this process has."""
        return dict(self._wrapped)

    def wrap_module(self, module: ModuleType) -> None:
        """Wrap the classes of a module that was loaded."""
        with self._lock:
            for sender in SENDERS_BY_MODULE.get(module.__name__, ()):
                kind = getattr(module, sender.name, None)
                method = vars(kind).get(sender.method) if kind is not None else None
                is_used = self._has_proxy or not sender.needs_proxy
                if is_used and kind is not None and method is not None and not hasattr(method, ORIGINAL):
                    self._carry_cases()
                    self._replace(kind, sender.method, wrap_sender(sender, method))
                    setattr(vars(kind)[sender.method], ORIGINAL, method)
            for row in BY_MODULE.get(module.__name__, ()):
                kind = getattr(module, row.name, None)
                if isinstance(kind, type) and kind not in self._wrapped:
                    self._carry_cases()
                    self._wrapped[kind] = row
                    self._wrap_class(kind, row)

    def _carry_cases(self) -> None:
        """Let pools and threads know of which case they are, once there is something that asks."""
        if not self._replaced:
            self._replace(ThreadPoolExecutor, "submit", wrap_submit(ThreadPoolExecutor.submit))
            self._replace(threading.Thread, "start", wrap_start(threading.Thread.start))

    def _wrap_class(self, kind: type, row: ToolClass) -> None:
        if row.attribute:
            for name in row.methods:
                self._replace(kind, name, _OwnMethod(row, name))
            return
        for each in _with_subclasses(kind) if row.in_subclasses else [kind]:
            self.wrap_methods(each, row)
        if row.in_subclasses:
            self._replace(kind, "__init_subclass__", self._wrap_later(kind, row))

    def wrap_methods(self, kind: type, row: ToolClass) -> None:
        """Wrap what a class has of its own."""
        for name in (*row.methods, *row.inner):
            method = vars(kind).get(name)
            if inspect.isfunction(method) and not hasattr(method, ORIGINAL):
                self._replace(kind, name, _wrap(row, method, is_inner=name in row.inner))

    def _wrap_later(self, kind: type, row: ToolClass) -> Any:
        """`__init_subclass__` that wraps the methods of classes that are made from now on."""
        own = vars(kind).get("__init_subclass__")

        def wrap_subclass(subclass: type, /, **kwargs: Any) -> None:
            above = cast(Any, super)(kind, subclass).__init_subclass__ if own is None else own.__get__(None, subclass)
            above(**kwargs)
            with self._lock:
                self.wrap_methods(subclass, row)

        return classmethod(wrap_subclass)

    def _replace(self, kind: type, name: str, value: Any) -> None:
        self._replaced.append((kind, name, vars(kind).get(name, _ABSENT)))
        setattr(kind, name, value)


_ABSENT = object()


def _with_subclasses(kind: type) -> Iterator[type]:
    yield kind
    subclasses: list[type] = type.__subclasses__(kind)
    for subclass in subclasses:
        yield from _with_subclasses(subclass)


class _Finder(MetaPathFinder):
    """Finds the modules of the table as they would be found anyway, and hears when they were loaded."""

    def __init__(self, wrapping: _Wrapping) -> None:
        self._wrapping = wrapping
        self._searched: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if (fullname not in BY_MODULE and fullname not in SENDERS_BY_MODULE) or fullname in self._searched:
            return None
        self._searched.add(fullname)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._searched.discard(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _WrappingLoader(spec.loader, self._wrapping)
        return spec


class _WrappingLoader(Loader):
    """Loads a module as its own loader does, then wraps its classes."""

    def __init__(self, loader: Loader, wrapping: _Wrapping) -> None:
        self._loader = loader
        self._wrapping = wrapping

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        if module.__spec__ is not None:
            module.__spec__.loader = module.__loader__ = self._loader
        self._wrapping.wrap_module(module)


WRAPPING = _Wrapping()
