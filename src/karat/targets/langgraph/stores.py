"""The long-term store of a graph that expects to be given one, as LangGraph's server gives it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from karat.errors import ConfigError
from karat.text.wording import with_article

MEMORY = "memory"
MISSING = "pip install langgraph-checkpoint-sqlite"


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
            raise ConfigError("`store` names a file, which needs SQLite stores of LangGraph.", fix=MISSING) from error
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
