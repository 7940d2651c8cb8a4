"""What LangChain's callbacks see of a turn, in order: runs of tools, and messages as nodes write them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from time import time
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, NamedTuple

from carob.evidence.recorder import RanCall
from carob.providers.base import tool_schemas
from carob.targets.in_process.cases import open_call
from carob.text.clean import text

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

BEFORE_IT_RAN = frozenset({"_parse_input", "_to_args_and_kwargs"})
"""Where a tool of LangChain looks at its arguments: what breaks there never came to the tool itself."""


class WrittenMessage(NamedTuple):
    """A message as a node wrote it, in the order of all that was seen, and the agent that the node belongs to."""

    order: int
    message: BaseMessage
    parent: str | None = None


class TurnRecorder:
    """Keeps runs and messages in the order in which they came; `changed` hears of each run, by its number."""

    def __init__(self, changed: Callable[[int, RanCall], None]) -> None:
        self._changed = changed
        self._count = 0
        self._runs: dict[object, RanCall] = {}
        self._unseen: dict[int, RanCall] = {}
        """The runs of tools that no callback saw, in threads and loops of nodes."""
        self._above: dict[object, object] = {}
        self._nodes: dict[object, str | None] = {}
        self.written: list[WrittenMessage] = []
        self.steps: set[int] = set()
        """The steps of the graph itself, by their numbers."""
        self._first_token: float | None = None
        self.answers: list[Any] = []
        """What models answered, whether or not it reached the state of the graph."""
        self._heard: dict[object, WrittenMessage] = {}
        """Replies of models that ask for tools, and results that models were given, as callbacks saw them."""
        self._shaped: set[object] = set()
        """The runs of models that give their answer as a call."""
        self.offered: dict[str, object] = {}
        """The tools that models were offered, each with its schema."""

    @property
    def runs(self) -> list[RanCall]:
        return sorted([*self._runs.values(), *self._unseen.values()], key=lambda run: run.order)

    def note_ran(self, call: RanCall) -> None:
        """A tool of LangChain is entered; if a callback reports it, that is this very run."""
        call.order, call.is_linked = self._next(), True
        self._unseen[id(call)] = call

    def handler(self) -> object:
        """The callback handler; its class is made here because its base is an extra."""
        from langchain_core.callbacks import AsyncCallbackHandler

        book = self

        class Handler(AsyncCallbackHandler):
            async def on_tool_start(self, serialized: Any, input_str: str, *, run_id: Any, **kwargs: Any) -> None:
                name = (serialized or {}).get("name") or kwargs.get("name") or "tool"
                arguments = input_str if kwargs.get("inputs") is None else kwargs["inputs"]
                book.note_parent(run_id, kwargs)
                book.note_start(run_id, name, kwargs.get("tool_call_id"), arguments, book.parent(run_id, kwargs))

            async def on_tool_end(self, output: object, *, run_id: object, **kwargs: object) -> None:
                book.note_end(run_id, output)

            async def on_tool_error(self, error: BaseException, *, run_id: object, **kwargs: object) -> None:
                book.note_failure(run_id, error)

            async def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: Any, **kwargs: Any) -> None:
                book.note_parent(run_id, kwargs)
                about = kwargs.get("metadata") or {}
                node = about.get("langgraph_node")
                book.step(about)
                if node is not None and node == kwargs.get("name"):
                    book._nodes[run_id] = book.parent(run_id, kwargs)

            async def on_llm_new_token(self, token: object, **kwargs: Any) -> None:
                book.note_token(token)

            async def on_chat_model_start(self, serialized: Any, messages: Any, *, run_id: Any, **kwargs: Any) -> None:
                book.offered |= tool_schemas((kwargs.get("invocation_params") or {}).get("tools"))
                book.note_parent(run_id, kwargs)
                book.note_question(run_id, chain.from_iterable(messages), kwargs.get("options") or {})

            async def on_llm_end(self, response: Any, *, run_id: Any, **kwargs: Any) -> None:
                for generation in chain.from_iterable(response.generations):
                    book.note_answer(run_id, getattr(generation, "message", None), book.parent(run_id, kwargs))

            async def on_chain_end(self, outputs: object, *, run_id: object, **kwargs: object) -> None:
                if run_id in book._nodes:
                    book.note_messages(outputs, book._nodes[run_id])

        return Handler()

    def note_question(self, run_id: object, messages: Iterable[BaseMessage], options: dict[str, Any]) -> None:
        """What a model is given: of it, the results of tools."""
        if options.get("ls_structured_output_format"):
            self._shaped.add(run_id)
        for message in messages:
            if message.type == "tool":
                self._heard.setdefault(_key(message), WrittenMessage(self._next(), message))

    def note_answer(self, run_id: object, message: Any, parent: str | None) -> None:
        """What a model answered: it may ask for tools."""
        self.answers.append(message)
        if getattr(message, "tool_calls", None) and run_id not in self._shaped:
            self._heard.setdefault(_key(message), WrittenMessage(self._next(), message, parent))

    def find_unwritten(self, known: Iterable[BaseMessage]) -> Iterator[WrittenMessage]:
        """What models asked for, and what came of it, where no node wrote it to the state: a node has its own loop."""
        messages = [*known]
        asked = {_request(call) for message in messages for call in getattr(message, "tool_calls", ())}
        answered = {getattr(message, "tool_call_id", None) for message in messages}
        open_ids = set[object]()
        for entry in self._heard.values():
            calls = getattr(entry.message, "tool_calls", ())
            if not asked.issuperset(map(_request, calls)):
                open_ids |= {call["id"] for call in calls}
                yield entry
            elif not calls and (answers := getattr(entry.message, "tool_call_id", None)) in open_ids - answered:
                open_ids.discard(answers)
                yield entry

    def step(self, about: dict[str, Any]) -> None:
        """Hear of a node that began; those of graphs within the graph are steps of theirs."""
        number, namespace = about.get("langgraph_step"), str(about.get("langgraph_checkpoint_ns") or "")
        if number is not None and "|" not in namespace:
            self.steps.add(number)

    def note_token(self, token: object) -> None:
        if token and self._first_token is None:
            self._first_token = time()

    def timings(self, started_at: float) -> dict[str, float]:
        """The wait for the first token, where a model streamed any."""
        first = self._first_token
        return {} if first is None else {"first_token_ms": round((first - started_at) * 1000, 3)}

    def note_parent(self, run_id: object, kwargs: dict[str, object]) -> None:
        self._above[run_id] = kwargs.get("parent_run_id")

    def parent(self, run_id: Any, kwargs: dict[str, Any]) -> str | None:
        """The tool that something runs within, else the agent that its node belongs to."""
        above = self._above.get(run_id)
        while above is not None:
            if above in self._runs:
                return self._runs[above].name
            above = self._above.get(above)
        path = str((kwargs.get("metadata") or {}).get("langgraph_checkpoint_ns") or "").split("|")[:-1]
        return path[-1].partition(":")[0] if path else None

    def note_start(
        self, run_id: object, name: str, call_id: str | None, arguments: object, parent: str | None = None
    ) -> None:
        ran = open_call.get()
        is_same = ran is not None and ran.name == name and self._unseen.pop(id(ran), None) is not None
        order = ran.order if ran is not None and is_same else self._next()
        run = RanCall(name, arguments, call_id, parent, began=True, owner=self, order=order)
        self._runs[run_id] = run
        self._note_change(run)

    def note_end(self, run_id: object, output: object) -> None:
        run = self._runs[run_id]
        run.ended_at = time()
        answer = next((m for m in messages_in(output) if getattr(m, "tool_call_id", None)), None)
        run.result = getattr(answer, "content", output)
        run.artifact = getattr(answer, "artifact", None)
        run.shows_failure = getattr(answer, "status", "") == "error"
        run.hands_over = bool(getattr(output, "goto", ()))
        run.call_id = run.call_id or getattr(answer, "tool_call_id", None)
        self._note_change(run)

    def note_failure(self, run_id: object, error: BaseException) -> None:
        from langgraph.errors import GraphBubbleUp

        run = self._runs[run_id]
        if isinstance(error, GraphBubbleUp):
            return  # it waits for a person or hands over: that is not a failure, and it is not over either
        run.ended_at = time()
        run.began = not _is_before_run(error)
        run.error = text(f"{type(error).__name__}: {error}")
        self._note_change(run)

    def note_messages(self, output: object, parent: str | None = None) -> None:
        """Messages that a node gave to the state of its graph."""
        self.written += [WrittenMessage(self._next(), message, parent) for message in messages_in(output)]

    def _note_change(self, run: RanCall) -> None:
        self._changed(list(self._runs.values()).index(run), run)

    def _next(self) -> int:
        self._count += 1
        return self._count


def _is_before_run(error: BaseException) -> bool:
    """Whether an error arose while the arguments were looked at: within the first frames of the tool's run."""
    names = [frame.f_code.co_name for frame, _ in islice(walk_tb(error.__traceback__), 3)]
    return not BEFORE_IT_RAN.isdisjoint(names)


def messages_in(output: object) -> Iterator[BaseMessage]:
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


def timeline(turn: Iterable[BaseMessage], book: TurnRecorder, known_ids: set[str]) -> list[WrittenMessage]:
    """All messages of a turn in order, each once: those of the graph's state, and those that were written on the way.

    Nodes give messages again that were there before, subgraphs have messages of their own, and long conversations are
    cut down while they go on.
    """
    first: dict[object, WrittenMessage] = {}
    latest: dict[object, BaseMessage] = {}
    for entry in book.written:
        message = entry.message
        if message.type != "remove" and message.id not in known_ids:
            first.setdefault(_key(message), entry)
            latest[_key(message)] = message
    before = 0
    for message in turn:
        before = first.setdefault(_key(message), WrittenMessage(before, message)).order
        latest[_key(message)] = message
    placed = [WrittenMessage(first[key].order, message, first[key].parent) for key, message in latest.items()]
    return sorted([*placed, *book.find_unwritten(latest.values())], key=lambda entry: entry.order)


def _request(call: Any) -> tuple[object, ...]:
    """What makes a request one of its own: models that count from one use an id again."""
    return call["id"], call["name"], repr(call["args"])


def _key(message: BaseMessage) -> object:
    return message.id or id(message)
