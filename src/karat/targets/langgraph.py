"""`langgraph:module:attribute`: a LangGraph graph with a `messages` state, in this process.

The attribute is a compiled graph, or a factory of one, sync or async; a factory that takes `context` is called for each
conversation with what the setup hook returned, any other once. Tool calls come from all messages of the turn and from
callbacks, which also see subgraphs, retries, times and calls that were cut short.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, time
from typing import TYPE_CHECKING, Annotated, Any
from uuid import uuid4

from msgspec import Meta, Struct

from karat.errors import ConfigError
from karat.model.suite import Case
from karat.model.trace import Message, Tokens, ToolCall, Trace
from karat.targets.base import RunContext, TargetError, converse
from karat.targets.calls import cancelled_from_outside, extend_path, failed, load_attribute
from karat.targets.clean import jsonable
from karat.targets.config import TargetConfig, read_options
from karat.targets.langgraph_calls import CallBook, success_and_missing
from karat.targets.short_form import NO_TELEMETRY

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

RECURSION_LIMIT = 50
MISSING = "pip install 'karat[langgraph]'"


class Options(Struct, frozen=True, forbid_unknown_fields=True):
    """Options of this kind of target."""

    recursion_limit: Annotated[int, Meta(ge=1)] = RECURSION_LIMIT


class LangGraphTarget:
    """A graph; each conversation has a thread of its own."""

    def __init__(self, config: TargetConfig) -> None:
        self.limits = config.limits
        self.options = config.identity
        self._config = config
        self._options = read_options(config, Options)
        self._factory: Callable[..., Any] | None = None
        self._graph: Any = None

    async def open(self) -> None:
        config = self._config
        try:
            import langgraph.graph  # noqa: F401 - is the extra there?
        except ModuleNotFoundError as error:
            raise ConfigError("langgraph is not installed.", fix=MISSING) from error
        extend_path([*(config.root / entry for entry in config.python_path), config.root, Path.cwd()])
        found = load_attribute(config.spec, config.root)
        if _is_graph(found):
            self._graph = found
            return
        if not callable(found):
            raise ConfigError(f"{config.spec!r} is a {type(found).__name__}, neither a graph nor a factory of one.")
        self._factory = found
        if not self._per_conversation:
            self._graph = await self._made({})

    async def close(self) -> None:
        """A graph holds nothing open of its own."""

    async def run(self, case: Case, context: RunContext) -> Trace:
        graph = self._graph or await self._made({"context": context.given})
        conversation = Conversation(graph, self._options.recursion_limit, context)

        async def turn(prompt: str) -> Trace:
            try:
                return await conversation.turn(case, prompt)
            except asyncio.CancelledError as error:
                if cancelled_from_outside():
                    raise
                raise failed("agent", error) from error
            except TargetError:
                raise
            except Exception as error:
                raise failed("agent", error) from error

        return await converse(case, context, turn, self._config.turn_timeout)

    @property
    def _per_conversation(self) -> bool:
        return self._factory is not None and "context" in inspect.signature(self._factory).parameters

    async def _made(self, given: dict[str, Any]) -> Any:
        assert self._factory is not None
        try:
            graph = self._factory(**given)
            if inspect.isawaitable(graph):
                graph = await graph
        except Exception as error:
            raise ConfigError(f"{self._config.spec!r} raised {type(error).__name__}: {error}") from error
        if not _is_graph(graph):
            raise ConfigError(f"{self._config.spec!r} gave a {type(graph).__name__}, not a compiled graph.")
        return graph


class Conversation:
    """One thread of a graph: setup prompts and the prompt."""

    def __init__(self, graph: Any, recursion_limit: int, context: RunContext) -> None:
        self._graph = graph
        self._context = context
        self._thread = uuid4().hex
        self._limit = recursion_limit
        self._remembers = getattr(graph, "checkpointer", None) not in (None, False)
        self._history: list[BaseMessage] = []

    async def turn(self, case: Case, prompt: str) -> Trace:
        """Send one prompt; the trace of the turn."""
        from langchain_core.messages import HumanMessage

        asked = HumanMessage(prompt, id=uuid4().hex)
        book = CallBook(self._context.recorder)
        began, started_at = perf_counter(), time()
        sent = [asked] if self._remembers else [*self._history, asked]
        state = await self._graph.ainvoke({"messages": sent}, self._config(book), **self._given())
        took = round((perf_counter() - began) * 1000, 3)
        self._history = list(state.get("messages", ()))
        return _trace(case, self._since(asked.id), book, state, started_at, took)

    def _config(self, book: CallBook) -> dict[str, Any]:
        configurable = {"thread_id": self._thread}
        if isinstance(self._context.given, dict) and not self._takes_context:
            configurable |= self._context.given
        return {"callbacks": [book.handler()], "recursion_limit": self._limit, "configurable": configurable}

    @property
    def _takes_context(self) -> bool:
        return getattr(self._graph, "context_schema", None) is not None

    def _given(self) -> dict[str, Any]:
        given = self._context.given
        return {"context": given} if given is not None and self._takes_context else {}

    def _since(self, asked: str | None) -> list[BaseMessage]:
        """The messages of this turn: those after the prompt."""
        places = [i for i, message in enumerate(self._history) if message.id == asked]
        if not places:
            raise TargetError("bad-answer", "the graph's `messages` do not hold the prompt that it was sent")
        return self._history[places[-1] + 1 :]


def _trace(
    case: Case, turn: Sequence[BaseMessage], book: CallBook, state: Any, started_at: float, took: float
) -> Trace:
    from langchain_core.messages import AIMessage

    interrupts = [jsonable(i.value) for i in state.get("__interrupt__", ())]
    spoken = [m for m in turn if isinstance(m, AIMessage)]
    final = next((text for m in reversed(spoken) if (text := _text(m))), "")
    if interrupts and not (spoken and _text(spoken[-1])):
        final = _question(interrupts[0])
    return Trace(
        case_id=case.id,
        input=case.prompt,
        final_message=final,
        messages=tuple(Message(_role(m), _text(m), getattr(m, "name", None)) for m in turn),
        tool_calls=_calls(turn, book),
        unobserved={"telemetry": NO_TELEMETRY},
        started_at=started_at,
        duration_ms=took,
        tokens=_tokens(spoken),
        metadata={"interrupts": interrupts} if interrupts else {},
    )


def _calls(turn: Sequence[BaseMessage], book: CallBook) -> tuple[ToolCall, ...]:
    """The calls that the messages tell of, with what callbacks saw of them; then those that only callbacks saw."""
    from langchain_core.messages import AIMessage, ToolMessage

    answers = {m.tool_call_id: m for m in turn if isinstance(m, ToolMessage)}
    told = []
    for message in turn:
        if isinstance(message, AIMessage):
            asked: list[tuple[str | None, str, Any]] = [(c["id"], c["name"], c["args"]) for c in message.tool_calls]
            asked += [(c["id"], c["name"] or "", c["args"]) for c in message.invalid_tool_calls]
            told += [_told(call_id, name, args, answers.get(call_id or ""), book) for call_id, name, args in asked]
    return (*told, *book.untold())


def _told(call_id: str | None, name: str, args: Any, answer: Any, book: CallBook) -> ToolCall:
    seen = book.take(call_id, name)
    result = answer.content if answer is not None else None
    broke = answer is not None and answer.status == "error"
    success, missing, result = success_and_missing(result, broke)
    error = seen.error if seen else None
    return ToolCall(
        name=name,
        arguments=jsonable(args),
        id=call_id,
        started=seen is not None,
        result=jsonable(result),
        error=error or (_one_text(answer.content) if broke else None),
        success=False if error else success,
        missing_fields=missing,
        started_at=seen.started_at if seen else None,
        ended_at=seen.ended_at if seen else None,
    )


def _is_graph(value: object) -> bool:
    return hasattr(value, "ainvoke") and not inspect.isclass(value)


def _role(message: BaseMessage) -> str:
    return {"ai": "assistant", "human": "user"}.get(message.type, message.type)


def _text(message: BaseMessage) -> str:
    return _one_text(message.content)


def _one_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = (part if isinstance(part, str) else part.get("text", "") for part in content)
    return "".join(part for part in parts if isinstance(part, str))


def _question(value: Any) -> str:
    """What an interrupt asks the person."""
    if isinstance(value, dict):
        found = next(
            (value[k] for k in ("question", "message", "prompt", "text") if isinstance(value.get(k), str)), None
        )
        return found if found is not None else str(value)
    return str(value)


def _tokens(spoken: Sequence[Any]) -> Tokens | None:
    used = [m.usage_metadata for m in spoken if m.usage_metadata]
    if not used:
        return None
    return Tokens(sum(u["input_tokens"] for u in used), sum(u["output_tokens"] for u in used))
