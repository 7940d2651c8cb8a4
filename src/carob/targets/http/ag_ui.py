"""`ag-ui:URL`: an agent that speaks AG-UI, the protocol of CopilotKit and of many frameworks' adapters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast
from uuid import uuid4

import msgspec

from carob.model.suite import TurnDecision
from carob.model.trace import APPROVALS, PossibleCall, Tokens, ToolCall
from carob.providers.sse import ServerEvent
from carob.suites.diagnostics import Json
from carob.targets.base import TargetError
from carob.targets.decisions import CallDecision, WaitingCall, decide
from carob.targets.http.conversation import AnswerReader, HttpConversation, TurnBuffer
from carob.targets.http.jsonpath import count, objects
from carob.targets.http.options import ServiceOptions
from carob.targets.http.service import WireRequest
from carob.targets.http.streams import DONE, EventKinds, event_object, protocol_error
from carob.targets.http.target import ServiceTarget
from carob.targets.interrupts import OWN_FORM, RAN_ANYWAY, interrupt_text, read_answer, says_yes
from carob.text.clean import jsonable, table
from carob.text.tool_results import shows_failure
from carob.text.wording import shorten, visible

APPROVED, EDITED, REASON = "approved", "editedArgs", "reason"
"""The members of an answer to a question for approval."""
NO_RESULT = "denied"


@dataclass(slots=True)
class PendingRun:
    """What a run ended with that waits for a person, and what became of it."""

    waiting: list[dict[str, Json]] = field(default_factory=list)
    """The interrupts of the last turn."""
    calls: dict[str, ToolCall] = field(default_factory=dict)
    """The calls that they are about, by id: their results come in a later turn."""
    decided: list[dict[str, object]] = field(default_factory=list)
    """What the prompt of this turn decided."""
    barred: dict[str, str] = field(default_factory=dict)
    """The calls that a person denied, by id, each with what the agent was given as its result."""
    resumed: set[int] = field(default_factory=set)
    """The turns, by number, whose prompts were such answers, and no words to the agent."""
    questions: set[str] = field(default_factory=set)
    """What was asked where no answer was given."""

    def build_resume(self, prompt: str, turn: int, decision: TurnDecision | None = None) -> list[dict[str, object]]:
        """The answers that a run is resumed with, one for each interrupt.

        A prompt that is a JSON object may name them by the ids of interrupts; any other answer is given to each.
        """
        ids = [str(each.get("id")) for each in self.waiting]
        answers = self._read_answers(prompt, ids) if decision is None else self._decide_all(decision)
        waiting, self.waiting, self.decided = self.waiting, [], []
        self.resumed.add(turn)
        entries: list[dict[str, object]] = []
        for id, interrupt, answer in zip(ids, waiting, answers, strict=True):
            payload = _shape_payload(answer, interrupt)
            self._decide(interrupt, payload)
            entries.append({"interruptId": id, "status": "resolved", "payload": payload})
        return entries

    def _read_answers(self, prompt: str, ids: Sequence[str]) -> list[object]:
        answer = read_answer(prompt)
        is_by_id = isinstance(answer, dict) and answer.keys() == set(ids)
        return [answer[id] if isinstance(answer, dict) and is_by_id else answer for id in ids]

    def _decide_all(self, decision: TurnDecision) -> list[object]:
        """What a turn that decides answers to each interrupt. Raises TargetError where it does not fit them."""
        calls = [self.calls.get(str(interrupt.get("toolCallId"))) for interrupt in self.waiting]
        waiting = [WaitingCall("", None) if call is None else WaitingCall(call.name, call.arguments) for call in calls]
        decided = decide(decision, waiting)
        return [_spell_decision(*pair) for pair in zip(self.waiting, decided, strict=True)]

    def ask(self, interrupts: Json, calls: Sequence[ToolCall]) -> list[dict[str, object]]:
        """Keep what a run ended with; the approvals that it asks for."""
        self.waiting = list(objects(interrupts))
        self.calls |= {call.id: call for call in calls if call.id is not None}
        return [self._approval("asks_approval", interrupt) for interrupt in self.waiting]

    def _decide(self, interrupt: Mapping[str, Json], payload: object) -> None:
        approved = payload.get(APPROVED) if isinstance(payload, dict) else None
        if not isinstance(approved, bool):
            return
        decision = self._approval("approved" if approved else "denied", interrupt)
        call_id = str(interrupt.get("toolCallId"))
        if not approved:
            reason = payload.get(REASON) if isinstance(payload, dict) else None
            self.barred[call_id] = reason if isinstance(reason, str) else NO_RESULT
        elif isinstance(payload, dict) and isinstance(payload.get(EDITED), dict) and call_id in self.calls:
            call = self.calls[call_id]
            self.calls[call_id] = ToolCall(call.name, jsonable(payload[EDITED]), id=call_id)
            decision["arguments"] = self.calls[call_id].arguments
        self.decided.append(decision)

    def _approval(self, kind: str, interrupt: Mapping[str, Json]) -> dict[str, object]:
        call = self.calls.get(str(interrupt.get("toolCallId")))
        if call is None:
            return {"kind": kind, "tool": "", "arguments": jsonable(dict(interrupt))}
        return {"kind": kind, "tool": call.name, "arguments": call.arguments}


def ask_in_words(interrupts: Json) -> str:
    """What a run asks the person."""
    return "\n".join(interrupt_text(dict(interrupt)) for interrupt in objects(interrupts))


def _asks_approval(interrupt: Mapping[str, Any]) -> bool:
    schema = interrupt.get("responseSchema")
    wanted = schema.get("properties") if isinstance(schema, dict) else None
    return APPROVED in wanted if isinstance(wanted, dict) else interrupt.get("toolCallId") is not None


def _spell_decision(interrupt: Mapping[str, Json], decided: CallDecision) -> object:
    """A decision as AG-UI recommends it; to a question for something else, true or false."""
    if not _asks_approval(interrupt):
        if decided.kind == "edit":
            raise TargetError("not-asked", OWN_FORM)
        return decided.kind == "approve"
    if decided.kind == "deny":
        return {APPROVED: False, **({REASON: decided.reason} if decided.reason else {})}
    return {APPROVED: True, **({EDITED: decided.arguments} if decided.kind == "edit" else {})}


def _shape_payload(answer: object, interrupt: Mapping[str, Json]) -> object:
    """The answer as AG-UI recommends it where it is a question for approval; else as it is."""
    if not _asks_approval(interrupt) or not isinstance(answer, bool | str):
        return answer
    if isinstance(answer, bool) or says_yes(answer):
        return {APPROVED: answer is not False}
    return {APPROVED: False, REASON: answer}


STATE = "state"
MOST_OPERATIONS = 10_000
"""Longest patch of a state that is applied."""
NOT_FINE = ("failed", "retried", "denied", "error")
"""Outcomes of a tool that pydantic-ai sends next to a result that looks like any other."""


class AgUiOptions(ServiceOptions, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options of `ag-ui:`."""

    state: dict[str, object] = msgspec.field(default_factory=dict)
    """The state that a conversation begins with."""
    forwarded_props: dict[str, object] = msgspec.field(default_factory=dict)


