"""A recording proxy before an MCP server over streamable HTTP: what crossed it is what was called."""

from __future__ import annotations

import http.client
import time
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from typing import cast
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, structs

from karat.model.trace import ToolCall
from karat.telemetry.otlp.loopback import (
    BODY_CAP,
    HttpRequest,
    LoopbackServer,
    RefusedRequest,
    Wire,
    answered,
)
from karat.telemetry.tool_definitions import schemas_in
from karat.telemetry.tool_results import call_success, structured

HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "host", "expect"})
SILENCE = 300.0
KEPT = 10_000
"""So many calls are kept, the newest."""

CALL, LIST = "tools/call", "tools/list"

Message = Mapping[str, object]
"""One of JSON-RPC."""


OWN_PATH = "/karat-"
"""An address that begins so is that of one conversation."""


class CrossedCall(Struct):
    """A `tools/call` that crossed the proxy, and what was sent along with it. Without a name, it could not be read."""

    call: ToolCall
    traceparent: str = ""
    baggage: str = ""
    conversation: str = ""
    """Whose address it was sent to."""


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

    def url_of(self, conversation: str) -> str:
        """The address for the calls of one conversation."""
        return f"{self._server.url}{OWN_PATH}{conversation}{self._to.path}"

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
        conversation, path = _addressed(request.path)
        asked = self._asked(request, conversation)
        lists = {str(one.get("id")) for one in _messages(request.body) or () if one.get("method") == LIST}
        kind = http.client.HTTPSConnection if self._to.scheme == "https" else http.client.HTTPConnection
        upstream = kind(self._to.netloc, timeout=SILENCE)
        try:
            sent = {name: value for name, value in request.headers.items() if name not in HOP_BY_HOP}
            upstream.request(request.method, path, request.body or None, sent)
            response = upstream.getresponse()
            head = "".join(f"{n}: {v}\r\n" for n, v in response.getheaders() if n.lower() not in HOP_BY_HOP)
            begin = f"HTTP/1.1 {response.status} {response.reason}\r\n{head}"
            if "text/event-stream" not in (response.getheader("Content-Type") or ""):
                body = response.read(BODY_CAP)
                self._note(asked, lists, _messages(body) or ())
                wire.send(f"{begin}Content-Length: {len(body)}\r\n\r\n".encode() + body)
                return True
            wire.send(f"{begin}Connection: close\r\n\r\n".encode())
            for line in iter(response.readline, b""):
                if line.startswith(b"data:"):
                    self._note(asked, lists, _messages(line[5:]) or ())
                wire.send(line)
            return False
        except (OSError, http.client.HTTPException) as error:
            wire.send(answered("502 Bad Gateway", "text/plain", f"the MCP server broke: {error}".encode()))
            return False
        finally:
            upstream.close()

    def _note(self, asked: dict[str, CrossedCall], lists: Collection[str], answers: Iterable[Message]) -> None:
        """End the calls that are answered, and keep the tools that the server lists."""
        for answer in answers:
            name = str(answer.get("id"))
            if "method" in answer:
                continue
            if name in lists:
                self.tools |= schemas_in(answer.get("result"))
            elif (crossed := asked.pop(name, None)) is not None:
                crossed.call = _ended(crossed.call, answer)

    def _asked(self, request: HttpRequest, conversation: str) -> dict[str, CrossedCall]:
        """Keep the calls of a request, by their ids; they are calls from now on, whatever becomes of them."""
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
            call = CrossedCall(made, traceparent, baggage, conversation)
            asked[str(one.get("id"))] = call
            self.crossed.append(call)
        return asked


def _addressed(path: str) -> tuple[str, str]:
    """The conversation whose address it is, or the empty string, and the path at the server."""
    if not path.startswith(OWN_PATH):
        return "", path
    conversation, _, rest = path.removeprefix(OWN_PATH).partition("/")
    return conversation, f"/{rest}"


def _messages(body: bytes) -> list[Message] | None:
    """The messages of a body; None if it cannot be read."""
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


def _ended(call: ToolCall, answer: Message) -> ToolCall:
    fault, given = answer.get("error"), answer.get("result")
    table = cast("Mapping[str, object]", given) if isinstance(given, Mapping) else {}
    result = table.get("structuredContent", structured(table.get("content")))
    return structs.replace(
        call,
        result=result,
        error=str(fault.get("message", "error")) if isinstance(fault, Mapping) else None,
        success=call_success(table, raised=fault is not None),
        ended_at=time.time(),
    )
