"""A conversation with a LangGraph graph: one thread, a trace for each turn."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, time
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from karat.model.suite import Case
from karat.model.trace import Trace
from karat.targets.base import RunContext, TargetError
from karat.targets.langgraph.callbacks import Book, Run, timeline
from karat.targets.langgraph.calls import run_as_call, tool_calls
from karat.targets.langgraph.messages import as_messages, final_text, token_counts
from karat.targets.short_form import NO_TELEMETRY
from karat.traces.clean import jsonable

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage


class Conversation:
    """One thread of a graph: setup prompts and the prompt."""

    def __init__(self, graph: Any, limit: Callable[[Any], int], context: RunContext) -> None:
        self._graph = graph
        self._context = context
        self._thread = uuid4().hex
        self._limit = limit(graph)
        self._remembers = getattr(graph, "checkpointer", None) not in (None, False)
        self._history: list[BaseMessage] = []
        self._waiting: list[Any] = []
        """The interrupts that the last turn ended with."""

    async def turn(self, case: Case, prompt: str) -> Trace:
        """Send one prompt; the trace of the turn."""
        known = {message.id for message in self._history if message.id}
        asked = uuid4().hex
        book = Book(self._record)
        self._context.recorder.tool_calls = []
        began, started_at = perf_counter(), time()
        try:
            state = await self._graph.ainvoke(self._sent(prompt, asked), self._config(book), **self._given())
        except BaseException:
            written = timeline((), book, known)
            self._context.recorder.tool_calls = list(tool_calls(written, book))
            self._context.recorder.messages = list(as_messages(message for _, message in written))
            raise
        took = round((perf_counter() - began) * 1000, 3)
        self._history = _messages_of(state)
        self._waiting = list(state.get("__interrupt__", ()))
        turn = _since(self._history, asked, known)
        written = timeline(turn, book, known)
        interrupts = [jsonable(interrupt.value) for interrupt in self._waiting]
        return Trace(
            case_id=case.id,
            input=case.prompt,
            final_message=final_text(turn, interrupts),
            messages=as_messages(turn),
            tool_calls=tool_calls(written, book),
            unobserved={"telemetry": NO_TELEMETRY},
            started_at=started_at,
            duration_ms=took,
            tokens=token_counts(message for _, message in written),
            metadata={"interrupts": interrupts} if interrupts else {},
        )

    def _sent(self, prompt: str, asked: str) -> Any:
        """What the graph is given: the prompt as a message, or as the answer to what an interrupt asked."""
        from langchain_core.messages import HumanMessage
        from langgraph.types import Command

        message = HumanMessage(prompt, id=asked)
        if not self._remembers:
            return {"messages": [*self._history, message]}
        if self._waiting:
            several = {interrupt.id: prompt for interrupt in self._waiting}
            return Command(resume=prompt if len(several) == 1 else several)
        return {"messages": [message]}

    def _config(self, book: Book) -> dict[str, Any]:
        configurable: dict[str, Any] = {"thread_id": self._thread}
        given = self._context.given
        if given is not None and not self._takes_context:
            configurable |= given if isinstance(given, dict) else {"context": given}
        return {"callbacks": [book.handler()], "recursion_limit": self._limit, "configurable": configurable}

    def _given(self) -> dict[str, Any]:
        given = self._context.given
        return {"context": given} if given is not None and self._takes_context else {}

    @property
    def _takes_context(self) -> bool:
        return getattr(self._graph, "context_schema", None) is not None

    def _record(self, run: Run) -> None:
        """Keep what is seen as it is seen: a turn that never ends is cut off without a word to it."""
        calls = self._context.recorder.tool_calls or []
        calls[run.place : run.place + 1] = [run_as_call(run)]
        self._context.recorder.tool_calls = calls


def _messages_of(state: Any) -> list[BaseMessage]:
    from langchain_core.messages import convert_to_messages

    if not isinstance(state, dict) or "messages" not in state:
        raise TargetError("bad-answer", f"the graph gave a {type(state).__name__} without `messages`")
    try:
        return convert_to_messages(state["messages"])
    except (ValueError, TypeError, NotImplementedError) as error:
        raise TargetError("bad-answer", f"the graph's `messages` cannot be read: {error}") from error


def _since(messages: list[BaseMessage], asked: str, known: set[str]) -> list[BaseMessage]:
    """The messages of this turn: those after the prompt; where a graph dropped it, those that were not there before."""
    places = [place for place, message in enumerate(messages) if message.id == asked]
    if places:
        return messages[places[-1] + 1 :]
    return [message for message in messages if message.id not in known]