class AgUiTarget(ServiceTarget[AgUiOptions]):
    """An endpoint that takes a RunAgentInput and streams events."""

    form: ClassVar[type[ServiceOptions]] = AgUiOptions
    takes_decisions: ClassVar[bool] = True

    def build_request(self, talk: HttpConversation, prompt: str) -> WireRequest:
        pending, history = pending_of(talk.notes), _history(talk)
        decision = talk.context.decision
        waits = bool(pending.waiting) or decision is not None
        resume = pending.build_resume(prompt, len(talk.past), decision) if waits else []
        prompted = [] if resume else [{"id": str(uuid4()), "role": "user", "content": prompt}]
        body = {
            "threadId": talk.id,
            "runId": str(uuid4()),
            "state": talk.notes.get(STATE, self._options.state),
            "messages": [*history, *prompted],
            "tools": [],
            "context": [],
            "forwardedProps": self._options.forwarded_props,
            **({"resume": resume} if resume else {}),
        }
        headers = {"accept": "text/event-stream", **self.headers(talk, prompt)}
        return WireRequest(self.address(talk), body, headers=headers, stream="sse", protocol=True)

    def reader(self, talk: HttpConversation, buffer: TurnBuffer) -> AnswerReader:
        return AgUiReader(buffer, talk.notes, self._options.state)


