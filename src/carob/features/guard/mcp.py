"""A guard in front of an MCP server: calls of tools are decided about, all else passes. It sees no user.

What the server gets is what was read and judged, written anew: a message that two programs could read differently
never reaches it.
"""

from __future__ import annotations

import json
import shutil
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import jiter
import msgspec

from carob.errors import ConfigError, UsageError
from carob.evidence.mcp_calls import CALL
from carob.features.guard.conversation import GuardedConversation
from carob.features.guard.decision import Decision
from carob.features.guard.guard import Guard
from carob.features.guard.serve import GuardServer
from carob.providers.base import read_events
from carob.proxy.forwarding import ForwardedRequest, ServiceReply
from carob.proxy.stdio import Relay
from carob.proxy.upstream import Upstream
from carob.system.loopback import Connection, HttpRequest, unpack
from carob.system.loopback_auth import RefusedRequest
from carob.text.wording import quoted, shorten

NOT_JSON: Final = "the message is not JSON"
NOT_ONE: Final = "the guard reads one JSON object at a time, in which no key comes twice; it was not passed on"
PARSE_ERROR: Final = -32700
NOT_A_REQUEST: Final = -32600
BEGIN: Final = "initialize"
SESSION: Final = "mcp-session-id"
NOT_HANDED_OUT: Final = "the server did not hand out this session through the guard: initialize again"
MOST_DESKS: Final = 10_000
"""Of an older session it is no longer known which calls were let through and have no result."""


