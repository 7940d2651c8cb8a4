"""`langgraph-server:URL`: a graph on LangGraph's server. A conversation is a thread.

The stream has no event for its end: the state of the thread shows whether the run came to one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar, NamedTuple, cast

import msgspec
from msgspec import Struct

from carob.features.langgraph.messages import final_text, plain_text
from carob.model.suite import TurnDecision
from carob.model.trace import APPROVALS, PossibleCall, Tokens
from carob.providers.sse import ServerEvent
from carob.suites.diagnostics import Json
from carob.targets.base import TargetError
from carob.targets.config import Text
from carob.targets.http.conversation import HttpConversation, TurnBuffer
from carob.targets.http.jsonpath import count, objects
from carob.targets.http.options import ServiceOptions
from carob.targets.http.service import WireRequest
from carob.targets.http.streams import EventKinds, loads, protocol_error
from carob.targets.http.target import ServiceTarget
from carob.targets.interrupts import (
    RAN_ANYWAY,
    Interrupt,
    asked_approvals,
    decided_approvals,
    decisions,
    resume,
    resume_decided,
)
from carob.text.clean import table
from carob.text.tool_results import shows_failure
from carob.text.wording import shorten, visible

TYPES = {
    "ai": "ai", "assistant": "ai", "AIMessageChunk": "ai", "human": "human", "user": "human", "tool": "tool",
    "system": "system", "developer": "system",
}  # fmt: skip
"""What a message is, by its `type` or by its `role`."""


class ServerCall(NamedTuple):
    """A call that a message asks for."""

    name: str
    id: str | None
    arguments: Json


class ServerMessage(Struct, frozen=True):
    """One message. `id` is None where the node that wrote it gave none: the state gives it one later."""

    type: str
    content: Any
    id: str | None = None
    name: str | None = None
    calls: tuple[ServerCall, ...] = ()
    call_id: str | None = None
    failed: bool = False
    used: Tokens | None = None
    is_chunk: bool = False

    @property
    def text(self) -> str:
        return plain_text(self.content)

    @property
    def content_key(self) -> tuple[object, ...]:
        """Equal for one message that is written without an id and then given with one."""
        return self.type, self.text, self.name, self.call_id, tuple(call.id for call in self.calls)


def messages_in(update: Json) -> Iterator[ServerMessage]:
    """The messages in what nodes wrote, wherever in it they are."""
    for node_output in update.values() if isinstance(update, dict) else ():
        for part in node_output if isinstance(node_output, list) else [node_output]:
            messages = part.get("messages") if isinstance(part, dict) else None
            parsed = map(
                read_message, messages if isinstance(messages, list) and not _is_pair(messages) else [messages]
            )
            yield from (message for message in parsed if message is not None)


def read_message(raw: Json) -> ServerMessage | None:
    """A message, or None for what is not one: an object with `type` or `role`, or a pair of role and words."""
    if isinstance(raw, list) and _is_pair(raw):
        return ServerMessage(TYPES[str(raw[0])], raw[1])
    if not isinstance(raw, dict):
        return None
    kind = TYPES.get(str(raw.get("type"))) or TYPES.get(str(raw.get("role")))
    if kind is None:
        return None
    return ServerMessage(
        kind,
        raw.get("content"),
        _text(raw.get("id")),
        _text(raw.get("name")),
        tuple(map(_call, objects(raw.get("tool_calls")))),
        _text(raw.get("tool_call_id")),
        raw.get("status") == "error",
        _tokens(raw.get("usage_metadata")),
        raw.get("type") == "AIMessageChunk",
    )


def _tokens(usage: Json) -> Tokens | None:
    if not isinstance(usage, dict):
        return None
    return Tokens(count(usage.get("input_tokens")), count(usage.get("output_tokens")))


def _call(raw: dict[str, Json]) -> ServerCall:
    """A call as LangChain writes it, or as OpenAI does."""
    function = raw.get("function")
    call = function if isinstance(function, dict) else raw
    return ServerCall(str(call.get("name")), _text(raw.get("id")), call.get("args", call.get("arguments")))


def _is_pair(raw: list[Json]) -> bool:
    return len(raw) == 2 and isinstance(raw[0], str) and isinstance(raw[1], str) and raw[0] in TYPES


def _text(value: Json) -> str | None:
    return None if value is None else str(value)


MODES = ("metadata", "updates", "messages", "error", "end")
"""The events of a run that is asked for updates and messages."""


class LangGraphServerOptions(ServiceOptions, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options of `langgraph-server:`."""

    assistant: Text = "agent"
    """The name of the graph, or the id of an assistant."""
    config: dict[str, object] = msgspec.field(default_factory=dict)
    context: dict[str, object] = msgspec.field(default_factory=dict)


