"""The traffic of an agent with an MCP server → the calls of tools, with what was sent along and what became of them."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct, field, structs

from carob.evidence.mcp_questions import ASK, WHICH_CALL, CallQuestions
from carob.model.trace import ToolCall
from carob.providers.base import table, tool_schemas
from carob.providers.sse import parse_event
from carob.system import memory_estimate
from carob.system.memory_estimate import json_weight
from carob.text.tool_results import call_success, parse_result

CALL, LIST = "tools/call", "tools/list"
SESSION = "mcp-session-id"
INPUT_REQUIRED = "input_required"
"""The type of a result that says what the server asks, before the call is sent again with the answers."""
MAX_CALLS = 10_000
"""So many calls are kept, the newest."""
MEMORY_CAP = 128 << 20
"""And so many bytes of memory, at most."""
MAX_TOOLS = 2_000
CALL_SIZE = 1_000
"""Bytes that a call takes besides its arguments and result."""

Message = Mapping[str, Any]
"""One of JSON-RPC."""


class ProxiedCall(Struct, eq=False):
    """A `tools/call` that crossed the proxy, and what was sent along with it. Without a name, it could not be read."""

    call: ToolCall
    traceparent: str = ""
    baggage: str = ""
    conversation: str = ""
    """Whose address it was sent to."""
    message_id: object = None
    size: int = 0
    session: str = ""
    """That of MCP, within which a client answers what the server asks."""
    questions: CallQuestions = field(default_factory=CallQuestions)
    state: object = None
    """What the server wants back with the answers where the call waits for them."""

    @property
    def started_at(self) -> float:
        return self.call.started_at or 0.0

    @property
    def is_open(self) -> bool:
        """Whether no end of it was seen."""
        return self.call.ended_at is None

    def ask(self, question_id: object, params: object, doubt: str = "") -> None:
        """The server asks a person about it."""
        self.questions.ask(str(question_id), params, doubt)
        self._note_answers()

    def answer(self, question_id: object, answer: object, doubt: str = "") -> None:
        """A person answers."""
        self.questions.answer(str(question_id), answer, doubt)
        self._note_answers()

    def _note_answers(self) -> None:
        self.call = structs.replace(self.call, approvals=self.questions.approvals)

    def is_sent_again(self, sent: ProxiedCall, params: Message) -> bool:
        """Whether it waits for answers and this is it, with them."""
        return (
            self.call.unfinished
            and self.state == params.get("requestState")
            and (self.conversation, self.session) == (sent.conversation, sent.session)
            and self.traceparent[3:35] == sent.traceparent[3:35]
            and (self.call.name, self.call.arguments) == (sent.call.name, sent.call.arguments)
        )


class McpTraffic:
    """Filled by the threads of a proxy, read by those who run cases. Calls that are dropped are known to be missing."""

    def __init__(self) -> None:
        self.tools: dict[str, object] = {}
        """The tools that the server listed, each with the JSON Schema of its arguments."""
        self.lost_at = 0.0
        """When the newest call started that is no longer kept."""
        self._calls: deque[ProxiedCall] = deque()
        self._size = 0
        self._lock = threading.Lock()
        """Bodies are read one at a time too: what reading takes for a moment is bounded so."""

    def __iter__(self) -> Iterator[ProxiedCall]:
        with self._lock:
            return iter(list(self._calls))

    def ask(self, headers: Mapping[str, str], body: bytes, conversation: str) -> McpExchange:
        """Keep the calls of a request: they are calls from now on, whatever becomes of them."""
        exchange = McpExchange(self, conversation, headers.get(SESSION, ""), opens_stream=not body.strip())
        with self._lock:
            messages = _read_messages(body)
            for message in [{"method": CALL}] if messages is None else messages:
                message_id, params = str(message.get("id")), table(message.get("params"))
                if message.get("method") == LIST:
                    exchange.lists.add(message_id)
                if "method" not in message and "result" in message:
                    self._answer(exchange, message)
                if message.get("method") != CALL:
                    continue
                context = {**headers, **table(params.get("_meta"))}
                sent = ProxiedCall(
                    ToolCall(str(params.get("name", "")), params.get("arguments", {}), started_at=time.time()),
                    str(context.get("traceparent", "")),
                    str(context.get("baggage", "")),
                    conversation,
                    message.get("id"),
                    CALL_SIZE + (json_weight(body) // len(messages) if messages else 0),
                    exchange.session,
                )
                exchange.calls[message_id] = self._send_again(sent, params) or self._add(sent)
        return exchange

    def read(self, exchange: McpExchange, body: bytes) -> None:
        """End the calls that are answered, and keep the tools that the server lists, and what it asks."""
        with self._lock:
            for answer in _read_messages(body) or ():
                message_id = str(answer.get("id"))
                if answer.get("method") == ASK:
                    self._ask(exchange, answer)
                if "method" in answer or answer.keys().isdisjoint(("result", "error")):
                    continue
                if message_id in exchange.lists:
                    self._keep_tools(tool_schemas(answer.get("result")))
                elif (proxied := exchange.calls.pop(message_id, None)) is not None:
                    if table(answer.get("result")).get("resultType") == INPUT_REQUIRED:
                        _wait_for_input(proxied, table(answer["result"]))
                        continue
                    proxied.call = _end_call(proxied.call, answer)
                    if proxied in self._calls:
                        proxied.size += json_weight(body)
                        self._make_room(json_weight(body))

    def _add(self, sent: ProxiedCall) -> ProxiedCall:
        self._calls.append(sent)
        self._make_room(sent.size)
        return sent

    def _send_again(self, sent: ProxiedCall, params: Message) -> ProxiedCall | None:
        """The call that waits for the answers which are sent with this one, if there is one."""
        if params.keys().isdisjoint(("inputResponses", "requestState")):
            return None
        waiting = [proxied for proxied in self._calls if proxied.is_sent_again(sent, params)]
        doubt = WHICH_CALL if len(waiting) > 1 else ""
        for question_id, answer in table(params.get("inputResponses")).items():
            for proxied in waiting:
                if proxied.questions.waits_for(question_id):
                    proxied.answer(question_id, answer, doubt)
        if not waiting:
            return None
        waiting[0].call = structs.replace(waiting[0].call, unfinished=False)
        waiting[0].message_id = sent.message_id
        return waiting[0]

    def _ask(self, exchange: McpExchange, message: Message) -> None:
        """Note what a server asks: about the call on whose stream it asks, or about the only one of the session."""
        calls = list(exchange.calls.values())
        if exchange.opens_stream:
            calls = [proxied for proxied in self._calls if proxied.is_open and exchange.shares_session(proxied)]
        doubt = "" if len(calls) == 1 and (exchange.session or not exchange.opens_stream) else WHICH_CALL
        for proxied in calls:
            proxied.ask(message.get("id"), message.get("params"), doubt)

    def _answer(self, exchange: McpExchange, message: Message) -> None:
        question_id = str(message.get("id"))
        calls = [
            proxied
            for proxied in self._calls
            if proxied.is_open and exchange.shares_session(proxied) and proxied.questions.waits_for(question_id)
        ]
        for proxied in calls:
            proxied.answer(question_id, message["result"], WHICH_CALL if len(calls) > 1 else "")

    def _keep_tools(self, schemas: dict[str, object]) -> None:
        if len(self.tools) + len(schemas) <= MAX_TOOLS:
            self.tools |= schemas

    def _make_room(self, added: int) -> None:
        self._size += added
        while self._calls and (self._size > MEMORY_CAP or len(self._calls) > MAX_CALLS):
            dropped = self._calls.popleft()
            self._size -= dropped.size
            self.lost_at = max(self.lost_at, dropped.started_at)


class McpExchange(Struct, eq=False):
    """One request to the server: its calls that wait for an answer, and the ids of what asks for the list of tools."""

    traffic: McpTraffic
    conversation: str
    session: str
    opens_stream: bool
    """Whether it only opens a stream for what the server says of its own accord."""
    calls: dict[str, ProxiedCall] = field(default_factory=dict)
    lists: set[str] = field(default_factory=set)

    def shares_session(self, call: ProxiedCall) -> bool:
        return (self.conversation, self.session) == (call.conversation, call.session)

    def read(self, body: bytes) -> None:
        self.traffic.read(self, body)

    def read_event(self, event: bytes) -> None:
        parsed = parse_event(event.decode("utf-8", "replace"))
        self.read(parsed.data.encode() if parsed is not None else b"")

    def error_events(self, why: str) -> bytes:
        """Events that say to an agent that its calls have no result."""
        errors = [
            {"jsonrpc": "2.0", "id": call.message_id, "error": {"code": -32000, "message": why}}
            for call in self.calls.values()
        ]
        return b"".join(b"event: message\ndata: %s\n\n" % msgspec.json.encode(error) for error in errors)


def _read_messages(body: bytes) -> list[Message] | None:
    """The messages of a body; None if it cannot be read."""
    if json_weight(body) > memory_estimate.HEAVIEST:
        return None
    try:
        value = msgspec.json.decode(body) if body.strip() else []
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return [message for message in (value if isinstance(value, list) else [value]) if isinstance(message, dict)]


def _wait_for_input(proxied: ProxiedCall, result: Message) -> None:
    """The call has no result yet: it is sent again with what the server asks for."""
    proxied.state = result.get("requestState")
    proxied.call = structs.replace(proxied.call, unfinished=True)
    proxied.questions.begin_round()
    for question_id, request in table(result.get("inputRequests")).items():
        if table(request).get("method") == ASK:
            proxied.ask(question_id, table(request).get("params"))


def _end_call(call: ToolCall, answer: Message) -> ToolCall:
    error, result = answer.get("error"), table(answer.get("result"))
    return structs.replace(
        call,
        result=result.get("structuredContent", parse_result(result.get("content"))),
        error=str(error.get("message", "error")) if isinstance(error, Mapping) else None,
        success=call_success(result, raised=error is not None),
        ended_at=time.time(),
    )