class MessageGuard:
    """Decides about the messages of one client."""

    def __init__(self, conversation: GuardedConversation) -> None:
        self._conversation = conversation
        self._waiting: dict[str, Decision] = {}
        self._lock = threading.Lock()

    def judge(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        """The refusal of a call, as its answer; None: the server may be asked."""
        if message.get("method") != CALL:
            return None
        raw = message.get("params")
        params: Mapping[str, Any] = raw if isinstance(raw, dict) else {}
        tool, arguments, message_id = params.get("name"), params.get("arguments") or {}, message.get("id")
        if not isinstance(tool, str) or not isinstance(arguments, dict) or message_id is None:
            return _error(message_id, "a call of a tool needs an id, a name and arguments")
        decision = self._conversation.ask(tool, arguments, call=str(message_id))
        if not decision:
            content = [{"type": "text", "text": decision.message}]
            return {"jsonrpc": "2.0", "id": message_id, "result": {"content": content, "isError": True}}
        with self._lock:
            self._waiting[str(message_id)] = decision
        return None

    def report(self, message_id: object, answer: Mapping[str, Any] | None) -> None:
        """What came of a call that was let through."""
        with self._lock:
            decision = self._waiting.pop(str(message_id), None)
        if decision is None or answer is None:
            return
        result = answer.get("result")
        if not isinstance(result, dict):
            self._conversation.report_error(decision, answer.get("error", "the server gave no result"))
            return
        value = result.get("structuredContent", result.get("content"))
        self._conversation.report(decision, value, success=False if result.get("isError") else None)


class _StdioDesk:
    """The guard as what sees each line between a client and its server."""

    def __init__(self, guard: MessageGuard) -> None:
        self._guard = guard
        self.write: Callable[[bytes], None]
        """Writes a message to the client."""

    def read(self, line: bytes) -> bytes:
        message = read_message(line)
        if message is None:
            for error in find_errors(line) if line.strip() else ():
                self.write(msgspec.json.encode(error))
            return b""
        return msgspec.json.encode(message) + b"\n"

    def ask(self, line: bytes) -> bytes | None:
        refusal = self._guard.judge(read_message(line) or {"method": CALL})
        return None if refusal is None else msgspec.json.encode(refusal)

    def record(self, line: bytes, answer: bytes) -> bytes:
        message = read_message(line) or {}
        self._guard.report(message.get("id"), read_message(answer))
        return answer


def guard_stdio(guard: Guard, command: Sequence[str]) -> int:
    """Stand between a client on stdin and stdout and the server that the command starts; the exit status."""
    if not command:
        raise UsageError("the server's command is missing.", fix="Write it after --.", slug="bad-option")
    if shutil.which(command[0]) is None:
        message = f"there is no program {quoted(command[0])}."
        raise UsageError(message, fix="Check the command after --.", slug="bad-option")
    with guard.conversation() as conversation:
        desk = _StdioDesk(MessageGuard(conversation))
        relay = Relay(desk, command, sys.stdout.buffer)
        desk.write = relay.write
        return relay.run(sys.stdin.buffer)


class HttpGuard(GuardServer):
    """Guards an MCP server at an address; the agent asks it on the loopback address."""

    def __init__(self, guard: Guard, address: str) -> None:
        super().__init__(guard)
        self._upstream = Upstream(address, "the MCP server", whole_host=True)
        self.path = self._upstream.path
        self._desks: dict[str, MessageGuard] = {}
        self._has_sessions = False
        self._lock = threading.Lock()

    def _serve(self, connection: Connection, request: HttpRequest) -> bool:
        path = self._upstream.base + request.path or "/"
        forwarded = ForwardedRequest(connection, request, self._upstream, path, self._server.url)
        if request.method != "POST":
            _refuse_unjudged(request)
            return forwarded.hand_on()
        body = unpack(request)
        message = read_message(body)
        if message is None:
            errors = find_errors(body)
            answer = errors if len(errors) > 1 else errors[0]
            return forwarded.send(ServiceReply.of_json(HTTPStatus.BAD_REQUEST, answer))
        request.headers.pop("content-encoding", None)
        request.body = forwarded.body = msgspec.json.encode(message)
        if message.get("method") == BEGIN:
            return self._begin(forwarded)
        desk = self._find_desk(request.headers.get(SESSION, ""))
        if message.get("method") != CALL:
            return forwarded.hand_on()
        refusal = desk.judge(message)
        if refusal is not None:
            return forwarded.send(ServiceReply.of_json(HTTPStatus.OK, refusal))
        try:
            reply = forwarded.read_reply()
        except RefusedRequest as refused:
            desk.report(message["id"], {"error": refused.why})
            raise
        desk.report(message["id"], _find_answer(reply, message["id"]))
        return forwarded.send(reply)

    def _begin(self, forwarded: ForwardedRequest) -> bool:
        """The server hands out a session, if it has sessions: only these are conversations."""
        reply = forwarded.read_reply()
        if session := reply.headers.get(SESSION, ""):
            self._has_sessions = True
            self._open(session)
        return forwarded.send(reply)

    def _find_desk(self, session: str) -> MessageGuard:
        """The one of a session. Where the server has none, that of the one client there is."""
        try:
            is_known = self._guard.knows(_name(session)) if session else not self._has_sessions
        except ConfigError as error:
            raise RefusedRequest(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error
        if not is_known:
            raise RefusedRequest(HTTPStatus.NOT_FOUND, NOT_HANDED_OUT)
        conversation = self._open(session)
        with self._lock:
            desk = self._desks.pop(session, None)
            if desk is None or desk._conversation is not conversation:
                desk = MessageGuard(conversation)
            self._desks[session] = desk
            if len(self._desks) > MOST_DESKS:
                del self._desks[next(iter(self._desks))]
            return desk

    def _open(self, session: str) -> GuardedConversation:
        try:
            return self._guard.open(_name(session), is_new=True)
        except ConfigError as error:
            raise RefusedRequest(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error


def _name(session: str) -> str:
    return f"mcp {session}"


def _refuse_unjudged(request: HttpRequest) -> None:
    """Streams are read and sessions ended without a body: what else comes would reach the server unjudged."""
    if request.method not in ("GET", "DELETE") or request.body:
        why = f"{shorten(request.method, 20)} is not guarded: send messages with POST"
        raise RefusedRequest(HTTPStatus.METHOD_NOT_ALLOWED, why)


def read_message(data: bytes) -> dict[str, Any] | None:
    """A message of JSON-RPC; None for what is none, for several at once, and where a key comes twice."""
    try:
        message = jiter.from_json(data, allow_inf_nan=False, catch_duplicate_keys=True)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def _find_answer(reply: ServiceReply, message_id: object) -> Mapping[str, Any] | None:
    """The answer to a message in what the server sent, which may be a stream."""
    whole = read_message(reply.body) if not reply.events else None
    answers = [whole] if whole is not None else read_events([event.data for event in reply.events])
    failed = {"error": f"the server answered with status {reply.status}"} if reply.status >= 400 else None
    return next((answer for answer in answers if answer.get("id") == message_id), failed)


def find_errors(data: bytes) -> list[dict[str, Any]]:
    """The answers to what cannot be read as one message: one for each request whose id is known."""
    try:
        pairs = json.loads(data, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return [_error(None, NOT_JSON, PARSE_ERROR)]
    messages = pairs if isinstance(pairs, list) and not isinstance(pairs, _Pairs) else [pairs]
    ids = [_find_id(message) for message in messages if isinstance(message, _Pairs)]
    return [_error(message_id, NOT_ONE) for message_id in dict.fromkeys(ids) if message_id is not None] or [
        _error(None, NOT_ONE)
    ]


class _Pairs(list[tuple[str, Any]]):
    """The members of an object, also those whose key comes twice."""


def _find_id(message: _Pairs) -> str | int | None:
    """The id of a request; None for what has none, or several."""
    ids = [value for key, value in message if key == "id"]
    is_request = any(key == "method" for key, _ in message)
    return ids[0] if is_request and len(ids) == 1 and isinstance(ids[0], str | int) else None


def _error(message_id: object, why: str, code: int = NOT_A_REQUEST) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message_id, "error": {"code": code, "message": why}}
