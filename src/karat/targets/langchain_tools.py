"""LangChain tools of an agent in this process: their calls go the way that the stubs and faults of their case say.

Every kind of agent ends at a tool's `_run` or `_arun`: tool nodes, agents of LangChain, nodes that call a tool
themselves. These are wrapped while a case with stubs or faults runs, and put back when the last one ends.
"""

from __future__ import annotations

import dataclasses
import functools
import gc
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from threading import Lock
from typing import Any

from karat.model.faults import Stub
from karat.proxy.faults.world import CaseWorld, FaultError, FaultTimeoutError, Opaque, matches_tool
from karat.targets.base import DENIED, TargetError
from karat.text.wording import join_words

BASE = "langchain_core.tools.base"
_HIDDEN = ("config", "run_manager", "callbacks")
"""What LangChain adds to the arguments of a call."""
_MOST_NAMED = 12

_current: ContextVar[tuple[CaseWorld | None] | None] = ContextVar("karat_world", default=None)
"""The world of the case that this task is of, which may have none; None: it is not known of which case it is."""
_inside: ContextVar[bool] = ContextVar("karat_inside_tool", default=False)
"""Whether this call was let through already: `_arun` may end in `_run`, and either in that of its base class."""
_call_id: ContextVar[str | None] = ContextVar("karat_tool_call_id", default=None)


class ToolReach:
    """While a case runs in this task: calls of LangChain tools go the way of its world."""

    __slots__ = ("_token", "_world")

    def __init__(self, world: CaseWorld | None) -> None:
        self._world = world
        self._token: Token[tuple[CaseWorld | None] | None]

    def __enter__(self) -> None:
        self._token = _current.set((self._world,))
        _wrapping.enter(self._world)

    def __exit__(self, *_: object) -> None:
        _wrapping.leave(self._world)
        _current.reset(self._token)


def require_tools(world: CaseWorld, *, elsewhere: bool = False) -> None:
    """Raise TargetError, before the agent runs, where a stubbed tool would really run or no fault can land.

    `elsewhere`: the agent can hand its tools to Karat itself, so that it is not known which.
    """
    if elsewhere or world.by_proxy or not world.hits_tools:
        return
    if BASE not in sys.modules:
        message = "its stubs and faults are for tools, but the agent has loaded no LangChain tool that Karat can reach"
        raise TargetError(DENIED, f"{message}: see docs/faults.md")
    exact = [stub for stub in world.stubs if "*" not in stub.tool]
    if not all(_is_known(stub, world) for stub in exact):
        _known_tools.update(_find_tools())
    for stub in exact:
        if not _is_known(stub, world):
            names = join_words(sorted(_known_tools)[:_MOST_NAMED], "and") if _known_tools else "none"
            message = f"the agent has no LangChain tool {stub.tool!r} (there are: {names}), so its stub has no"
            raise TargetError(DENIED, f"{message} effect and a function of that name would really run")


_known_tools: set[str] = set()
"""Names of tools that were seen: looking for them takes time."""


def _is_known(stub: Stub, world: CaseWorld) -> bool:
    return any(matches_tool(stub.tool, world.names.get(name, name)) for name in _known_tools)


def _find_tools() -> set[str]:
    """The names of all LangChain tools of this process."""
    base, frozen = sys.modules[BASE].BaseTool, gc.get_freeze_count()
    if frozen:
        gc.unfreeze()  # what was loaded with the agent is not listed otherwise
    try:
        return {
            str(getattr(candidate, "name", "")) for candidate in gc.get_objects() if base in type(candidate).__mro__
        }
    finally:
        if frozen:
            gc.freeze()


