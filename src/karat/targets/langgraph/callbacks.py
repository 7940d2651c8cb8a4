"""What LangChain's callbacks see of a turn, in order: runs of tools, and messages as nodes write them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from time import time
from typing import TYPE_CHECKING, Any

from karat.traces.clean import text

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

Written = tuple[int, "BaseMessage"]


@dataclass(slots=True)
class Run:
    """One run of one tool; `place` counts runs alone, `order` all that the book holds."""

    place: int
    order: int
    name: str
    call_id: str | None
    arguments: Any
    started_at: float
    ended_at: float | None = None
    result: Any = None
    broke: bool = False
    error: str | None = None


class Book:
    """Keeps runs and messages in the order in which they came; `changed` hears of every run that began or ended."""

    def __init__(self, changed: Callable[[Run], None]) -> None:
        self._changed = changed
        self._count = 0
        self._runs: dict[Any, Run] = {}
        self._nodes: set[Any] = set()
        self.written: list[Written] = []

    @property
    def runs(self) -> list[Run]:
        return list(self._runs.values())

    def handler(self) -> Any:
        """The callback handler; its class is made here because its base is an extra."""
        from langchain_core.callbacks import AsyncCallbackHandler

        book = self

        class Handler(AsyncCallbackHandler):
            async def on_tool_start(self, serialized: Any, input_str: str, *, run_id: Any, **rest: Any) -> None:
                name = (serialized or {}).get("name") or rest.get("name") or "tool"
                arguments = input_str if rest.get("inputs") is None else rest["inputs"]
                book.began(run_id, name, rest.get("tool_call_id"), arguments)

            async def on_tool_end(self, output: Any, *, run_id: Any, **rest: Any) -> None:
                book.ended(run_id, output)

            async def on_tool_error(self, error: BaseException, *, run_id: Any, **rest: Any) -> None:
                book.failed(run_id, error)

            async def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: Any, **rest: Any) -> None:
                node = (rest.get("metadata") or {}).get("langgraph_node")
                if node is not None and node == rest.get("name"):
                    book._nodes.add(run_id)

            async def on_chain_end(self, outputs: Any, *, run_id: Any, **rest: Any) -> None:
                if run_id in book._nodes:
                    book.wrote(outputs)

        return Handler()

    def began(self, run_id: Any, name: str, call_id: str | None, arguments: Any) -> None:
        run = Run(len(self._runs), self._next(), name, call_id, arguments, time())
        self._runs[run_id] = run
        self._changed(run)

    def ended(self, run_id: Any, output: Any) -> None:
        run = self._runs[run_id]
        run.ended_at = time()
        answer = next((m for m in messages_in(output) if getattr(m, "tool_call_id", None)), None)
        run.result = getattr(answer, "content", output)
        run.broke = getattr(answer, "status", "") == "error"
        run.call_id = run.call_id or getattr(answer, "tool_call_id", None)
        self._changed(run)

    def failed(self, run_id: Any, error: BaseException) -> None:
        from langgraph.errors import GraphBubbleUp

        run = self._runs[run_id]
        if isinstance(error, GraphBubbleUp):
            return  # it waits for a person or hands over: that is no failure, and it is not over either
        run.ended_at = time()
        run.broke = True
        run.error = text(f"{type(error).__name__}: {error}")
        self._changed(run)

    def wrote(self, output: Any) -> None:
        """Messages that a node gave to the state of its graph."""
        self.written += [(self._next(), message) for message in messages_in(output)]

    def _next(self) -> int:
        self._count += 1
        return self._count


def messages_in(output: Any) -> Iterator[BaseMessage]:
    """The messages in what a node or a tool returned: alone, in an update of the state, in commands."""
    from langchain_core.messages import BaseMessage
    from langgraph.types import Command

    if isinstance(output, BaseMessage):
        yield output
    elif isinstance(output, Command):
        yield from messages_in(output.update)
    elif isinstance(output, dict):
        yield from messages_in(output.get("messages"))
    elif isinstance(output, list | tuple):
        for part in output:
            yield from messages_in(part)


def timeline(turn: Iterable[BaseMessage], book: Book, known: set[str]) -> list[Written]:
    """All messages of a turn in order, each once: those of the graph's state, and those that were written on the way.

    Nodes give messages again that were there before, subgraphs have messages of their own, and long conversations are
    cut down while they go on.
    """
    first: dict[object, int] = {}
    latest: dict[object, BaseMessage] = {}
    for order, message in book.written:
        if message.type != "remove" and message.id not in known:
            first.setdefault(_key(message), order)
            latest[_key(message)] = message
    before = 0
    for message in turn:
        before = first.setdefault(_key(message), before)
        latest[_key(message)] = message
    return sorted(((first[key], message) for key, message in latest.items()), key=lambda pair: pair[0])


def _key(message: BaseMessage) -> object:
    return message.id or id(message)
