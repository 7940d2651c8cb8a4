"""`langgraph:module:attribute`: a LangGraph graph with a `messages` state, in this process.

The attribute is a compiled graph, or a factory of one, sync or async; a factory that takes `context` is called for each
conversation with what the setup hook returned, any other once. A graph with a `context_schema` gets what the setup hook
returned as its context, any other in `configurable`. Tool calls come from all messages of the turn and from callbacks,
which also see subgraphs, retries, times and calls that were cut short.
"""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from karat.errors import ConfigError
from karat.model.suite import Case
from karat.model.trace import Trace
from karat.plugins.code import extend_path, load_attribute
from karat.targets.base import RunContext, TargetError, converse
from karat.targets.config import TargetConfig, read_options
from karat.targets.langgraph.turn import Conversation
from karat.targets.user_code import failed, from_outside

RECURSION_LIMIT = 50
"""For graphs that set no lower one: LangGraph's own is so high that an agent which loops seems to hang."""
MISSING = "pip install 'karat[langgraph]'"


class Options(Struct, frozen=True, forbid_unknown_fields=True):
    """Options of this kind of target."""

    recursion_limit: Annotated[int, Meta(ge=1)] | None = None


class LangGraphTarget:
    """A graph; each conversation has a thread of its own."""

    def __init__(self, config: TargetConfig) -> None:
        self.limits = config.limits
        self.options = config.identity
        self._config = config
        self._options = read_options(config, Options)
        self._factory: Callable[..., Any] | None = None
        self._graph: Any = None
        self._environ_before: dict[str, str | None] = {}

    async def open(self) -> None:
        config = self._config
        try:
            import langgraph.graph  # noqa: F401 - is the extra there?
        except ModuleNotFoundError as error:
            raise ConfigError("langgraph is not installed.", fix=MISSING) from error
        extend_path([*(config.root / entry for entry in config.python_path), config.root, Path.cwd()])
        self._environ_before = {name: os.environ.get(name) for name in config.env}
        os.environ.update(config.env)
        found = load_attribute(config.spec, config.root)
        if _is_graph(found):
            self._graph = self._with_messages(found)
        elif not callable(found):
            compiled = " Compile it: `.compile()`." if hasattr(found, "compile") else ""
            raise ConfigError(
                f"{config.spec!r} is a {type(found).__name__}, neither a graph nor a factory of one.", fix=compiled
            )
        else:
            self._factory = found
            if not self._takes_context(found):
                self._graph = await self._made({})

    async def close(self) -> None:
        for name, value in self._environ_before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    async def run(self, case: Case, context: RunContext) -> Trace:
        conversation = Conversation(await self._graph_for(context), self._limit, context)

        async def turn(prompt: str) -> Trace:
            task = asyncio.current_task()
            try:
                return await conversation.turn(case, prompt)
            except TargetError:
                raise
            except BaseException as error:
                if from_outside(error, task):
                    raise
                raise failed("agent", error) from error

        return await converse(case, context, turn, self._config.turn_timeout)

    def _limit(self, graph: Any) -> int:
        """The steps that one turn may take."""
        own = (getattr(graph, "config", None) or {}).get("recursion_limit", RECURSION_LIMIT)
        return self._options.recursion_limit or min(own, RECURSION_LIMIT)

    async def _graph_for(self, context: RunContext) -> Any:
        if self._graph is not None:
            return self._graph
        try:
            return await self._made({"context": context.given})
        except ConfigError as error:
            raise TargetError("agent", error.message, detail=str(error.__cause__ or "")) from error

    def _takes_context(self, factory: Callable[..., Any]) -> bool:
        try:
            parameters = inspect.signature(factory).parameters.values()
        except (ValueError, TypeError):
            return False  # some callables written in C do not tell their parameters
        for parameter in parameters:
            free = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            if parameter.name != "context" and parameter.default is parameter.empty and not free:
                raise ConfigError(
                    f"{self._config.spec!r} asks for {parameter.name!r}, which Karat does not have.",
                    fix="A factory of graphs may take `context`, by name; anything else needs a default.",
                )
        return any(p.name == "context" and p.kind is not p.POSITIONAL_ONLY for p in parameters)

    async def _made(self, given: dict[str, Any]) -> Any:
        assert self._factory is not None
        try:
            graph = self._factory(**given)
            if inspect.isawaitable(graph):
                graph = await graph
        except (Exception, SystemExit) as error:
            raise ConfigError(f"{self._config.spec!r} raised {type(error).__name__}: {error}") from error
        if not _is_graph(graph):
            raise ConfigError(f"{self._config.spec!r} gave a {type(graph).__name__}, not a compiled graph.")
        return self._with_messages(graph)

    def _with_messages(self, graph: Any) -> Any:
        """The graph, if its state has messages; of graphs without a declared state nobody knows before they run."""
        if hasattr(graph, "builder") and "messages" not in graph.channels:
            known = ", ".join(sorted(name for name in graph.builder.channels if not name.startswith("_")))
            raise ConfigError(
                f"the state of {self._config.spec!r} has no `messages` (it has: {known}).",
                fix="Karat talks to graphs whose state has `messages`, as MessagesState does.",
            )
        return graph


def _is_graph(value: object) -> bool:
    return hasattr(value, "ainvoke") and not inspect.isclass(value)
