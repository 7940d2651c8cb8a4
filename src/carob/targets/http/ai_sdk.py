"""`ai-sdk:URL`: a route that streams UI messages as the AI SDK does, whatever it is written in."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar, Literal
from uuid import uuid4

from msgspec import field

from carob.providers.base import read_ending
from carob.providers.sse import ServerEvent
from carob.suites.diagnostics import Json
from carob.targets.base import TargetError
from carob.targets.http.conversation import AnswerReader, HttpConversation, TurnBuffer
from carob.targets.http.data_stream import DataStreamReader
from carob.targets.http.options import ServiceOptions
from carob.targets.http.service import WireRequest
from carob.targets.http.streams import DONE, EventKinds, event_object, protocol_error
from carob.targets.http.target import ServiceTarget
from carob.targets.http.tool_call_log import CallSoFar
from carob.text.wording import shorten, visible

PART = re.compile(r"[a-z]+(?:-|$)")
"""How the types of parts are spelled."""


class AiSdkOptions(ServiceOptions, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options of `ai-sdk:`."""

    body: dict[str, object] = field(default_factory=dict)
    """What the route wants apart from the messages."""
    stream: Literal["ui", "data"] = "ui"
    """`data`: the data stream of versions before 5, `0:"Hello"`."""


class AiSdkTarget(ServiceTarget[AiSdkOptions]):
    """A route that takes UI messages and streams them."""

    form: ClassVar[type[ServiceOptions]] = AiSdkOptions

    def build_request(self, talk: HttpConversation, prompt: str) -> WireRequest:
        messages = [*_history(talk), _message("user", {"type": "text", "text": prompt})]
        body = {**self._options.body, "id": talk.id, "trigger": "submit-message", "messages": messages}
        if self._options.stream == "data":
            body = {**self._options.body, "id": talk.id, "messages": talk.messages(prompt)}
            headers = self.headers(talk, prompt)
            return WireRequest(self.address(talk), body, headers=headers, stream="frames", protocol=True)
        headers = {"accept": "text/event-stream", **self.headers(talk, prompt)}
        return WireRequest(self.address(talk), body, headers=headers, stream="sse", protocol=True)

    def reader(self, talk: HttpConversation, buffer: TurnBuffer) -> AnswerReader:
        return DataStreamReader(buffer) if self._options.stream == "data" else AiSdkReader(buffer)


class AiSdkReader:
    """The parts of one message, step by step; the text of the last step that has any is the answer."""

    def __init__(self, buffer: TurnBuffer) -> None:
        self._buffer = buffer
        self._step = 0
        self._finished = False
        self._kinds = EventKinds("of a UI message stream")
        self._error = ""

    def read_whole(self, value: Json) -> None:
        raise protocol_error("the answer is not a stream of UI messages")

    def take(self, event: ServerEvent) -> bool:
        if event.data.strip() == DONE:
            return True
        payload = event_object(event, "UI message stream")
        kind = str(payload["type"])
        self._kinds.note(kind, fits=PART.match(kind) is not None)
        reading = READING.get(kind)
        if reading is not None:
            reading(self, payload)
        return False

    def end(self) -> None:
        if self._error:
            raise TargetError("agent", f"the stream has an error: {visible(shorten(self._error, 300))}")
        if not self._finished:
            raise self._kinds.end_error("the stream ended without `finish`")
        self._buffer.check("the message")

    def start_step(self, payload: dict[str, Json]) -> None:
        self._step += 1

    def finish(self, payload: dict[str, Json]) -> None:
        self._finished = True
        self._buffer.ended_by = read_ending(str(payload.get("finishReason") or ""))
        if payload.get("finishReason") == "error":
            self._error = self._error or "it finished with the reason `error`"

    def note_error(self, payload: dict[str, Json]) -> None:
        self._error = str(payload.get("errorText", "error"))

    def abort(self, payload: dict[str, Json]) -> None:
        self._error = f"aborted: {payload.get('reason', '')}"

    def text_delta(self, payload: dict[str, Json]) -> None:
        self._buffer.say(str(payload.get("delta", "")), str(self._step))

    def tool_input(self, payload: dict[str, Json]) -> CallSoFar:
        return self._buffer.call_log.begin(
            str(payload.get("toolName")), str(payload.get("toolCallId")), payload.get("input")
        )

    def tool_input_error(self, payload: dict[str, Json]) -> None:
        """What never ran was asked for, no more."""
        call = self.tool_input(payload)
        self._buffer.call_log.end(call, error=str(payload.get("errorText", "bad input")))
        call.ran = False

    def tool_output(self, payload: dict[str, Json]) -> None:
        call = self._buffer.call_log.find(str(payload.get("toolCallId")))
        if call is not None and not payload.get("preliminary"):
            self._buffer.call_log.end(call, payload.get("output"))

    def tool_output_error(self, payload: dict[str, Json]) -> None:
        call = self._buffer.call_log.find(str(payload.get("toolCallId")))
        if call is not None:
            self._buffer.call_log.end(call, error=str(payload.get("errorText", "error")))


READING: dict[str, Callable[[AiSdkReader, dict[str, Json]], object]] = {
    "start-step": AiSdkReader.start_step,
    "finish": AiSdkReader.finish,
    "error": AiSdkReader.note_error,
    "abort": AiSdkReader.abort,
    "text-delta": AiSdkReader.text_delta,
    "tool-input-start": AiSdkReader.tool_input,
    "tool-input-available": AiSdkReader.tool_input,
    "tool-input-error": AiSdkReader.tool_input_error,
    "tool-output-available": AiSdkReader.tool_output,
    "tool-output-error": AiSdkReader.tool_output_error,
}


def _message(role: str, *parts: dict[str, object]) -> dict[str, object]:
    return {"id": str(uuid4()), "role": role, "parts": list(parts)}


def _history(talk: HttpConversation) -> list[dict[str, object]]:
    """What was said and done before, as a client of the AI SDK keeps it."""
    messages = []
    for turn in talk.past:
        messages.append(_message("user", {"type": "text", "text": turn.prompt}))
        calls: list[dict[str, object]] = []
        for call in turn.calls:
            part = {"type": f"tool-{call.name}", "toolCallId": call.id, "input": call.arguments}
            ended = {"state": "output-available", "output": call.result}
            calls.append(part | (ended if call.error is None else {"state": "output-error", "errorText": call.error}))
        messages.append(_message("assistant", *calls, {"type": "text", "text": turn.answer}))
    return messages