class AgUiReader:
    """The events of one run."""

    def __init__(self, buffer: TurnBuffer, notes: dict[str, object], state: object) -> None:
        self._buffer = buffer
        self._notes = notes
        self._pending = pending_of(notes)
        self._state: Json = cast(Json, notes.get(STATE, state))
        """As it was when the turn began, and after what has changed it; None if a change does not fit it."""
        self._finished = False
        self._kinds = EventKinds("AG-UI")
        self._unclear: dict[str, str] = {}
        """Calls that were denied and have a result, by the ids of the messages with it."""
        self._results: dict[str, str] = {}
        """The calls by the ids of the messages that tell their results."""

    def read_whole(self, value: Json) -> None:
        raise protocol_error("the answer is not a stream of AG-UI events")

    def take(self, event: ServerEvent) -> bool:
        if event.data.strip() == DONE:
            return True
        payload = event_object(event, "AG-UI")
        kind = str(payload["type"])
        self._kinds.note(kind, fits=kind.isupper())
        reading = READING.get(kind)
        if reading is not None:
            reading(self, payload)
        return self._finished

    def end(self) -> None:
        if not self._finished:
            raise self._kinds.end_error("the stream ended without RUN_FINISHED or RUN_ERROR")
        self._buffer.check("the run")

    def run_finished(self, payload: dict[str, Json]) -> None:
        self._finished = True
        for call_id in self._unclear.values():
            name = self._pending.calls[call_id].name if call_id in self._pending.calls else ""
            self._buffer.doubtful.append(PossibleCall(name, RAN_ANYWAY.format(visible(name) or "a call")))
        for used in objects(payload.get("usage")):
            self._buffer.spend(Tokens(count(used.get("inputTokens")), count(used.get("outputTokens"))))
        outcome = payload.get("outcome")
        if not isinstance(outcome, dict):
            return  # an older AG-UI, which has no interrupts: what asks for approval there is not known
        asked: list[dict[str, object]] = []
        if outcome.get("type") == "interrupt":
            asked = self._interrupt(outcome.get("interrupts"))
        self._buffer.metadata[APPROVALS] = [*self._pending.decided, *asked]
        self._pending.decided = []

    def _interrupt(self, interrupts: Json) -> list[dict[str, object]]:
        """The run waits for a person: the calls that it waits with have not run."""
        log = self._buffer.call_log
        for interrupt in objects(interrupts):
            call = log.find(str(interrupt.get("toolCallId")))
            if call is not None and not call.ended:
                call.ran = False
        self._buffer.metadata["interrupts"] = interrupts
        if not self._buffer.final_message:
            question = ask_in_words(interrupts)
            self._pending.questions.add(question)
            self._buffer.say(question)
        return self._pending.ask(interrupts, [call for call in log.calls if not call.started])

    def run_error(self, payload: dict[str, Json]) -> None:
        message = visible(shorten(str(payload.get("message")), 300))
        raise TargetError("agent", f"the run ended with RUN_ERROR: {message}")

    def text(self, payload: dict[str, Json]) -> None:
        self._buffer.say(str(payload.get("delta", "")), str(payload.get("messageId")))

    def call_start(self, payload: dict[str, Json]) -> None:
        self._buffer.call_log.begin(str(payload.get("toolCallName")), str(payload.get("toolCallId")))

    def call_arguments(self, payload: dict[str, Json]) -> None:
        self._buffer.call_log.more(str(payload.get("toolCallId")), str(payload.get("delta", "")))

    def call_chunk(self, payload: dict[str, Json]) -> None:
        if payload.get("toolCallName"):
            self.call_start(payload)
        self.call_arguments(payload)

    def call_result(self, payload: dict[str, Json]) -> None:
        call_id = str(payload.get("toolCallId"))
        if call_id in self._pending.barred:
            self._denied_result(call_id, payload)
            return
        call = self._buffer.call_log.find(call_id)
        if call is None and (asked := self._pending.calls.get(call_id)) is not None:
            call = self._buffer.call_log.begin(asked.name, call_id, asked.arguments)
        if call is not None:
            self._results[str(payload.get("messageId"))] = str(payload.get("toolCallId"))
            self._buffer.call_log.end(call, payload.get("content"))

    def _denied_result(self, call_id: str, payload: dict[str, Json]) -> None:
        """What the agent is given in the place of a result, unless it ran the call in spite of a denial."""
        content, reason = str(payload.get("content")), self._pending.barred[call_id]
        self._pending.barred[call_id] = content
        if content != reason and not shows_failure(content):
            self._unclear[str(payload.get("messageId"))] = call_id

    def notes_of_result(self, payload: dict[str, Json]) -> None:
        call = self._buffer.call_log.find(self._results.get(str(payload.get("entityId"))))
        try:
            notes = msgspec.json.decode(str(payload.get("encryptedValue")))
        except msgspec.DecodeError:
            return  # it is what its name says
        each = notes.values() if isinstance(notes, dict) else ()
        if any(isinstance(note, dict) and note.get("outcome") in NOT_FINE for note in each):
            self._unclear.pop(str(payload.get("entityId")), None)
            if call is not None:
                call.success, call.error = False, str(call.result)

    def raw(self, payload: dict[str, Json]) -> None:
        """LangGraph's adapter reports a tool that failed by this alone."""
        event = payload.get("event")
        if not isinstance(event, dict) or event.get("event") != "on_tool_error":
            return
        call = self._buffer.call_log.waiting(str(event.get("name")))
        if call is not None:
            data = event.get("data")
            error = data.get("error") if isinstance(data, dict) else None
            self._buffer.call_log.end(call, error=str(error or "the tool failed"))

    def messages_snapshot(self, payload: dict[str, Json]) -> None:
        """What had no events of its own: the arguments of calls that were never streamed."""
        for message in objects(payload.get("messages")):
            for requested in objects(message.get("toolCalls")):
                call, function = self._buffer.call_log.find(str(requested.get("id"))), requested.get("function")
                if call is not None and call.pieces is None and isinstance(function, dict):
                    call.pieces = [str(function.get("arguments", ""))]

    def state_snapshot(self, payload: dict[str, Json]) -> None:
        self._keep(payload.get("snapshot"))

    def state_delta(self, payload: dict[str, Json]) -> None:
        try:
            self._keep(apply_delta(self._state, payload.get("delta")))
        except ValueError:
            self._keep(None)  # unknown until the next snapshot

    def _keep(self, state: Json) -> None:
        self._state = self._notes[STATE] = state
        fields = state if isinstance(state, dict) else {}
        self._buffer.state = table({key: value for key, value in fields.items() if key != "messages"})