class LangGraphServerTarget(ServiceTarget[LangGraphServerOptions]):
    """The server of `langgraph dev` and of LangGraph's platform."""

    form: ClassVar[type[ServiceOptions]] = LangGraphServerOptions
    takes_decisions: ClassVar[bool] = True

    async def converse(self, talk: HttpConversation, prompt: str, buffer: TurnBuffer) -> None:
        run = RunReader(talk, buffer, prompt)
        await talk.exchange(self.build_request(talk, prompt), run)
        state = WireRequest(f"{self._thread(talk)}/state", method="GET", headers=self.headers(talk, prompt))
        await talk.exchange(state, _StateReader(talk, buffer, run))
        buffer.check("the run")

    def build_request(self, talk: HttpConversation, prompt: str) -> WireRequest:
        options = self._options
        notes, decision = notes_of(talk), talk.context.decision
        resumes = bool(notes.waiting) or decision is not None
        run_input: dict[str, object] = {"input": {"messages": [{"role": "user", "content": prompt}]}}
        body: dict[str, object] = {
            "assistant_id": options.assistant,
            **({"command": {"resume": notes.build_resume(prompt, decision)}} if resumes else run_input),
            "stream_mode": ["updates", "messages-tuple"],
            "stream_subgraphs": True,
            "if_not_exists": "create",
        }
        body |= {name: table for name, table in (("config", options.config), ("context", options.context)) if table}
        url, headers = f"{self._thread(talk)}/runs/stream", self.headers(talk, prompt)
        return WireRequest(url, body, headers=headers, stream="sse", protocol=True)

    def _thread(self, talk: HttpConversation) -> str:
        return f"{self.address(talk).rstrip('/')}/threads/{talk.id}"


@dataclass(slots=True)
class ThreadNotes:
    """What is known of a thread from one turn to the next."""

    waiting: list[Interrupt] = field(default_factory=list)
    """The interrupts that the last turn ended with."""
    requested: dict[str, ServerCall] = field(default_factory=dict)
    """The calls that were asked for: they may run in a later turn, once a person agrees."""
    decided: list[dict[str, object]] = field(default_factory=list)
    """What was decided about them by the prompt of this turn."""
    barred: dict[str, str] = field(default_factory=dict)
    """Those of them that a person rejected, or answered in place of the tool, each with what the person said."""

    def build_resume(self, prompt: str, decision: TurnDecision | None = None) -> object:
        """What the thread is resumed with. A person may change calls, or bar them."""
        waiting, self.waiting = self.waiting, []
        answer = resume(prompt, waiting) if decision is None else resume_decided(decision, waiting)
        self.decided = decided_approvals(waiting, answer)
        remaining = dict(self.requested)
        for request, decided in decisions(waiting, answer):
            action = request.get("name"), request.get("args")
            id = next((id for id, call in remaining.items() if (call.name, call.arguments) == action), None)
            if id is None:
                continue
            del remaining[id]
            changed = decided.get("edited_action")
            if isinstance(changed, dict):
                self.requested[id] = ServerCall(str(changed.get("name")), id, changed.get("args"))
            elif decided.get("type") in ("reject", "respond"):
                self.barred[id] = str(decided.get("message") or "")
        return answer


def notes_of(talk: HttpConversation) -> ThreadNotes:
    return cast(ThreadNotes, talk.notes.setdefault("thread", ThreadNotes()))


