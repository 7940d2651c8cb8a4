"""`langgraph:module:attribute`: a LangGraph graph in this process.

The attribute is a graph, a factory of one in any form, or a name in a `langgraph.json`; a factory that takes `context`
or `config` is called for each conversation, any other once. What the setup hook returned is the graph's context. Tool
calls come from all messages of the turn and from callbacks, which also see subgraphs, retries, times and calls that
were cut short.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from carob.errors import ConfigError
from carob.features.langgraph.loading import GraphSource, environment, pregel, source
from carob.features.langgraph.shapes import Given, Shapes, needed_context
from carob.features.langgraph.turn import GraphConversation, as_configurable
from carob.model.suite import Case
from carob.model.trace import Trace
from carob.plugins.code import load
from carob.proxy.stdio import ADDRESS
from carob.system.installing import install_extra
from carob.targets.base import RunContext, TargetError
from carob.targets.capabilities import TOOLS
from carob.targets.config import TargetConfig, read_options
from carob.targets.conversation import converse
from carob.targets.in_process.cases import RunningCase
from carob.targets.in_process.reach import require_tools
from carob.targets.in_process.wrapping import WRAPPING
from carob.targets.user_code import build_error, from_outside
from carob.text.wording import error_text, with_article

MEMORY = "memory"
MISSING_STORES = "pip install langgraph-checkpoint-sqlite"


class Stores:
    """Gives a graph a store: one of its own for each case, the same for all, or none."""

    def __init__(self, kind: str = "", shared: object = None) -> None:
        self._kind = kind
        self._shared = shared

    @classmethod
    async def open(cls, kind: str, root: Path, stack: AsyncExitStack) -> Stores:
        """`memory`, or the name of a file of SQLite; what is opened is closed with the stack."""
        if kind in ("", MEMORY):
            return cls(kind)
        try:
            from langgraph.store.sqlite.aio import AsyncSqliteStore
        except ModuleNotFoundError as error:
            message = "`store` names a file, which needs SQLite stores of LangGraph."
            raise ConfigError(message, fix=MISSING_STORES) from error
        file = root / kind
        if not file.parent.is_dir():
            raise ConfigError(f"`store` {kind!r} is in a folder that does not exist.", fix="Correct `store`.")
        import sqlite3  # as LangGraph's stores do, and only they

        try:
            store = await stack.enter_async_context(AsyncSqliteStore.from_conn_string(str(file)))
            await store.setup()
        except sqlite3.Error as error:
            raise ConfigError(f"`store` {kind!r} cannot be used: {error}.", fix="Name an SQLite file.") from error
        return cls(kind, store)

    def add_store(self, graph: Any) -> Any:
        """The graph with its store; the graph of the user is left as it is."""
        if not self._kind:
            return graph
        if hasattr(graph, "bound"):
            return graph.model_copy(update={"bound": self.add_store(graph.bound)})
        if not hasattr(graph, "copy"):
            raise ConfigError(f"`store`: {with_article(type(graph).__name__)} takes no store.", fix="Take `store` out.")
        from langgraph.store.memory import InMemoryStore

        return graph.copy({"store": InMemoryStore() if self._shared is None else self._shared})


RECURSION_LIMIT = 50
"""For graphs that set no lower one: LangGraph's own is so high that an agent which loops seems to hang."""
ASYNC_SAVER = "Use its async form, such as AsyncSqliteSaver or AsyncPostgresSaver, or an InMemorySaver."

NOTHING = "'NoneType' object has no attribute"
NO_STORE = 'the graph has no store and perhaps no context; if it needs them, set `store = "memory"` and `context`'
READABLE_SAVER = "Check that its database is running and was set up (`setup()` of the checkpointer)."


class GraphOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Options of this kind of target."""

    recursion_limit: Annotated[int, Meta(ge=1)] | None = None
    input: Given = None
    """What the graph is given, with `{prompt}` in it, or a hook that makes it; without it, messages."""
    output: str = ""
    """Where the answer is in the state, as JSONPath; without it, it is the last message."""
    context: dict[str, object] | None = None
    """What the graph gets as its context where no setup hook gives one."""
    store: str = ""
    """The store that the graph gets: `memory`, one for each case, or a file of SQLite, one for all."""


class LangGraphTarget:
    """A graph; each conversation has a thread of its own."""

    reaches = TOOLS

    def __init__(self, config: TargetConfig) -> None:
        self.limits = config.limits
        self.options = config.identity
        self._config = config
        self._options = read_options(config, GraphOptions)
        self._shapes: Shapes | None = None
        self._source: GraphSource | None = None
        self._graph: object = None
        self._stores = Stores()
        self._notice = ""
        self._opened = AsyncExitStack()

    async def open(self) -> None:
        config, options = self._config, self._options
        try:
            import langgraph.graph  # noqa: F401 - is the extra there?
        except ModuleNotFoundError as error:
            raise ConfigError("langgraph is not installed.", fix=install_extra("langgraph")) from error
        self._notice = self._opened.enter_context(environment(config.spec, config.root, config.env))
        self._stores = await Stores.open(options.store, config.root, self._opened)
        asking = load(options.input, config.root, config.import_path) if isinstance(options.input, str) else None
        self._shapes = Shapes(options.input, options.output, asking)
        self._source = source(config.spec, config.root, config.import_path)
        if not self._source.each:
            self._graph = await self._check_graph(await self._source.graph(self._opened))
        WRAPPING.open(has_proxy=ADDRESS in self._config.env)
        self._opened.callback(WRAPPING.close)

    async def close(self) -> None:
        await self._opened.aclose()

    async def run(self, case: Case, context: RunContext) -> Trace:
        assert self._shapes is not None
        run_context = replace(context, given=self._options.context) if context.given is None else context
        if self._notice:
            context.notices.append(self._notice)
            self._notice = ""
        async with AsyncExitStack() as stack:
            graph = self._stores.add_store(await self._graph_for(run_context, stack))
            conversation = GraphConversation(graph, self._shapes, self._limit(graph), run_context)

            async def turn(prompt: str) -> Trace:
                task = asyncio.current_task()
                try:
                    return await conversation.turn(case, prompt)
                except TargetError:
                    raise
                except BaseException as error:
                    if from_outside(error, task):
                        raise
                    raise _as_target_error(error, graph) from error

            if context.world is not None:
                require_tools(context.world)
            try:
                with RunningCase(context.recorder, context.call_world, context.run_name):
                    return await converse(case, context, turn, self._config.turn_timeout, takes_decisions=True)
            finally:
                context.tool_schemas, context.lists_tools = run_context.tool_schemas, run_context.lists_tools

    def _limit(self, graph: object) -> int:
        """The steps that one turn may take."""
        graph_limit = (getattr(graph, "config", None) or {}).get("recursion_limit", RECURSION_LIMIT)
        return self._options.recursion_limit or min(graph_limit, RECURSION_LIMIT)

    async def _graph_for(self, context: RunContext, stack: AsyncExitStack) -> object:
        if self._graph is not None:
            return self._graph
        assert self._source is not None
        config: dict[str, object] = {"configurable": as_configurable(context.given)}
        try:
            return await self._check_graph(await self._source.graph(stack, context.given, config))
        except ConfigError as error:
            detail = str(error.__cause__ or error.fix)
            raise TargetError("agent", error.message, detail=detail) from error

    async def _check_graph(self, graph: object) -> object:
        """The graph, if Carob can talk to it."""
        assert self._shapes is not None
        self._shapes.check(graph, self._config.spec)
        if self._config.setup is None and self._options.context is None and (needed := needed_context(graph)):
            raise ConfigError(
                f"the graph {self._config.spec!r} needs a context, and the target gives it none.",
                fix=f"Name a `setup` hook that returns {', '.join(needed)}, or set `context` in the options.",
                slug="no-context",
            )
        saver: object = getattr(pregel(graph), "checkpointer", None)
        if hasattr(saver, "aget_tuple"):
            await self._readable(saver)
        return graph

    async def _readable(self, saver: Any) -> None:
        subject = f"the checkpointer of {self._config.spec!r}, {with_article(type(saver).__name__)},"
        try:
            await saver.aget_tuple({"configurable": {"thread_id": "carob", "checkpoint_ns": ""}})
        except NotImplementedError as error:
            message = f"{subject} cannot be used in an async run."
            raise ConfigError(message, fix=ASYNC_SAVER, slug="sync-saver") from error
        except Exception as error:
            why = f"{type(error).__name__}: {error_text(error)}".rstrip(". :")
            raise ConfigError(f"{subject} cannot be read: {why}.", fix=READABLE_SAVER) from error


def _as_target_error(error: BaseException, graph: object) -> TargetError:
    """What a graph raised."""
    broke = build_error("agent", error)
    if isinstance(error, AttributeError) and NOTHING in str(error) and getattr(pregel(graph), "store", None) is None:
        return TargetError("agent", f"{broke.message}: {NO_STORE}", detail=broke.detail)
    return broke