class _Wrapping:
    """The methods of tools, wrapped while they need to be."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._running: list[CaseWorld | None] = []
        """The worlds of all cases that run in this process; None for one that has none."""
        self._before: dict[tuple[type, str], Any] = {}

    def enter(self, world: CaseWorld | None) -> None:
        with self._lock:
            self._running.append(world)
            if world is not None and not self._before and BASE in sys.modules:
                base = sys.modules[BASE].BaseTool
                self._put(base, "run", _wrap_entry(base.run))
                self._put(base, "arun", _wrap_entry_async(base.arun))

    def leave(self, world: CaseWorld | None) -> None:
        with self._lock:
            self._running.remove(world)  # by identity: worlds have no equality of their own
            if self._before and not any(self._running):
                for (kind, name), method in self._before.items():
                    setattr(kind, name, method)
                self._before.clear()

    def cover(self, kind: type) -> None:
        """Wrap what a class of tools runs, and what its base classes do."""
        with self._lock:
            for base in kind.__mro__ if self._before else ():
                for name, wrap in (("_run", _wrap_run), ("_arun", _wrap_run_async)):
                    if name in vars(base) and (base, name) not in self._before:
                        self._put(base, name, wrap(vars(base)[name]))

    def world_of(self, tool: Any) -> CaseWorld | None:
        """The world of the case that this call is of. Raises FaultError if it may be that of a stubbed tool."""
        current = _current.get()
        if current is not None:
            return current[0]
        with self._lock:
            running = list(self._running)
        if len(running) == 1:
            return running[0]  # a thread that the agent started itself does not know its case
        if any(world is not None and world.stub_of(world.names.get(tool.name, tool.name)) for world in running):
            message = f"{tool.name} was called in a separate thread while several cases ran: run them one at a time"
            raise FaultError(message)
        return None

    def _put(self, kind: type, name: str, method: Any) -> None:
        self._before[kind, name] = vars(kind)[name]
        setattr(kind, name, method)


_wrapping = _Wrapping()


@contextmanager
def _enter_tool(tool: Any, call_id: str | None) -> Iterator[None]:
    """While a tool is run from outside: what it runs is wrapped, and was not let through yet."""
    _wrapping.cover(type(tool))
    tokens = _inside.set(False), _call_id.set(call_id)
    try:
        yield
    finally:
        _inside.reset(tokens[0])
        _call_id.reset(tokens[1])


def _wrap_entry(run: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(run)
    def enter(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _enter_tool(self, kwargs.get("tool_call_id")):
            return run(self, *args, **kwargs)

    return enter


def _wrap_entry_async(arun: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(arun)
    async def enter(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _enter_tool(self, kwargs.get("tool_call_id")):
            return await arun(self, *args, **kwargs)

    return enter


def _wrap_run(run: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(run)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        world = None if _inside.get() else _wrapping.world_of(self)
        if world is None:
            return run(self, *args, **kwargs)
        form = _ResultForm(self)
        token = _inside.set(True)
        try:
            arguments = _given_arguments(args, kwargs)
            return form.close(world.call(self.name, arguments, lambda: form.open(run(self, *args, **kwargs))))
        except FaultError as error:
            return form.fail(error)
        finally:
            _inside.reset(token)

    return call


def _wrap_run_async(arun: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(arun)
    async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        world = None if _inside.get() else _wrapping.world_of(self)
        if world is None:
            return await arun(self, *args, **kwargs)
        form = _ResultForm(self)

        async def run() -> Any:
            return form.open(await arun(self, *args, **kwargs))

        token = _inside.set(True)
        try:
            return form.close(await world.acall(self.name, _given_arguments(args, kwargs), run))
        except FaultError as error:
            return form.fail(error)
        finally:
            _inside.reset(token)

    return call


def _given_arguments(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    by_name = {name: value for name, value in kwargs.items() if name not in _HIDDEN}
    return by_name | ({"": list(args)} if args else {})


class _ResultForm:
    """How a tool hands over what it found: alone, with an artifact, as a message or within a command of LangGraph."""

    def __init__(self, tool: Any) -> None:
        self._tool = tool
        self._raw: Any = None
        self._value: Any = None
        self._put_back: Callable[[Any], Any] | None = None

    def open(self, raw: Any) -> Any:
        """The content alone, which a fault may change."""
        self._raw = raw
        self._value, self._put_back = self._open(raw)
        return self._value

    def close(self, value: Any) -> Any:
        """What the tool gives with this content."""
        if self._put_back is not None:
            return self._raw if value is self._value else self._put_back(value)
        return (value, None) if self._tool.response_format == "content_and_artifact" else value

    def fail(self, error: FaultError) -> Any:
        """Raise the error as LangChain expects one of a tool; a tool that is gone is answered as an unknown one is."""
        from langchain_core.messages import ToolMessage

        call_id = _call_id.get()
        if error.gone and call_id:
            content = f"Error: {self._tool.name} is not a valid tool, try another one."
            message = ToolMessage(content, name=self._tool.name, tool_call_id=call_id, status="error")
            return (message, None) if self._tool.response_format == "content_and_artifact" else message
        raise _as_tool_exception(error) from None

    def _open(self, raw: Any) -> tuple[Any, Callable[[Any], Any]]:
        from langchain_core.messages import ToolMessage

        if self._tool.response_format == "content_and_artifact" and isinstance(raw, tuple) and len(raw) == 2:
            value, put_back = self._open_content(raw[0], ToolMessage)
            return value, lambda changed: (put_back(changed), raw[1])
        return self._open_content(raw, ToolMessage)

    def _open_content(self, raw: Any, message: type) -> tuple[Any, Callable[[Any], Any]]:
        if isinstance(raw, message):
            return raw.content, lambda changed: _with_content(raw, changed)  # type: ignore[attr-defined]  # a message has one
        update = getattr(raw, "update", None)
        if not hasattr(raw, "goto") or not isinstance(update, dict):
            return raw, lambda changed: changed
        messages = update.get("messages")
        tool_messages = (
            [entry for entry in messages if isinstance(entry, message)] if isinstance(messages, list) else []
        )
        if len(tool_messages) != 1:
            return Opaque(), lambda changed: raw

        def put_back(changed: Any) -> Any:
            written_anew = [
                _with_content(entry, changed) if entry is tool_messages[0] else entry for entry in messages or ()
            ]
            return dataclasses.replace(raw, update={**update, "messages": written_anew})

        return tool_messages[0].content, put_back  # type: ignore[attr-defined]  # as above


def _with_content(message: Any, content: Any) -> Any:
    import json

    fits = isinstance(content, str | list)
    return message.model_copy(update={"content": content if fits else json.dumps(content, ensure_ascii=False)})


def _as_tool_exception(error: FaultError) -> Exception:
    """The same error as one of a tool, so that a tool that answers for its own errors answers for it."""
    from langchain_core.tools import ToolException

    late = isinstance(error, FaultTimeoutError)
    kind: type[Exception] = type("ToolTimeoutError" if late else "ToolError", (type(error), ToolException), {})
    return kind(str(error))
