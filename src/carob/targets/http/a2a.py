"""`a2a:URL`: an agent that speaks A2A over JSON-RPC, 1.0 or 0.3. Its tools are not part of the protocol."""

from __future__ import annotations

from typing import ClassVar, Literal
from uuid import uuid4

from carob.providers.sse import ServerEvent
from carob.suites.diagnostics import Json
from carob.targets.base import TargetError
from carob.targets.http.conversation import AnswerReader, HttpConversation, TurnBuffer
from carob.targets.http.jsonpath import objects
from carob.targets.http.options import ServiceOptions
from carob.targets.http.service import WireRequest
from carob.targets.http.streams import loads, protocol_error
from carob.targets.http.target import ServiceTarget
from carob.text.wording import shorten, visible

NO_TOOLS = "A2A does not report tool calls: use the agent's spans (`telemetry`)"
ANSWERED = ("completed", "input-required")
WAITS = "input-required"
GOING_ON = ("submitted", "working", "unspecified", "")
KINDS = {"task": "task", "message": "message", "statusUpdate": "status", "artifactUpdate": "artifact"}
MISSPOKEN = (-32700, -32600, -32601, -32602, -32009)
"""Codes of a server that does not take what is sent: another version of the protocol, or none."""


class A2aOptions(ServiceOptions, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options of `a2a:`."""

    version: Literal["1.0", "0.3"] = "1.0"
    stream: bool = True


class A2aTarget(ServiceTarget[A2aOptions]):
    """An endpoint of JSON-RPC. A conversation is a context; a task that waits for input goes on with the next turn."""

    form: ClassVar[type[ServiceOptions]] = A2aOptions

    def build_request(self, talk: HttpConversation, prompt: str) -> WireRequest:
        old, stream = self._options.version == "0.3", self._options.stream
        message: dict[str, object] = {"messageId": str(uuid4()), "contextId": talk.id}
        message |= {"taskId": talk.notes["task"]} if talk.notes.get("task") else {}
        if old:
            method = "message/stream" if stream else "message/send"
            message |= {"kind": "message", "role": "user", "parts": [{"kind": "text", "text": prompt}]}
        else:
            method = "SendStreamingMessage" if stream else "SendMessage"
            message |= {"role": "ROLE_USER", "parts": [{"text": prompt}]}
        body = {"jsonrpc": "2.0", "id": str(uuid4()), "method": method, "params": {"message": message}}
        headers = {**({} if old else {"a2a-version": "1.0"}), **self.headers(talk, prompt)}
        form: Literal["sse"] | None = "sse" if stream else None
        return WireRequest(self.address(talk), body, headers=headers, stream=form, protocol=True)

    def reader(self, talk: HttpConversation, buffer: TurnBuffer) -> AnswerReader:
        buffer.no_tools = NO_TOOLS
        return A2aReader(talk, buffer)


class A2aReader:
    """A message, or a task until it has come to an end."""

    def __init__(self, talk: HttpConversation, buffer: TurnBuffer) -> None:
        self._talk = talk
        self._buffer = buffer
        self._state = ""
        self._said = ""
        """What the agent said with the state of the task."""

    def take(self, event: ServerEvent) -> bool:
        try:
            self.read_whole(loads(event.data))
        except ValueError as error:
            if event.torn:
                return False
            excerpt = visible(shorten(event.data, 200))
            raise TargetError("bad-answer", f"an event is not JSON-RPC: {error}: {excerpt}") from error
        return self._state not in GOING_ON

    def read_whole(self, value: Json) -> None:
        error = value.get("error") if isinstance(value, dict) else None
        if isinstance(error, dict):
            kind = "config" if error.get("code") in MISSPOKEN else "agent"
            raise TargetError(kind, f"the agent returned an error: {visible(shorten(str(error.get('message')), 300))}")
        result = value.get("result") if isinstance(value, dict) else None
        if not isinstance(result, dict):
            raise protocol_error("the answer is not JSON-RPC of A2A")
        kind, payload = _unwrap(result)
        if isinstance(payload.get("contextId"), str):
            self._talk.id = str(payload["contextId"])
            self._talk.context.trace_context.known_as.add(self._talk.id)
        if kind == "message":
            self._buffer.say(_text(payload))
            self._state = "completed"
        elif kind == "artifact":
            self._artifact(payload.get("artifact"))
        elif kind in ("task", "status"):
            self._talk.notes["task"] = payload.get("id" if kind == "task" else "taskId")
            for artifact in objects(payload.get("artifacts")):
                self._artifact(artifact)
            self._status(payload.get("status"))

    def end(self) -> None:
        if self._state in GOING_ON:
            raise TargetError("bad-answer", f"the answer ended while the task was {self._state or 'unknown'!r}")
        if self._state not in ANSWERED:
            reason = f": {visible(shorten(self._said, 300))}" if self._said else ""
            raise TargetError("agent", f"the task ended as {self._state!r}{reason}")
        if self._state != WAITS:
            self._talk.notes.pop("task", None)
        if self._state == WAITS or not self._buffer.final_message:
            self._buffer.say(self._said, "status")
        self._buffer.check("the task")

    def _artifact(self, artifact: Json) -> None:
        if isinstance(artifact, dict):
            self._buffer.say(_text(artifact))

    def _status(self, status: Json) -> None:
        if isinstance(status, dict):
            self._state = str(status.get("state", "")).removeprefix("TASK_STATE_").lower().replace("_", "-")
            message = status.get("message")
            self._said = _text(message) if isinstance(message, dict) else ""


def _unwrap(result: dict[str, Json]) -> tuple[str, dict[str, Json]]:
    """What a result is, and its content: 1.0 has it under its name, 0.3 has its name in it."""
    for key, kind in KINDS.items():
        payload = result.get(key)
        if isinstance(payload, dict) and "kind" not in result:
            return kind, payload
    return str(result.get("kind", "")).removesuffix("-update"), result


def _text(message: dict[str, Json]) -> str:
    return "".join(str(part.get("text") or "") for part in objects(message.get("parts")))
