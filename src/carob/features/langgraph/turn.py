"""A conversation with a LangGraph graph: one thread, a trace for each turn."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter, time
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from msgspec import structs

from carob.evidence.recorder import RanCall
from carob.evidence.short_form import NO_TELEMETRY
from carob.evidence.spans.trace_context import enter_turn
from carob.features.langgraph.callbacks import TurnRecorder, WrittenMessage, timeline
from carob.features.langgraph.calls import possible_calls, run_as_call, tool_calls
from carob.features.langgraph.loading import pregel, schemas_of
from carob.features.langgraph.messages import as_messages, final_text, find_ending, token_counts
from carob.features.langgraph.shapes import Shapes
from carob.model.suite import Case
from carob.model.trace import APPROVALS, Trace
from carob.targets.base import RunContext, TargetError
from carob.targets.interrupts import Interrupt, asked_approvals, decided_approvals, resume, resume_decided
from carob.text.clean import jsonable, table

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage


OUT_OF_STEPS = "Sorry, need more steps to process this request."
"""What LangGraph's own agent says when it may take no further step."""
NO_MEMORY = (
    "the graph waits for an answer, and it cannot resume without a checkpointer: compile it with a checkpointer, "
    "such as InMemorySaver()"
)
LOST_HISTORY = (
    "the graph has no checkpointer, and `input` does not include the earlier messages: use {messages} in `input`, make "
    "the input with a function, or compile the graph with a checkpointer"
)
STEPS = "recursion_limit"
NO_STATE = frozenset({"messages", "__interrupt__"})


