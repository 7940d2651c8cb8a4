"""A function becomes a tool: of a run of a case, or of a guard.

There is one way for all that can be called, and what comes of a call is known once it has ended.
"""

from __future__ import annotations

import copy
import functools
import inspect
import sys
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from types import CodeType
from typing import Any, NamedTuple, TypeVar

from carob.errors import UsageError
from carob.targets.in_process.cases import RunningCase
from carob.targets.in_process.endings import items_of
from carob.targets.in_process.passages import Passage, enter
from carob.targets.in_process.result_forms import PlainForm
from carob.targets.in_process.tool_classes import OWNER, TOOL_CLASSES, Called, FindOwner, ToolClass
from carob.text.wording import quoted

T = TypeVar("T")
LOCAL = "<locals>"
DEEPEST_COPY = 64
"""Arguments that are deeper are not judged in full, and so they are refused where a rule looks at them."""


class Door(NamedTuple):
    """Where a function becomes a tool."""

    owner: RunningCase
    """What calls of functions are of."""
    find_owner: FindOwner
    """What a call of a tool of a framework is of, where it would be of this case otherwise."""
    form: type[PlainForm] = PlainForm
    knows: Callable[[str], bool] = lambda name: False
    """Whether somebody wrote this name of a tool elsewhere, such as in a rule."""
    copies: bool = False
    """Whether containers among the arguments are copied, so that what was judged is what the function gets."""


class FoundTool(NamedTuple):
    """What a function or an object is as a tool."""

    name: str
    row: ToolClass | None
    """That of a tool of a framework."""


def wrap_function(function: T, name: str, door: Door) -> T:
    """The function as a tool that is called as it is. Raises UsageError where it has no name that somebody wrote."""
    wrapped: T = wrap_tool(function, find_tool(function, name, door.knows), door)
    return wrapped


def find_tool(function: Any, name: str = "", knows: Callable[[str], bool] = lambda name: False) -> FoundTool:
    """The name of a tool, and what it is. Raises UsageError where it is none, or has no name that somebody wrote."""
    if isinstance(function, staticmethod | classmethod):
        function = function.__func__
    kinds = [(kind.__module__, kind.__name__) for kind in type(function).__mro__]
    row = next((row for row in TOOL_CLASSES if row.names is not None and (row.module, row.name) in kinds), None)
    if row is None or row.names is None:
        if not callable(function):
            message = f"{describe(function)} is neither a function nor a tool that Carob knows."
            raise UsageError(message, fix="Give the function that it calls.", slug="no-tool")
        return FoundTool(read_name(function, name, knows), None)
    known = list(row.names(function))
    if name and name not in known:
        message = f"its framework calls the tool {', '.join(known)}, not {name}."
        raise UsageError(message, fix="Leave out `name`, or give the tool that name.", slug="no-tool-name")
    return FoundTool(name or known[0], row)


def wrap_tool(function: Any, tool: FoundTool, door: Door) -> Any:
    """What is called in the place of the function; of a tool of a framework, a copy that is of this door."""
    if isinstance(function, staticmethod | classmethod):
        return type(function)(wrap_tool(function.__func__, tool, door))
    if tool.row is not None:
        mine = owner = copy.copy(function)
        if part := tool.row.owned:
            owner = copy.copy(getattr(function, part))
            setattr(mine, part, owner)
        vars(owner)[OWNER] = door.find_owner
        return mine
    read = _reader(function, tool.name)
    row = ToolClass("", tool.name, (), lambda _, args, kwargs: read(args, kwargs), form=door.form)

    def begin(args: Any, kwargs: Any) -> tuple[Passage | None, Callable[[], Any]]:
        if door.copies:
            args, kwargs = _copy(args), _copy(kwargs)
        return enter(row, False, None, args, kwargs, door.owner), functools.partial(function, *args, **kwargs)

    wrapped = functools.wraps(function)(_by_kind(_find_kind(function), begin))
    wrapped.__name__ = tool.name
    return wrapped


