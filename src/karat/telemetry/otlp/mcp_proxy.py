"""A recording proxy before an MCP server over streamable HTTP: what crossed it is what was called."""

from __future__ import annotations

import http.client
import time
from collections import deque
from collections.abc import Iterator, Mapping
from typing import cast
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from karat.model.trace import ToolCall
from karat.telemetry.otlp.loopback import BODY_CAP, HttpRequest, LoopbackServer, RefusedRequest, Wire, answered
from karat.telemetry.tool_definitions import schemas_in
from karat.telemetry.tool_results import call_success, structured

HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "host", "expect"})
SILENCE = 300.0
KEPT = 10_000
"""So many calls are kept, the newest."""

CALL, LIST = "tools/call", "tools/list"
RECORDED = frozenset({CALL, LIST})

Message = Mapping[str, object]
"""One of JSON-RPC."""


class CrossedCall(Struct):
    """A `tools/call` that crossed the proxy, and what was sent along with it."""

    call: ToolCall
    traceparent: str = ""
    baggage: str = ""


class McpProxy:
    """Hands everything on, both ways, and writes down the calls of tools."""

    def __init__(self, upstream: str) -> None:
        self._to = urlsplit(upstream)
        self._server = LoopbackServer(self._serve, "the recording MCP proxy")
        self.crossed: deque[CrossedCall] = deque(maxlen=KEPT)
        self.tools: dict[str, object] = {}
        """The tools that the server listed, each with the JSON Schema of its arguments."""

    @property
    def url(self) -> str:
        return f"{self._server.url}{self._to.path}"

    def open(self) -> None:
        self._server.open()

    def close(self) -> None:
        self._server.close()

    def _serve(self, wire: Wire) -> None:
        while True:
            try:
                request = wire.request()
            except RefusedRequest as refused:
                wire.send(answered(refused.status, "text/plain", refused.why.encode()))
                return
            if request is None or not self._handed_on(wire, request):
                return

    def _handed_on(self, wire: Wire, request: HttpRequest) -> bool:
        """Whether the connection can go on after this request."""
        asked = {str(one.get("id")): one for one in _messages(request.body) if one.get("method") in RECORDED}
        kind = http.client.HTTPSConnection if self._to.scheme == "https" else http.client.HTTPConnection
        upstream = kind(self._to.netloc, timeout=SILENCE)
        started = time.time()
        try:
            sent = {name: value for name, value in request.headers.items() if name not in HOP_BY_HOP}
            upstream.request(request.method, request.path, request.body or None, sent)
            response = upstream.getresponse()
            head = "".join(f"{n}: {v}\r\n" for n, v in response.getheaders() if n.lower() not in HOP_BY_HOP)
            begin = f"HTTP/1.1 {response.status} {response.reason}\r\n{head}"
            if "text/event-stream" not in (response.getheader("Content-Type") or ""):
                body = response.read(BODY_CAP)
                self._note(asked, _messages(body), request, started)
                wire.send(f"{begin}Content-Length: {len(body)}\r\n\r\n".encode() + body)
                return True
            wire.send(f"{begin}Connection: close\r\n\r\n".encode())
            for line in iter(response.readline, b""):
                if line.startswith(b"data:"):
                    self._note(asked, _messages(line[5:]), request, started)
                wire.send(line)
            return False
        except (OSError, http.client.HTTPException) as error:
            wire.send(answered("502 Bad Gateway", "text/plain", f"the MCP server broke: {error}".encode()))
            return False
        finally:
            upstream.close()
            for left in (one for one in asked.values() if one.get("method") == CALL):
                self._keep(left, request, ToolCall(_name(left), _arguments(left), started_at=started))

    def _note(self, asked: dict[str, Message], answers: Iterator[Message], request: HttpRequest, began: float) -> None:
        for answer in answers:
            if "method" in answer or (call := asked.pop(str(answer.get("id")), None)) is None:
                continue
            if call.get("method") == LIST:
                self.tools |= schemas_in(answer.get("result"))
            else:
                self._keep(call, request, _ended(call, answer, began))

    def _keep(self, asked: Message, request: HttpRequest, call: ToolCall) -> None:
        params = asked.get("params")
        meta = params.get("_meta") if isinstance(params, Mapping) else None
        context = {**request.headers, **(meta if isinstance(meta, Mapping) else {})}
        self.crossed.append(CrossedCall(call, str(context.get("traceparent", "")), str(context.get("baggage", ""))))


def _messages(body: bytes) -> Iterator[Message]:
    try:
        found = msgspec.json.decode(body) if body.strip() else None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return
    for one in found if isinstance(found, list) else [found]:
        if isinstance(one, dict):
            yield one


def _name(asked: Message) -> str:
    params = asked.get("params")
    return str(params.get("name", "")) if isinstance(params, Mapping) else ""


def _arguments(asked: Message) -> object:
    params = asked.get("params")
    return params.get("arguments", {}) if isinstance(params, Mapping) else {}


def _ended(asked: Message, answer: Message, began: float) -> ToolCall:
    fault, given = answer.get("error"), answer.get("result")
    table = cast("Mapping[str, object]", given) if isinstance(given, Mapping) else {}
    result = table.get("structuredContent", structured(table.get("content")))
    return ToolCall(
        _name(asked),
        _arguments(asked),
        result=result,
        error=str(fault.get("message", "error")) if isinstance(fault, Mapping) else None,
        success=call_success(table, raised=fault is not None),
        started_at=began,
        ended_at=time.time(),
    )
