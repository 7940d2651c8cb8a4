"""Tools that a model is offered: what it is told of them, and the Python functions that really run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import get_origin, get_type_hints

import msgspec
from msgspec import Struct

from karat.plugins.code import load
from karat.targets.config import TargetConfig
from karat.targets.threads import DaemonThreads
from karat.text.wording import said
from karat.traces.clean import jsonable

TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


class ToolTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A tool as karat.toml writes it out."""

    function: str = ""
    description: str = ""
    parameters: dict[str, object] | None = None
    """A JSON Schema of the arguments; without it, the function's signature says them."""


class OfferedTool:
    """One tool. Without a function it can be asked for, and no more."""

    def __init__(self, name: str, given: ToolTable, config: TargetConfig) -> None:
        self.name = name
        self._function: Callable[..., object] | None = None
        if given.function:
            self._function = load(given.function.removeprefix("python:"), config.root, config.import_path)
        told = inspect.getdoc(self._function) if self._function is not None else ""
        self.description = given.description or (told or "").partition("\n")[0]
        self.parameters = given.parameters or _schema(self._function)

    @property
    def runs(self) -> bool:
        return self._function is not None

    async def call(self, arguments: object, threads: DaemonThreads) -> tuple[object, str | None]:
        """What the function gave, or what went wrong."""
        if self._function is None or not isinstance(arguments, Mapping):
            return None, "the arguments are no object"
        bound = partial(self._function, **{str(key): value for key, value in arguments.items()})
        try:
            given = bound() if inspect.iscoroutinefunction(self._function) else await threads.call(bound)
            result = await given if inspect.isawaitable(given) else given
        except Exception as error:  # noqa: BLE001 - a tool of the user's may raise anything, and the model hears of it
            return None, f"{type(error).__name__}: {said(error)}"
        return jsonable(result), None


def told(result: object, error: str | None) -> str:
    """What the model hears of a result."""
    if error is not None:
        return f"error: {error}"
    return result if isinstance(result, str) else msgspec.json.encode(result).decode()


def _schema(function: Callable[..., object] | None) -> dict[str, object]:
    if function is None:
        return {"type": "object", "properties": {}}
    hints = get_type_hints(function)
    parameters = inspect.signature(function).parameters
    properties = {name: _type(hints.get(name)) for name in parameters}
    required = [name for name, parameter in parameters.items() if parameter.default is parameter.empty]
    return {"type": "object", "properties": properties, "required": required}


def _type(hint: object) -> dict[str, object]:
    plain = get_origin(hint) or hint
    name = TYPES.get(plain) if isinstance(plain, type) else None
    return {"type": name} if name else {}
