"""A recording proxy before an MCP server over streamable HTTP: what crossed it is what was called."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator, Mapping
from typing import cast

import msgspec
from msgspec import structs

from karat.evidence import memory_estimate as weight
from karat.evidence.memory_estimate import json_weight
from karat.evidence.otlp import loopback
from karat.evidence.otlp.loopback import HttpRequest, LoopbackServer, Wire
from karat.model.trace import ToolCall
from karat.providers.base import tool_schemas
from karat.proxy.crossed import CrossedCall, CrossedCalls
from karat.proxy.upstream import Upstream, UpstreamReply, bad_gateway
from karat.system.loopback_auth import RefusedRequest
from karat.text.tool_results import call_success, parse_result

CALL, LIST = "tools/call", "tools/list"
MOST_TOOLS = 2_000
LINE = 48
"""Bytes that a line takes besides what is in it."""

Message = Mapping[str, object]
"""One of JSON-RPC."""


OWN_PATH = "/karat-"
"""An address that begins so is that of one conversation."""


class McpProxy:
    """Hands everything on, both ways, and writes down the calls of tools."""

    def __init__(self, upstream: str) -> None:
        self._upstream = Upstream(upstream, "the MCP server")
        self._server = LoopbackServer(self._serve, "the recording MCP proxy")
        self._reading = threading.Lock()
        """Bodies are read one at a time: what reading takes for a moment is bounded so."""
        self.crossed = CrossedCalls()
        self.tools: dict[str, object] = {}
        """The tools that the server listed, each with the JSON Schema of its arguments."""

    @property
    def url(self) -> str:
        return f"{self._server.url}{self._upstream.path}"

    def url_of(self, conversation: str) -> str:
        """The address for the calls of one conversation."""
        return f"{self._server.url}{OWN_PATH}{conversation}{self._upstream.path}"

    def open(self) -> None:
        self._server.open()

    def close(self) -> None:
        self._server.close()

    def _serve(self, wire: Wire, request: HttpRequest) -> bool:
        """Hand a request on. Whether the connection can go on after it."""
        conversation, path = _split_path(request.path)
        with self._reading:
            asked, lists = self._record_calls(request, conversation)
        with self._upstream.open_reply(request, path) as reply:
            moved = {} if reply.location is None else {"Location": self._proxy_address(reply.location, conversation)}
            if not reply.is_stream:
                body = reply.body(wire)
                self._note(asked, lists, body)
                wire.send(reply.head(**moved, **{"Content-Length": str(len(body))}) + b"\r\n" + body)
                return request.keeps_alive
            wire.send(reply.head(Connection="close", **moved) + b"\r\n")
            try:
                for line in self._events(reply, wire, asked, lists, conversation):
                    wire.send(line)
            except RefusedRequest as refused:  # the status was sent before: only an event can say it now
                wire.send(b"".join([b"\n", *(_error_event(one.asked_as, refused.why) for one in asked.values())]))
            return False

    def _events(
        self, reply: UpstreamReply, wire: Wire, asked: dict[str, CrossedCall], lists: Collection[str], conversation: str
    ) -> Iterator[bytes]:
        """The lines of a stream. Those of an event are read together; the address that one names becomes ours."""
        data: list[bytes] = []
        kind = b""
        size = 0
        for line in reply.lines(wire):
            field, _, value = line.rstrip(b"\r\n").partition(b":")
            if field == b"event":
                kind = value.strip()
            elif field == b"data" and kind == b"endpoint":
                line = b"data: %s\n" % self._proxy_address(value.decode("latin-1").strip(), conversation).encode(
                    "latin-1"
                )
            elif field == b"data":
                size += len(value) + LINE
                if size <= loopback.BODY_CAP:
                    data.append(value)
                else:
                    data.clear()
            elif not field:
                self._note(asked, lists, b"\n".join(data))
                data, kind, size = [], b"", 0
            yield line
        self._note(asked, lists, b"\n".join(data))

    def _proxy_address(self, address: str, conversation: str) -> str:
        """An address of the server as one of the proxy: an agent that followed it as it is would pass the proxy by."""
        path = self._upstream.path_of(address)
        if path is None:
            raise bad_gateway(
                f"{self._upstream.name} redirected the agent to another server, where no call would be recorded"
            )
        return f"{self._server.url}{OWN_PATH + conversation if conversation else ''}{path}"

    def _note(self, asked: dict[str, CrossedCall], lists: Collection[str], body: bytes) -> None:
        """End the calls that are answered, and keep the tools that the server lists."""
        with self._reading:
            for answer in _messages(body) or ():
                name = str(answer.get("id"))
                if "method" in answer or answer.keys().isdisjoint(("result", "error")):
                    continue
                if name in lists:
                    self._keep_tools(tool_schemas(answer.get("result")))
                elif (crossed := asked.pop(name, None)) is not None:
                    self.crossed.end(crossed, _end_call(crossed.call, answer), json_weight(body))

    def _keep_tools(self, listed: dict[str, object]) -> None:
        if len(self.tools) + len(listed) <= MOST_TOOLS:
            self.tools |= listed

    def _record_calls(self, request: HttpRequest, conversation: str) -> tuple[dict[str, CrossedCall], set[str]]:
        """Keep the calls of a request, by their ids; they are calls from now on, whatever becomes of them.

        Also gives the ids of what asks for the list of tools.
        """
        asked: dict[str, CrossedCall] = {}
        messages = _messages(request.body)
        for one in [{}] if messages is None else messages:
            if messages is not None and one.get("method") != CALL:
                continue
            params = one.get("params")
            meta = params.get("_meta") if isinstance(params, Mapping) else None
            context = {**request.headers, **(meta if isinstance(meta, Mapping) else {})}
            made = ToolCall(_name(one), _arguments(one), started_at=time.time())
            traceparent, baggage = (str(context.get(name, "")) for name in ("traceparent", "baggage"))
            share = 1_000 + (json_weight(request.body) // len(messages) if messages else 0)
            call = CrossedCall(made, traceparent, baggage, conversation, one.get("id"), share)
            asked[str(one.get("id"))] = call
            self.crossed.add(call)
        return asked, {str(one.get("id")) for one in messages or () if one.get("method") == LIST}


def _error_event(asked: object, why: str) -> bytes:
    """An event that says to an agent that its call has no result."""
    answer = {"jsonrpc": "2.0", "id": asked, "error": {"code": -32000, "message": why}}
    return b"event: message\ndata: %s\n\n" % msgspec.json.encode(answer)


def _split_path(path: str) -> tuple[str, str]:
    """The conversation whose address it is, or the empty string, and the path at the server."""
    if not path.startswith(OWN_PATH):
        return "", path
    conversation, _, rest = path.removeprefix(OWN_PATH).partition("/")
    return conversation, f"/{rest}"


def _messages(body: bytes) -> list[Message] | None:
    """The messages of a body; None if it cannot be read."""
    if json_weight(body) > weight.HEAVIEST:
        return None
    try:
        found = msgspec.json.decode(body) if body.strip() else []
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return [one for one in (found if isinstance(found, list) else [found]) if isinstance(one, dict)]


def _name(asked: Message) -> str:
    params = asked.get("params")
    return str(params.get("name", "")) if isinstance(params, Mapping) else ""


def _arguments(asked: Message) -> object:
    params = asked.get("params")
    return params.get("arguments", {}) if isinstance(params, Mapping) else {}


def _end_call(call: ToolCall, answer: Message) -> ToolCall:
    fault, given = answer.get("error"), answer.get("result")
    table = cast("Mapping[str, object]", given) if isinstance(given, Mapping) else {}
    result = table.get("structuredContent", parse_result(table.get("content")))
    return structs.replace(
        call,
        result=result,
        error=str(fault.get("message", "error")) if isinstance(fault, Mapping) else None,
        success=call_success(table, raised=fault is not None),
        ended_at=time.time(),
    )