class RunReader:
    """The updates of one run: messages that nodes wrote, each once."""

    def __init__(self, talk: HttpConversation, buffer: TurnBuffer, prompt: str) -> None:
        self._prompt = prompt
        self._buffer = buffer
        self._seen_ids: set[str] = talk.seen_ids
        self._notes = notes_of(talk)
        self._kinds = EventKinds("one of a LangGraph server")
        self._turn: dict[object, ServerMessage] = {}
        """The messages in their order, by id, or by a number of their own where they have none."""
        self._unnamed: dict[tuple[object, ...], object] = {}
        self._used: dict[str, list[Tokens]] = {}
        """Tokens by message, as it was streamed or written: answers that reach no state are spent too."""

    def read_whole(self, value: Json) -> None:
        raise protocol_error("the answer is not a stream of a LangGraph server")

    def take(self, event: ServerEvent) -> bool:
        mode = event.name.partition("|")[0]
        self._kinds.note(event.name or event.data, fits=mode in MODES)
        if mode not in ("updates", "messages", "error"):
            return False
        try:
            payload = loads(event.data)
        except ValueError as error:
            if event.torn:
                return False
            raise TargetError("bad-answer", f"an event is not JSON: {error}") from error
        if mode == "error":
            description = (
                f"{payload.get('error')}: {payload.get('message')}" if isinstance(payload, dict) else str(payload)
            )
            raise TargetError("agent", f"the run ended with an error: {visible(shorten(description, 300))}")
        if mode == "messages":
            self._take_chunk(payload[0] if isinstance(payload, list) and payload else None)
        else:
            for message in messages_in(payload):
                self._message(message)
        return False

    def end(self) -> None:
        """The state of the thread shows how it ended, if it is one."""
        if self._kinds.protocol_error is not None:
            raise self._kinds.protocol_error

    def finish(self, interrupts: Sequence[Interrupt]) -> None:
        """The run is over: its answer, and what it spent."""
        self._buffer.answer = final_text([*self._turn.values()], [each.value for each in interrupts], self._prompt)
        for used in chain.from_iterable(self._used.values()):
            self._buffer.spend(used)

    def _take_chunk(self, chunk: Json) -> None:
        message = read_message(chunk)
        if message is None or message.type != "ai":
            return
        if message.text:
            self._buffer.first_word()
        if message.used is not None and message.id is not None:
            self._used[message.id] = [*(self._used.get(message.id, ()) if message.is_chunk else ()), message.used]

    def _message(self, message: ServerMessage) -> None:
        if message.id is not None and message.id in self._seen_ids:
            return
        self._notes.requested |= {call.id: call for call in message.calls if call.id is not None}
        key = message.id or f"unnamed {len(self._turn)}"
        again = None
        if message.id is None:
            self._unnamed[message.content_key] = key
        else:
            self._seen_ids.add(message.id)
            # written without an id, and now given again by an outer graph that knows one
            again = self._unnamed.pop(message.content_key, None) if self._unnamed else None
        self._turn.pop(again, None)
        self._turn[key] = message
        if message.used is not None and again is None:
            self._used[key] = [message.used]
        if message.type == "ai":
            self._buffer.say(message.text, key)
            for call in message.calls:
                self._buffer.call_log.begin(call.name, call.id, call.arguments, ran=False)
        elif message.type == "tool":
            self._result(message)

    def _result(self, message: ServerMessage) -> None:
        book, request = self._buffer.call_log, self._notes.requested.get(message.call_id or "")
        if (said := self._notes.barred.get(message.call_id or "")) is not None:
            self._denied_result(message, request, said)
            return
        name = request.name if request else message.name or "tool"
        call = book.begin(name, message.call_id, request.arguments if request else None)
        if message.failed:
            book.end(call, error=message.text or "error")
        else:
            book.end(call, message.content)

    def _denied_result(self, message: ServerMessage, request: ServerCall | None, said: str) -> None:
        """What the agent is given in the place of a result, unless it ran the call in spite of a denial."""
        if message.failed or message.text == said or shows_failure(message.content):
            return
        name = request.name if request else message.name or ""
        possible_call = PossibleCall(name, RAN_ANYWAY.format(visible(name) or "a call"))
        if possible_call not in self._buffer.doubtful:
            self._buffer.doubtful.append(possible_call)


class _StateReader:
    """The state of a thread after a run."""

    def __init__(self, talk: HttpConversation, buffer: TurnBuffer, run: RunReader) -> None:
        self._talk = talk
        self._buffer = buffer
        self._run = run

    def take(self, event: ServerEvent) -> bool:
        return True

    def read_whole(self, value: Json) -> None:
        if not isinstance(value, dict) or not isinstance(value.get("next"), list):
            raise protocol_error("the thread has no state, which it would have on a LangGraph server")
        tasks = list(objects(value.get("tasks")))
        items = [item for task in tasks for item in objects(task.get("interrupts"))]
        interrupts = [Interrupt(str(item.get("id")), item.get("value")) for item in items]
        if value["next"] and not interrupts:
            raise TargetError("bad-answer", f"the run ended before {value['next']}: it was cut off")
        notes = notes_of(self._talk)
        self._buffer.metadata[APPROVALS] = [*notes.decided, *asked_approvals(interrupts)]
        notes.decided = []
        if interrupts:
            self._buffer.metadata["interrupts"] = [each.value for each in interrupts]
            notes.waiting = interrupts
        values = value.get("values")
        if isinstance(values, dict):
            self._buffer.state = table({name: item for name, item in values.items() if name != "messages"})
            # what nodes wrote without an id has one here, by which it is known if a later turn gives it again
            self._talk.seen_ids |= {
                str(message["id"]) for message in objects(values.get("messages")) if message.get("id")
            }
        self._run.finish(interrupts)

    def end(self) -> None:
        """It came as a whole."""