class GraphConversation:
    """One thread of a graph: setup prompts and the prompt."""

    def __init__(self, graph: Any, shapes: Shapes, limit: int, context: RunContext) -> None:
        self._graph = graph
        self._shapes = shapes
        self._limit = limit
        self._context = context
        self._thread = context.trace_context.conversation_id
        self._remembers = getattr(pregel(graph), "checkpointer", None) not in (None, False)
        self._history: list[BaseMessage] = []
        """The messages of the graph's state."""
        self._said: list[BaseMessage] = []
        """What was said in all turns, for graphs whose state does not keep it."""
        self._waiting: list[Interrupt] = []
        """The interrupts that the last turn ended with."""
        self._decided: list[dict[str, Any]] = []
        """What was decided about them by the prompt of this turn."""
        self._held: tuple[str, ...] = ()
        """The nodes that the graph stopped before, as it was compiled to."""

    async def turn(self, case: Case, prompt: str) -> Trace:
        """Send one prompt; the trace of the turn."""
        known_ids = {message.id for message in self._history if message.id}
        prompt_id = uuid4().hex
        book, before = TurnRecorder(self._record), self._history
        self._context.recorder.tool_calls = []
        self._context.recorder.on_ran = book.note_ran
        config = self._config(book)
        schemas = schemas_of(pregel(self._graph))
        enter_turn(self._context.trace_context)
        began, started_at = perf_counter(), time()
        try:
            state = await self._graph.ainvoke(self._build_input(prompt, prompt_id), config, **self._context_argument())
            answered = self._shapes.read_messages(state) if not _only_waits(state) else list(self._history)
        except BaseException as error:
            entries = timeline((), book, known_ids)
            self._context.recorder.tool_calls = list(tool_calls(entries, book, in_tool_nodes=schemas))
            self._context.recorder.messages = list(as_messages(entry.message for entry in entries))
            if _is_out_of_steps(error):
                return self._cut_off(case, book, entries, started_at)
            raise
        finally:
            self._context.tool_schemas, self._context.lists_tools = {**book.offered, **schemas}, bool(schemas)
        took = round((perf_counter() - began) * 1000, 3)
        self._history = answered
        waits = state.get("__interrupt__", ()) if isinstance(state, dict) else ()
        self._waiting = [Interrupt(interrupt.id, interrupt.value) for interrupt in waits]
        self._held = await self._find_next_nodes(config)
        turn = _since(self._history, prompt_id, known_ids)
        self._said += [_human(prompt, prompt_id), *(m for m in turn if (m.type, m.content) != ("human", prompt))]
        entries = timeline(turn, book, known_ids)
        interrupts = [jsonable(interrupt.value) for interrupt in self._waiting]
        structured = state.get("structured_response") if isinstance(state, dict) else None
        calls = tool_calls(entries, book, before, structured, schemas)
        written = [entry.message for entry in book.written]
        stopped = {"interrupts": interrupts, "held_before": list(self._held)}
        approvals = [*self._decided, *asked_approvals(self._waiting)]
        trace = Trace(
            case_id=case.id,
            input=case.prompt,
            final_message=final_text(turn, interrupts, prompt),
            messages=as_messages(turn),
            tool_calls=calls,
            possible_calls=possible_calls(calls, book.find_unwritten([*turn, *written]), schemas),
            unobserved={"telemetry": NO_TELEMETRY},
            started_at=started_at,
            duration_ms=took,
            steps=len(book.steps),
            timings=book.timings(started_at),
            tokens=token_counts(book.answers, (entry.message for entry in entries)),
            ended_by="" if interrupts or self._held else find_ending(turn),
            metadata={name: value for name, value in stopped.items() if value} | {APPROVALS: approvals},
            state=_state(state),
        )
        trace = self._context.recorder.with_ran_calls(trace)
        return structs.replace(trace, ended_by=STEPS) if trace.final_message == OUT_OF_STEPS else trace

    def _cut_off(self, case: Case, book: TurnRecorder, entries: Sequence[WrittenMessage], started_at: float) -> Trace:
        """What was seen of a turn that ran into the limit of its graph."""
        return Trace(
            case_id=case.id,
            input=case.prompt,
            messages=as_messages(entry.message for entry in entries),
            tool_calls=tool_calls(entries, book, in_tool_nodes=schemas_of(pregel(self._graph))),
            unobserved={"telemetry": NO_TELEMETRY, "state": STEPS},
            started_at=started_at,
            steps=len(book.steps),
            tokens=token_counts(book.answers, (entry.message for entry in entries)),
            ended_by=STEPS,
        )

    def _build_input(self, prompt: str, prompt_id: str) -> object:
        """What the graph is given: the prompt, or the answer to what it waits for."""
        from langgraph.types import Command

        if self._waiting and not self._remembers:
            raise TargetError("agent", NO_MEMORY)
        self._decided, decision = [], self._context.decision
        if self._waiting or decision is not None:
            waiting = self._waiting
            answer = resume(prompt, waiting) if decision is None else resume_decided(decision, waiting)
            self._decided = decided_approvals(self._waiting, answer)
            return Command(resume=answer)
        if self._held:
            return None  # a graph that was compiled to stop goes on when it is called with nothing
        history = [] if self._remembers else self._said if self._shapes.has_own_input else self._history
        if history and self._shapes.drops_history and getattr(pregel(self._graph), "store", None) is None:
            raise TargetError("config", LOST_HISTORY)
        return self._shapes.build_input(self._graph, prompt, _human(prompt, prompt_id), history, self._context.given)

    async def _find_next_nodes(self, config: dict[str, object]) -> tuple[str, ...]:
        """The nodes that are next, where the graph stopped without asking anything."""
        if not self._remembers or self._waiting or not hasattr(self._graph, "aget_state"):
            return ()
        return tuple((await self._graph.aget_state(config)).next)

    def _config(self, book: TurnRecorder) -> dict[str, object]:
        configurable: dict[str, object] = {"thread_id": self._thread}
        if getattr(pregel(self._graph), "context_schema", None) is None:
            configurable |= as_configurable(self._context.given)
        return {"callbacks": [book.handler()], "recursion_limit": self._limit, "configurable": configurable}

    def _context_argument(self) -> dict[str, object]:
        from langgraph.pregel import Pregel

        setup_result = self._context.given
        return {"context": setup_result} if setup_result is not None and isinstance(pregel(self._graph), Pregel) else {}

    def _record(self, index: int, run: RanCall) -> None:
        """Keep what is seen as it is seen: a turn that never ends is cut off without a word to it."""
        calls = self._context.recorder.tool_calls or []
        calls[index : index + 1] = [run_as_call(run)]
        self._context.recorder.tool_calls = calls


def as_configurable(setup_result: object) -> dict[str, object]:
    """What the setup hook returned, as graphs read it from their configuration."""
    if isinstance(setup_result, dict):
        return setup_result
    return {} if setup_result is None else {"context": setup_result}


def _human(prompt: str, id: str) -> BaseMessage:
    from langchain_core.messages import HumanMessage

    return HumanMessage(prompt, id=id)


def _is_out_of_steps(error: BaseException) -> bool:
    from langgraph.errors import GraphRecursionError

    return isinstance(error, GraphRecursionError)


def _only_waits(state: object) -> bool:
    """Whether an entrypoint gave nothing but what it waits for."""
    return isinstance(state, dict) and state.keys() == {"__interrupt__"}


def _state(state: object) -> dict[str, object]:
    """The state without its messages."""
    if not isinstance(state, dict):
        return {}
    return table({str(key): value for key, value in state.items() if key not in NO_STATE})


def _since(messages: list[BaseMessage], prompt_id: str, known_ids: set[str]) -> list[BaseMessage]:
    """The messages of this turn: those after the prompt; where a graph dropped it, those that were not there before."""
    places = [index for index, message in enumerate(messages) if message.id == prompt_id]
    if places:
        return messages[places[-1] + 1 :]
    return [message for message in messages if message.id not in known_ids]