def apply_delta(state: Json, delta: Json) -> Json:
    """Return the state after a JSON Patch (RFC 6902). Raise ValueError if the patch does not fit it."""
    from jsonpatch import JsonPatchException, JsonPointerException, apply_patch  # part of the extra `http`

    if not isinstance(delta, list) or len(delta) > MOST_OPERATIONS:
        raise ValueError("not a list of operations, or a very long one")
    operations = [each for each in delta if isinstance(each, dict)]
    if len(operations) < len(delta):
        raise ValueError("an operation is not an object")
    try:
        state = apply_patch(state, operations)
    except (JsonPatchException, JsonPointerException) as error:
        raise ValueError(f"the patch does not fit: {error}") from error
    return state


READING: dict[str, Callable[[AgUiReader, dict[str, Json]], None]] = {
    "RUN_FINISHED": AgUiReader.run_finished,
    "RUN_ERROR": AgUiReader.run_error,
    "TEXT_MESSAGE_CONTENT": AgUiReader.text,
    "TEXT_MESSAGE_CHUNK": AgUiReader.text,
    "TOOL_CALL_START": AgUiReader.call_start,
    "TOOL_CALL_ARGS": AgUiReader.call_arguments,
    "TOOL_CALL_CHUNK": AgUiReader.call_chunk,
    "TOOL_CALL_RESULT": AgUiReader.call_result,
    "REASONING_ENCRYPTED_VALUE": AgUiReader.notes_of_result,
    "RAW": AgUiReader.raw,
    "STATE_SNAPSHOT": AgUiReader.state_snapshot,
    "STATE_DELTA": AgUiReader.state_delta,
    "MESSAGES_SNAPSHOT": AgUiReader.messages_snapshot,
}


def pending_of(notes: dict[str, object]) -> PendingRun:
    return cast(PendingRun, notes.setdefault("pending", PendingRun()))


def _history(talk: HttpConversation) -> list[dict[str, object]]:
    """What was said and done before, as a client of AG-UI keeps it."""
    messages: list[dict[str, object]] = []
    shown: set[str | None] = set()
    pending = pending_of(talk.notes)
    for number, turn in enumerate(talk.past):
        if number not in pending.resumed:
            messages.append({"id": str(uuid4()), "role": "user", "content": turn.prompt})
        for call in turn.calls:
            arguments = msgspec.json.encode(call.arguments).decode()
            function = {"name": call.name, "arguments": arguments}
            requested = {"id": call.id, "type": "function", "function": function}
            content = call.result if isinstance(call.result, str) else msgspec.json.encode(call.result).decode()
            if call.id not in shown:
                messages.append({"id": str(uuid4()), "role": "assistant", "toolCalls": [requested]})
                shown.add(call.id)
            if call.started or call.id in pending.barred:  # one that waits for a person has no result yet
                result = pending.barred.get(str(call.id)) or call.error or content
                messages.append({"id": str(uuid4()), "role": "tool", "toolCallId": call.id, "content": result})
        if turn.answer not in pending.questions:
            messages.append({"id": str(uuid4()), "role": "assistant", "content": turn.answer})
    return messages
