"""How a graph is got: a graph, a factory of one in any of its forms, or one that a `langgraph.json` names."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from karat.errors import ConfigError
from karat.plugins.code import extend_path, load_attribute
from karat.text.wording import did_you_mean
from karat.traces.clean import loads

OFFERED = ("context", "config")


class GraphSource:
    """A graph, or a factory that makes one for all cases, or for each if it takes the context or the config of one."""

    def __init__(self, spec: str, found: Any) -> None:
        self._spec = spec
        self._found = found
        self._takes: dict[str, str] = {}
        if not is_graph(found) and not _is_builder(found):
            if not callable(found):
                kind = type(found).__name__
                raise ConfigError(f"{spec!r} is a {kind}, neither a graph nor a factory of one.")
            self._takes = self._wanted(found)

    @property
    def each(self) -> bool:
        """Whether every conversation gets a graph of its own."""
        return bool(self._takes)

    async def graph(
        self, stack: AsyncExitStack, context: object = None, config: dict[str, object] | None = None
    ) -> object:
        """The graph; what it needs to be open is closed with the stack."""
        found = self._found
        if not is_graph(found) and not _is_builder(found):
            offered = {"context": context, "config": config or {}}
            try:
                found = await _made(found, {name: offered[what] for name, what in self._takes.items()}, stack)
            except (Exception, SystemExit) as error:
                raise ConfigError(f"{self._spec!r} raised {type(error).__name__}: {error}") from error
        if _is_builder(found):
            found = found.compile()
        if not is_graph(found):
            raise ConfigError(f"{self._spec!r} gave a {type(found).__name__}, not a compiled graph.")
        return found

    def _wanted(self, factory: Callable[..., object]) -> dict[str, str]:
        """Which parameters of the factory get what. `config` may also be told by its type."""
        try:
            parameters = inspect.signature(factory).parameters.values()
        except (ValueError, TypeError):
            return {}  # some callables written in C do not tell their parameters
        wanted = {}
        for parameter in parameters:
            free = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            what = "config" if "RunnableConfig" in str(parameter.annotation) else parameter.name
            if what in OFFERED and not free and parameter.kind is not parameter.POSITIONAL_ONLY:
                wanted[parameter.name] = what
            elif parameter.default is parameter.empty and not free:
                raise ConfigError(
                    f"{self._spec!r} asks for {parameter.name!r}, which Karat does not have.",
                    fix="A factory of graphs may take `context` and `config`, by name; anything else needs a default.",
                )
        return wanted


def source(spec: str, root: Path) -> GraphSource:
    """What a spec names: `module:graph`, `file.py:graph`, or `langgraph.json:name`."""
    place, _, name = spec.rpartition(":")
    if spec.endswith(".json"):
        place, name = spec, ""
    if not place.endswith(".json"):
        return GraphSource(spec, load_attribute(spec, root))
    file = root / place
    table = _graphs(file)
    if not name and len(table) == 1:
        name = next(iter(table))
    if name not in table:
        known = ", ".join(table) or "none"
        fix = did_you_mean(name, table) or f"Name one: {place}:{next(iter(table), 'graph')}"
        raise ConfigError(f"{place} names no graph {name!r} (it has: {known}).", fix=fix)
    given = table[name]
    path = given.get("path") if isinstance(given, dict) else given
    if not isinstance(path, str):
        raise ConfigError(f"{place}: the graph {name!r} has no path.")
    return GraphSource(spec, load_attribute(path, file.parent))


def is_graph(value: object) -> bool:
    return hasattr(value, "ainvoke") and not inspect.isclass(value)


def pregel(graph: Any) -> Any:
    """The graph itself, without the configuration that was bound to it."""
    while hasattr(graph, "bound"):
        graph = graph.bound
    return graph


async def _made(factory: Callable[..., Any], given: dict[str, Any], stack: AsyncExitStack) -> Any:
    found = factory(**given)
    if inspect.isawaitable(found):
        found = await found
    if is_graph(found) or _is_builder(found):
        return found
    if hasattr(found, "__aenter__"):
        return await stack.enter_async_context(found)
    return stack.enter_context(found) if hasattr(found, "__enter__") else found


def _is_builder(value: object) -> bool:
    """A graph that is not compiled yet."""
    return hasattr(value, "compile") and hasattr(value, "add_node") and not inspect.isclass(value)


def _graphs(file: Path) -> dict[str, object]:
    try:
        table = loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigError(f"it cannot be read: {error}.", where=str(file)) from error
    graphs = table.get("graphs") if isinstance(table, dict) else None
    if not isinstance(graphs, dict):
        raise ConfigError("it has no `graphs`.", where=str(file))
    needed = table.get("dependencies")
    folders = [file.parent / entry for entry in needed if isinstance(entry, str)] if isinstance(needed, list) else []
    extend_path([folder for folder in (*folders, file.parent) if folder.is_dir()])
    return graphs