def _by_kind(kind: str, begin: Callable[[Any, Any], tuple[Passage | None, Callable[[], Any]]]) -> Callable[..., Any]:
    """What is called in the place of a function of this kind."""

    async def wait(*args: Any, **kwargs: Any) -> Any:
        passage, call = begin(args, kwargs)
        return await (call() if passage is None else passage.arun(call))

    def iterate(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        passage, call = begin(args, kwargs)
        return (yield from call() if passage is None else items_of(passage.run(call)))

    async def iterate_async(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        passage, call = begin(args, kwargs)

        async def get() -> Any:
            return call()

        items = call() if passage is None else await passage.arun(get)
        if not isinstance(items, AsyncIterator):
            for item in items_of(items):
                yield item
            return
        try:
            async for item in items:
                yield item
        finally:
            await items.aclose()  # type: ignore[attr-defined]  # it is a generator

    def run(*args: Any, **kwargs: Any) -> Any:
        passage, call = begin(args, kwargs)
        return call() if passage is None else passage.run(call)

    return {"async": wait, "items": iterate, "async items": iterate_async}.get(kind, run)


def _find_kind(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    if not inspect.isroutine(function) and not inspect.isclass(function) and not inspect.iscoroutinefunction(function):
        function = type(function).__call__
    if inspect.iscoroutinefunction(function):
        return "async"
    if inspect.isasyncgenfunction(function):
        return "async items"
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    is_awaited = flags & inspect.CO_ITERABLE_COROUTINE
    return "items" if inspect.isgeneratorfunction(function) and not is_awaited else "plain"


# -- the name


def read_name(function: Any, name: str, knows: Callable[[str], bool]) -> str:
    """The name of a tool: what was given, or what somebody wrote as the name of the function."""
    if name:
        if not isinstance(name, str) or name != name.strip():
            raise UsageError(
                f"{name!r} is not the name of a tool.", fix='Write name="pay_invoice".', slug="no-tool-name"
            )
        return name
    found = getattr(function, "__name__", "")
    is_dunder = isinstance(found, str) and found.startswith("__") and found.endswith("__")
    if not isinstance(found, str) or not found or found.startswith("<") or is_dunder:
        raise _no_name(f"{describe(function)} has no name of its own")
    if not knows(found) and (inner := _find_wrapped(function)):
        raise _no_name(f"{found!r} is the name of what was put around {inner}")
    return found


def _no_name(why: str) -> UsageError:
    fix = 'Say which tool it is: name="pay_invoice".'
    return UsageError(f"{why}, so no rule and no case can name the tool.", fix=fix, slug="no-tool-name")


def describe(value: object) -> str:
    kind = getattr(value, "__name__", "") or f"a value of type {type(value).__name__}"
    return "a lambda" if kind == "<lambda>" else f"a method {kind}" if inspect.isroutine(value) else str(kind)


def _find_wrapped(function: Any) -> str:
    """What a function only hands its calls on to, if it has the name that its own code has, and nothing else does."""
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None or code.co_name != function.__name__ or LOCAL not in function.__qualname__:
        return ""
    held = dict(zip(code.co_freevars, _held_values(function), strict=False))
    defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    others = {
        id(value): value for value in (*held.values(), *defaults) if _is_function(value) and value is not function
    }
    hands_all_on = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    for value in others.values():
        if hands_all_on or (_parameters(value) == _parameters(function) and _is_decorated(function, held, value)):
            return describe(value) if not hasattr(value, "__name__") else quoted(value.__name__)
    return ""


def _held_values(function: Any) -> list[Any]:
    empty = object()
    values = []
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # it is not set yet
            values.append(empty)
    return values


def _is_function(value: object) -> bool:
    return callable(value) and not inspect.isclass(value)


def _parameters(function: Any) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # what is built in may say nothing of its parameters
        return []


def _is_decorated(function: Any, held: Mapping[str, Any], value: object) -> bool:
    """Whether what made a function takes nothing but the other one, as a decorator does."""
    names = [name for name, held_value in held.items() if held_value is value]
    outer = _find_outer(function)
    if outer is None:
        return False
    arguments = outer.co_varnames[: outer.co_argcount + outer.co_kwonlyargcount]
    return [name for name in arguments if name != "self"] == names


def _find_outer(function: Any) -> CodeType | None:
    """The code of the function in which a local one is defined."""
    first, *path = function.__qualname__.split(f".{LOCAL}.")
    value: Any = sys.modules.get(function.__module__)
    for part in first.split("."):
        value = getattr(value, part, None)
    code = getattr(inspect.unwrap(value) if callable(value) else None, "__code__", None)
    for name in [step for part in path[:-1] for step in part.split(".")]:
        inner = (const for const in getattr(code, "co_consts", ()) if isinstance(const, CodeType))
        code = next((const for const in inner if const.co_name == name), None)
    return code


# -- the arguments


def _reader(function: Any, name: str) -> Callable[[Any, Any], Called]:
    """Reads what a call of the function is called with, by the names of its parameters."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # what is built in may say nothing of its parameters
        return lambda args, kwargs: Called(name, {**kwargs, **({"": list(args)} if args else {})})
    parameters = signature.parameters
    positional = [
        each.name for each in parameters.values() if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    receiver = _find_receiver(function, positional)

    def read(args: Any, kwargs: Any) -> Called:
        rest = {"": list(args[len(positional) :])} if len(args) > len(positional) else {}
        given = {**dict(zip(positional, args, strict=False)), **kwargs, **rest}
        if receiver:
            given.pop(receiver, None)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:  # the function raises it as well
            return Called(name, given)
        bound.apply_defaults()
        judged = flatten_arguments(bound)
        if receiver:
            judged.pop(receiver, None)
        return Called(name, given, judged=judged)

    return read


def _find_receiver(function: Any, positional: list[str]) -> str:
    """The parameter for the object that a method is called on, where it is not bound; it is not an argument."""
    outer = getattr(function, "__qualname__", "").rpartition(".")[0]
    is_in_class = bool(outer) and not outer.endswith(LOCAL) and inspect.isfunction(function)
    return positional[0] if is_in_class and positional[:1] in (["self"], ["cls"]) else ""


def flatten_arguments(bound: inspect.BoundArguments) -> dict[str, Any]:
    """What a function is called with, by name; what `**more` takes is named as it was, if nothing else is."""
    named: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        is_more = bound.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
        named.update(value if is_more and named.keys().isdisjoint(value) else {name: value})
    return named


def _copy(value: Any, within: tuple[int, ...] = ()) -> Any:
    """Containers anew, so that nothing else changes them; what is in them stays."""
    kind = type(value)
    if kind not in (dict, list, tuple, set) or len(within) > DEEPEST_COPY or id(value) in within:
        return value
    within = (*within, id(value))
    if kind is dict:
        return {key: _copy(member, within) for key, member in value.items()}
    return kind(_copy(member, within) for member in value)
