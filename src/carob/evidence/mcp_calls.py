"""The traffic of an agent with an MCP server → the calls of tools, with what was sent along and what became of them.

While it works on a call, a server may ask a person (elicitation), and the answer may approve the call. It asks by a
request to its client, or by a result that needs input, after which the call is sent again.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct, field, structs

from carob.model.trace import AskedApproval, ToolCall
from carob.providers.base import table, tool_schemas
from carob.providers.sse import parse_event
from carob.system import memory_estimate
from carob.system.memory_estimate import json_weight
from carob.text.prose.consent import CONSENT, DISSENT
from carob.text.tool_results import call_success, parse_result
from carob.text.words import PUBLISHED

ASK = "elicitation/create"
WHICH_CALL = (
    "an MCP server asked a person something while it worked on several calls, and it is not known about which: let it "
    "ask on the stream of the call, or make one call at a time"
)
NO_YES = (
    "a person accepted what an MCP server asked, and the answer holds a no or a choice, so it is not known whether "
    "the call was approved: let the server ask for approval alone"
)
AT_AN_ADDRESS = (
    "a person agreed to open an address for an MCP server, and what was answered there is not known: let the server "
    "ask for approval in a form"
)
TOO_MANY = "an MCP server asked more questions about one call than are kept: ask once"
MOST_QUESTIONS = 64
LONGEST = 1_000
"""So much of a text is looked at."""
_OPTIONS = ("enum", "oneOf", "anyOf", "items")


class ServerQuestion(Struct, frozen=True):
    """What is known of a question: enough to read its answer."""

    at_an_address: bool = False
    offers_options: bool = False

    @classmethod
    def of(cls, params: object) -> ServerQuestion:
        asked = table(params)
        properties = table(table(asked.get("requestedSchema")).get("properties"))
        return cls(
            asked.get("mode") == "url",
            any(not table(schema).keys().isdisjoint(_OPTIONS) for schema in properties.values()),
        )

    def read_answer(self, answer: object) -> AskedApproval:
        """What a client answered; an answer that is not one leaves the question open."""
        action = table(answer).get("action")
        if action in ("decline", "cancel"):
            return AskedApproval("denied")
        if action != "accept":
            return AskedApproval()
        if self.at_an_address:
            return AskedApproval(doubt=AT_AN_ADDRESS)
        content = table(table(answer).get("content"))
        return AskedApproval("approved") if self._is_yes(content) else AskedApproval(doubt=NO_YES)

    def _is_yes(self, content: Mapping[str, Any]) -> bool:
        """Whether nothing that was filled in speaks against a yes."""
        yes, no = PUBLISHED.pattern(*CONSENT), PUBLISHED.pattern(*DISSENT)
        for value in content.values():
            if value is False or (self.offers_options and isinstance(value, list)):
                return False
            if not isinstance(value, str):
                continue
            words = value[:LONGEST].lower()
            if no.search(words) or (self.offers_options and not yes.search(words)):
                return False
        return True


class CallQuestions:
    """The questions about one call, by their ids, and what became of them, in order."""

    def __init__(self) -> None:
        self.approvals: tuple[AskedApproval, ...] = ()
        self._open: dict[str, tuple[int, ServerQuestion]] = {}
        self._asked: set[str] = set()

    def ask(self, question_id: str, params: object, doubt: str = "") -> None:
        """A question, once: a stream that is taken up again may repeat it."""
        if len(self.approvals) > MOST_QUESTIONS or question_id in self._asked:
            return
        if len(self.approvals) == MOST_QUESTIONS:
            doubt = TOO_MANY
        self._asked.add(question_id)
        if not doubt:
            self._open[question_id] = len(self.approvals), ServerQuestion.of(params)
        self.approvals += (AskedApproval(doubt=doubt),)

    def begin_round(self) -> None:
        """The server asks anew, by ids that it may have used before."""
        self._open.clear()
        self._asked.clear()

    def waits_for(self, question_id: str) -> bool:
        return question_id in self._open

    def answer(self, question_id: str, answer: object, doubt: str = "") -> None:
        place, question = self._open[question_id]
        approval = AskedApproval(doubt=doubt) if doubt else question.read_answer(answer)
        if approval != AskedApproval():
            del self._open[question_id]
            self.approvals = (*self.approvals[:place], approval, *self.approvals[place + 1 :])


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
