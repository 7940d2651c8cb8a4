"""`langgraph-server:URL`: a graph on LangGraph's server. A conversation is a thread.

The stream has no event for its end: the state of the thread shows whether the run came to one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec import field

from karat.model.trace import Tokens
from karat.suites.diagnostics import Json
from karat.targets.base import TargetError
from karat.targets.config import Text
from karat.targets.http.conversation import AnswerReader, HttpConversation, TurnBuffer
from karat.targets.http.event_values import EventKinds, protocol_error
from karat.targets.http.jsonpath import count, objects
from karat.targets.http.options import ServiceOptions
from karat.targets.http.service import WireRequest
from karat.targets.http.streams import WireEvent
from karat.targets.http.target import ServiceTarget
from karat.text.wording import shorten, visible
from karat.traces.clean import table

MODES = ("metadata", "updates", "messages", "error", "end")
"""The events of a run that is asked for updates and messages."""


class LangGraphServerOptions(ServiceOptions, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options of `langgraph-server:`."""

    assistant: Text = "agent"
    """The name of the graph, or the id of an assistant."""
    config: dict[str, object] = field(default_factory=dict)
    context: dict[str, object] = field(default_factory=dict)


class LangGraphServerTarget(ServiceTarget[LangGraphServerOptions]):
    """The server of `langgraph dev` and of LangGraph's platform."""

    form: ClassVar[type[ServiceOptions]] = LangGraphServerOptions

    async def converse(self, talk: HttpConversation, prompt: str, heard: TurnBuffer) -> None:
        await talk.hear(self.build_request(talk, prompt), self.reader(talk, heard))
        state = WireRequest(f"{self._thread(talk)}/state", method="GET", headers=self.headers(talk, prompt))
        await talk.hear(state, _StateReader(heard))
        heard.checked("the run")

    def build_request(self, talk: HttpConversation, prompt: str) -> WireRequest:
        options = self._options
        body: dict[str, object] = {
            "assistant_id": options.assistant,
            "input": {"messages": [{"role": "user", "content": prompt}]},
            "stream_mode": ["updates", "messages-tuple"],
            "stream_subgraphs": True,
            "if_not_exists": "create",
        }
        body |= {name: given for name, given in (("config", options.config), ("context", options.context)) if given}
        url, headers = f"{self._thread(talk)}/runs/stream", self.headers(talk, prompt)
        return WireRequest(url, body, headers=headers, stream="sse", protocol=True)

    def reader(self, talk: HttpConversation, heard: TurnBuffer) -> AnswerReader:
        return RunReader(talk, heard)

    def _thread(self, talk: HttpConversation) -> str:
        return f"{self.address(talk).rstrip('/')}/threads/{talk.id}"


class RunReader:
    """The updates of one run: messages that nodes wrote, each once."""

    def __init__(self, talk: HttpConversation, heard: TurnBuffer) -> None:
        self._heard = heard
        self._seen: set[str] = talk.seen
        self._kinds = EventKinds("one of a LangGraph server")

    def whole(self, value: Json) -> None:
        raise protocol_error("the answer is not a stream of a LangGraph server")

    def take(self, event: WireEvent) -> bool:
        mode = event.name.partition("|")[0]
        self._kinds.saw(event.name or event.data, fits=mode in MODES)
        if mode not in ("updates", "messages", "error"):
            return False
        try:
            payload = event.json()
        except ValueError as error:
            if event.torn:
                return False
            raise TargetError("bad-answer", f"an event is not JSON: {error}") from error
        if mode == "error":
            what = f"{payload.get('error')}: {payload.get('message')}" if isinstance(payload, dict) else str(payload)
            raise TargetError("agent", f"the run ended with an error: {visible(shorten(what, 300))}")
        if mode == "messages":
            chunk = payload[0] if isinstance(payload, list) and payload else None
            if isinstance(chunk, dict) and chunk.get("type") == "AIMessageChunk" and _words(chunk.get("content")):
                self._heard.first_word()
        else:
            for message in _messages(payload):
                self._message(message)
        return False

    def ended(self) -> None:
        """The state of the thread shows how it ended, if it is one."""
        if self._kinds.protocol_error is not None:
            raise self._kinds.protocol_error

    def _message(self, message: dict[str, Json]) -> None:
        id = str(message.get("id"))
        if id in self._seen:
            return
        self._seen.add(id)
        if message.get("type") == "ai":
            self._heard.say(_words(message.get("content")), id)
            for call in objects(message.get("tool_calls")):
                self._heard.book.begin(str(call.get("name")), str(call.get("id")), call.get("args"), ran=False)
            usage = message.get("usage_metadata")
            if isinstance(usage, dict):
                self._heard.spend(Tokens(count(usage.get("input_tokens")), count(usage.get("output_tokens"))))
        elif message.get("type") == "tool":
            self._result(message)

    def _result(self, message: dict[str, Json]) -> None:
        call = self._heard.book.begin(str(message.get("name")), str(message.get("tool_call_id")))
        content = message.get("content")
        if message.get("status") == "error":
            self._heard.book.end(call, error=_words(content) or "error")
        else:
            self._heard.book.end(call, content)


class _StateReader:
    """The state of a thread after a run."""

    def __init__(self, heard: TurnBuffer) -> None:
        self._heard = heard

    def take(self, event: WireEvent) -> bool:
        return True

    def whole(self, value: Json) -> None:
        if not isinstance(value, dict) or not isinstance(value.get("next"), list):
            raise protocol_error("the thread has no state, as it has on a LangGraph server")
        tasks = list(objects(value.get("tasks")))
        interrupts = [item for task in tasks for item in objects(task.get("interrupts"))]
        if value["next"] and not interrupts:
            raise TargetError("bad-answer", f"the run ended before {value['next']}: it is torn")
        if interrupts:
            self._heard.metadata["interrupts"] = [item.get("value") for item in interrupts]
            asked = interrupts[-1].get("value")
            if isinstance(asked, str):
                self._heard.say(asked, "interrupt")
        values = value.get("values")
        if isinstance(values, dict):
            self._heard.state = table({name: item for name, item in values.items() if name != "messages"})

    def ended(self) -> None:
        """It came as a whole."""


def _messages(update: Json) -> Iterator[dict[str, Json]]:
    """The messages in what nodes wrote, wherever in it they are."""
    for written in update.values() if isinstance(update, dict) else ():
        for part in written if isinstance(written, list) else [written]:
            messages = part.get("messages") if isinstance(part, dict) else None
            yield from objects(messages if isinstance(messages, list) else [messages])


def _words(content: Json) -> str:
    if isinstance(content, str):
        return content
    return "".join(str(block.get("text") or "") for block in objects(content) if block.get("type") == "text")
