"""Wraps the methods by which frameworks call tools, as soon as their module is loaded, and puts them back.

A call is kept with the case that it is of, and goes the way that the stubs and faults of its case say.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, cast

from carob.targets.in_process.cases import SENDERS, wrap_sender, wrap_start, wrap_submit
from carob.targets.in_process.passages import ORIGINAL, wrap_method
from carob.targets.in_process.tool_classes import TOOL_CLASSES, ToolClass

BY_MODULE = {module: [row for row in TOOL_CLASSES if row.module == module] for module, *_ in TOOL_CLASSES}
SENDERS_BY_MODULE = {module: [row for row in SENDERS if row.module == module] for module, *_ in SENDERS}


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

        bound = functools.partial(wrap_method(self._row, call, is_inner=False), instance)
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
                self._replace(kind, name, wrap_method(row, method, is_inner=name in row.inner))

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
