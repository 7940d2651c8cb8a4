"""`chatkit:URL`: a server of OpenAI's ChatKit. It shows what it says, and those calls that the client is to answer."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from carob.providers.sse import ServerEvent
from carob.suites.diagnostics import Json
from carob.targets.base import TargetError
from carob.targets.http.conversation import AnswerReader, HttpConversation, TurnBuffer
from carob.targets.http.options import ServiceOptions
from carob.targets.http.service import WireRequest
from carob.targets.http.streams import DONE, EventKinds, as_table, event_object, protocol_error
from carob.targets.http.target import ServiceTarget
from carob.text.wording import shorten, visible

THREAD = "thread"
"""Where a conversation remembers its thread."""
KINDS = ("thread.", "stream_options", "progress_update", "client_effect", "notice", "error")
UNSEEN = (
    'ChatKit shows no calls of the server: set evidence = ["models"] with `start`, or test the agent in its process'
)
UPDATE = "assistant_message.content_part."


class ChatKitOptions(ServiceOptions, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options of `chatkit:`."""

    metadata: dict[str, object] = field(default_factory=dict)
    """Sent with every request, for the server's own use."""
    inference_options: dict[str, object] = field(default_factory=dict)


class ChatKitTarget(ServiceTarget[ChatKitOptions]):
    """A server with a thread for each conversation."""

    form: ClassVar[type[ServiceOptions]] = ChatKitOptions

    def build_request(self, talk: HttpConversation, prompt: str) -> WireRequest:
        params: dict[str, object] = {
            "input": {
                "content": [{"type": "input_text", "text": prompt}],
                "attachments": [],
                "inference_options": self._options.inference_options,
            }
        }
        thread = talk.notes.get(THREAD)
        kind = "threads.create" if thread is None else "threads.add_user_message"
        params |= {} if thread is None else {"thread_id": thread}
        body: dict[str, object] = {"type": kind, "params": params, "metadata": self._options.metadata}
        headers = {"accept": "text/event-stream", **self.headers(talk, prompt)}
        return WireRequest(self.address(talk), body, headers=headers, stream="sse", protocol=True)

    def reader(self, talk: HttpConversation, buffer: TurnBuffer) -> AnswerReader:
        return ChatKitReader(talk, buffer)


class ChatKitReader:
    """The items of a thread as they come; the text of the last message is the answer."""

    def __init__(self, talk: HttpConversation, buffer: TurnBuffer) -> None:
        self._talk = talk
        self._buffer = buffer
        self._texts: dict[str, dict[int, str]] = {}
        """The parts of each message, by the id of its item."""
        self._open: set[str] = set()
        self._kinds = EventKinds("of ChatKit")
        self._error = ""
        buffer.no_tools = UNSEEN

    def read_whole(self, value: Json) -> None:
        raise protocol_error("the answer is not a stream of ChatKit")

    def take(self, event: ServerEvent) -> bool:
        if event.data.strip() == DONE:
            return True
        payload = event_object(event, "event of ChatKit")
        kind = str(payload["type"])
        self._kinds.note(kind, fits=kind.startswith(KINDS))
        if kind == "error":
            self._error = str(payload.get("message") or payload.get("code") or "error")
        elif kind == "thread.created":
            self._talk.notes[THREAD] = as_table(payload.get("thread")).get("id")
        elif kind == "thread.item.updated":
            self._update(str(payload.get("item_id")), as_table(payload.get("update")))
        elif kind == "thread.item.removed":
            self._texts.pop(str(payload.get("item_id")), None)
            self._open.discard(str(payload.get("item_id")))
        elif kind in ("thread.item.added", "thread.item.done", "thread.item.replaced"):
            self._item(as_table(payload.get("item")), is_done=kind != "thread.item.added")
        return False

    def end(self) -> None:
        for id, parts in self._texts.items():
            self._buffer.say("".join(parts[index] for index in sorted(parts)), id)
        if self._error:
            raise TargetError("agent", f"the stream has an error: {visible(shorten(self._error, 300))}")
        if self._kinds.protocol_error is not None:
            raise self._kinds.protocol_error
        if self._open:
            raise TargetError("bad-answer", "the stream ended within a message: it was cut off")
        self._buffer.check("the turn")

    def _item(self, item: dict[str, Json], *, is_done: bool) -> None:
        id, kind = str(item.get("id")), item.get("type")
        if kind == "client_tool_call":
            self._call(item)
        elif kind == "widget" and isinstance(item.get("copy_text"), str):
            self._texts[id] = {0: str(item["copy_text"])}
        elif kind == "assistant_message":
            content = item.get("content")
            parts = [str(as_table(part).get("text", "")) for part in content] if isinstance(content, list) else []
            self._texts[id] = dict(enumerate(parts)) if is_done else self._texts.get(id, {}) | dict(enumerate(parts))
            (self._open.discard if is_done else self._open.add)(id)

    def _update(self, id: str, update: dict[str, Json]) -> None:
        kind, index = str(update.get("type")), update.get("content_index")
        if not kind.startswith(UPDATE) or not isinstance(index, int):
            return
        parts = self._texts.setdefault(id, {})
        if kind == f"{UPDATE}text_delta":
            self._buffer.first_word()
            parts[index] = parts.get(index, "") + str(update.get("delta", ""))
        elif kind in (f"{UPDATE}added", f"{UPDATE}done"):
            parts[index] = str(as_table(update.get("content")).get("text", ""))

    def _call(self, item: dict[str, Json]) -> None:
        """A call that the client is to answer: it was asked for, and no client ran it."""
        log = self._buffer.call_log
        call = log.begin(str(item.get("name")), str(item.get("call_id")), item.get("arguments"), ran=False)
        if item.get("status") == "completed":
            log.end(call, item.get("output"))
