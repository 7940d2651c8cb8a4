"""One request on its way from the agent to a service, and the reply that comes back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import monotonic

import msgspec
from msgspec import Struct, field

from carob.evidence.mcp_calls import McpExchange
from carob.evidence.model_traffic import ModelTraffic
from carob.providers.sse import BlockSplitter
from carob.proxy.tape.file import Answer, StreamEvent, is_kept
from carob.proxy.upstream import EVENTS, Upstream, UpstreamReply, bad_gateway
from carob.system import loopback
from carob.system.loopback import Connection, HttpRequest, format_head
from carob.system.loopback_auth import RefusedRequest

JSON = {"content-type": "application/json"}
BODILESS = frozenset({204, 304})
AFTER_CLOSE = 1.5
"""Seconds in which a stream may still end that the agent has closed: it had what it wanted of it."""
EVENT_SIZE = 200
"""Bytes that an event takes besides what is in it."""
LINE_SIZE = 48
"""Bytes that a line of an event takes besides what is in it, once it is read."""
_ENDPOINT = re.compile(rb"^event: *endpoint\s*?$.*?^data: *([^\r\n]*)", re.MULTILINE | re.DOTALL)
"""The event by which an MCP server over SSE says where messages are sent."""


class ServiceReply(Struct, frozen=True):
    """A complete reply: a body, or the events of a stream; `headers` are those that clients act on."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    events: tuple[StreamEvent, ...] = ()
    cut: bool = False
    """Whether the stream broke off."""

    @classmethod
    def of_json(cls, status: int, value: object, headers: Mapping[str, str] | None = None) -> ServiceReply:
        return cls(status, {**JSON, **(headers or {})}, msgspec.json.encode(value))

    @classmethod
    def of_answer(cls, answer: Answer) -> ServiceReply:
        """A recorded one."""
        return cls(answer.status, answer.headers, b"" if answer.events else answer.body, answer.events, answer.cut)

    @property
    def answer(self) -> Answer:
        """It, as a tape keeps it."""
        if self.events:
            return Answer(self.status, dict(self.headers), events=self.events, cut=self.cut)
        return Answer.of_body(self.status, self.headers, self.body)

    @property
    def text(self) -> str:
        return "".join(event.data for event in self.events) or self.body.decode("utf-8", "replace")

    def send(self, connection: Connection, request: HttpRequest, service_url: str, *, cut: int | None = None) -> bool:
        """Send it, a stream without its pauses; whether the connection can go on.

        `service_url` is our address of the service. `cut`: break off after so many events or bytes.
        """
        headers = dict(self.headers)
        if "location" in headers:
            headers["location"] = service_url + headers["location"]
        if not self.events:
            if self.status not in BODILESS and not request.wants_head:
                headers["content-length"] = str(len(self.body))
            connection.send(format_head(self.status, headers.items()) + self.body[:cut])
            return cut is None
        stream = StreamToAgent(connection, request)
        stream.send_raw(format_head(self.status, {**headers, **stream.framing}.items()))
        for event in self.events[:cut]:
            stream.send(event.raw)
        return stream.end() if cut is None and not self.cut else False


class StreamToAgent:
    """A stream on its way to an agent, in chunks: one that breaks off has no last chunk, and so the agent sees it."""

    def __init__(self, connection: Connection, request: HttpRequest) -> None:
        self._connection = connection
        self._chunked = request.http_version != "1.0"
        self.framing = {"transfer-encoding": "chunked"} if self._chunked else {"connection": "close"}
        self.closed_at = 0.0
        """When the agent had enough of it."""

    def send(self, data: bytes) -> None:
        """Send a piece of it."""
        if data:
            self.send_raw(b"%x\r\n%s\r\n" % (len(data), data) if self._chunked else data)

    def send_raw(self, data: bytes) -> None:
        if self.closed_at:
            return
        try:
            self._connection.send(data)
        except OSError:
            self.closed_at = monotonic()

    def end(self) -> bool:
        """It is complete. Whether the connection can go on."""
        if self._chunked:
            self.send_raw(b"0\r\n\r\n")
        return self._chunked and not self.closed_at


ReplyListener = Callable[[ServiceReply, bool], None]
"""Receives what the agent got, and whether it is torn."""


class ForwardedRequest:
    """A request to an upstream. `path` is the one at the upstream, `service_url` our address of it."""

    def __init__(
        self, connection: Connection, request: HttpRequest, upstream: Upstream, path: str, service_url: str
    ) -> None:
        self.request = request
        self.body = request.body
        """It, unpacked if it is to be read."""
        self.path = path
        self.find_recorded: Callable[[], ServiceReply | None] = lambda: None
        """The recorded reply, if there is one."""
        self.record: Callable[[ServiceReply, bool], None] | None = None
        """Receives what the upstream answered, and whether the agent had enough of a stream that is cut."""
        self.mcp: McpExchange | None = None
        """What is read of it where it is sent to the recorded MCP server."""
        self.fail: Callable[[str], None] | None = None
        """Receives why there was no answer."""
        self._on_reply: ReplyListener | None = None
        self._connection = connection
        self._upstream = upstream
        self._service_url = service_url

    @property
    def service(self) -> str:
        return self._upstream.name

    @property
    def opens_stream(self) -> bool:
        return self.request.method == "GET" and EVENTS in self.request.headers.get("accept", "")

    def watch(self, traffic: ModelTraffic) -> None:
        """Let what is asked of a model, and what the agent gets, be read."""
        if self.request.method != "POST":
            return
        client = self.request.headers.get("user-agent", "")
        exchange = traffic.add_request(self.service, self.path, self.body, client)
        if exchange is not None:
            self._on_reply = lambda reply, torn: traffic.add_reply(
                exchange, reply.status, reply.body, [event.data for event in reply.events], torn=torn
            )

    def reply(self) -> bool:
        """Give the agent the recorded reply, or that of the upstream as it comes. Whether the connection goes on."""
        recorded = self.find_recorded()
        return self.hand_on() if recorded is None else self.send(recorded)

    def send(self, reply: ServiceReply, cut: int | None = None) -> bool:
        """Give the agent a reply, or as much of it as it is to get."""
        if self._on_reply is not None:
            got = reply if cut is None else ServiceReply(reply.status, reply.headers, b"", reply.events[:cut])
            self._on_reply(got, reply.cut or cut is not None)
        goes_on = reply.send(self._connection, self.request, self._service_url, cut=cut)
        return goes_on and self.request.keeps_alive

    def read_reply(self) -> ServiceReply:
        """The recorded reply, or all of that of the upstream."""
        recorded = self.find_recorded()
        if recorded is not None:
            return recorded
        with self._open_reply() as reply:
            headers = self._kept_headers(reply)
            if reply.is_stream:
                buffer = _EventBuffer()
                if not all(buffer.add(ms, event) for ms, event in _events(reply, self._connection)):
                    raise bad_gateway(f"{self.service} sent a stream of more than {loopback.BODY_CAP:,} bytes")
                received = ServiceReply(reply.status, headers, events=tuple(buffer.events))
            else:
                received = ServiceReply(reply.status, headers, reply.body(self._connection))
        if self.record is not None:
            self.record(received, False)
        return received

    @contextmanager
    def _open_reply(self) -> Iterator[UpstreamReply]:
        """The reply of the upstream; what there is none of is known to who records and who reads."""
        try:
            with self._upstream.open_reply(self.request, self.path) as reply:
                yield reply
        except RefusedRequest as refused:
            self._deliver_none(refused.why, ServiceReply(refused.status, body=refused.why.encode()))
            raise

    def hand_on(self) -> bool:
        """Let the upstream answer, as it comes."""
        with self._open_reply() as reply:
            headers = self._kept_headers(reply)
            moved = {"Location": self._service_url + headers["location"]} if "location" in headers else {}
            if reply.is_stream:
                stream = StreamToAgent(self._connection, self.request)
                stream.send_raw(reply.head({**stream.framing, **moved}))
                return self._stream(reply, headers, stream) and self.request.keeps_alive
            body = reply.body(self._connection)
            if self.mcp is not None:
                self.mcp.read(body)
            is_bodiless = reply.status in BODILESS or self.request.wants_head
            length = reply.headers.get("content-length") if is_bodiless else str(len(body))
            head = reply.head(moved if length is None else {"Content-Length": length, **moved})
        self._deliver(ServiceReply(reply.status, headers, body))
        self._connection.send(head + body)
        return self.request.keeps_alive

    def wait_for_end(self, is_over: Callable[[float], bool]) -> None:
        """Give no answer until the agent hangs up, or the case is over."""
        while not self._connection.is_closed() and not is_over(0.05):
            continue

    def _stream(self, reply: UpstreamReply, headers: Mapping[str, str], stream: StreamToAgent) -> bool:
        """Hand on a stream as it comes. Whether the connection goes on after it."""
        buffer, is_complete = _EventBuffer(), False
        try:
            for after_ms, event in _events(reply, self._connection):
                if self._on_reply is not None or self.record is not None:
                    buffer.add(after_ms, event)
                if self.mcp is not None:
                    self.mcp.read_event(event)
                stream.send(self._with_our_endpoint(event))
                if stream.closed_at and monotonic() > stream.closed_at + AFTER_CLOSE:
                    break
            else:
                is_complete = True
        except RefusedRequest as refused:  # the status was sent before: only an event, or the end, can say it now
            if self.mcp is None:
                return False
            stream.send(self.mcp.error_events(refused.why))
        finally:
            received = ServiceReply(reply.status, headers, events=tuple(buffer.events), cut=not is_complete)
            if buffer.is_complete:
                self._deliver(received, was_closed=bool(stream.closed_at))
            else:
                self._deliver_none(f"a stream of more than {loopback.BODY_CAP:,} bytes", received)
        return stream.end()

    def _deliver(self, reply: ServiceReply, *, was_closed: bool = False) -> None:
        if self.record is not None:
            self.record(reply, was_closed)
        if self._on_reply is not None:
            self._on_reply(reply, reply.cut)

    def _deliver_none(self, why: str, reply: ServiceReply) -> None:
        """There is no reply that could be kept."""
        if self.fail is not None:
            self.fail(why)
        if self._on_reply is not None:
            self._on_reply(reply, True)

    def _kept_headers(self, reply: UpstreamReply) -> dict[str, str]:
        """Those that clients act on; an address within the service without what is before its path."""
        kept = ("content-length",) if self.request.wants_head else ()
        headers = {name: value for name, value in reply.headers.items() if name in kept or is_kept(name)}
        if "location" in headers:
            headers["location"] = self._upstream.path_below(headers["location"])
        return headers

    def _with_our_endpoint(self, event: bytes) -> bytes:
        """The event with our address in the place of the upstream's: what was sent there would pass us by."""
        endpoint = _ENDPOINT.search(event)
        if endpoint is None:
            return event
        address = self._service_url + self._upstream.path_below(endpoint[1].decode("latin-1").strip())
        return event[: endpoint.start(1)] + address.encode("latin-1") + event[endpoint.end(1) :]


class _EventBuffer:
    """The events of a stream, as far as they may be held."""

    def __init__(self) -> None:
        self.events: list[StreamEvent] = []
        self.is_complete = True
        self._free = loopback.BODY_CAP

    def add(self, after_ms: int, data: bytes) -> bool:
        """Keep a further event; whether there was room for it."""
        self._free -= len(data) + EVENT_SIZE
        self.is_complete = self._free >= 0
        if self.is_complete:
            self.events.append(StreamEvent.of_bytes(after_ms, data))
        return self.is_complete


def _events(reply: UpstreamReply, connection: Connection) -> Iterator[tuple[int, bytes]]:
    """The events of a stream, each with the empty line that ends it, and how long after the one before it came."""
    last, blocks = monotonic(), BlockSplitter(loopback.BODY_CAP)
    for piece in reply.pieces():
        connection.hold(len(piece))
        try:
            complete = list(blocks.feed(piece))
        except ValueError as error:
            raise bad_gateway(f"{reply.name} sent an event of more than {loopback.BODY_CAP:,} bytes") from error
        for block in complete:
            if len(block) + LINE_SIZE * block.count(b"\n") > loopback.BODY_CAP:
                raise bad_gateway(f"{reply.name} sent an event of more than {loopback.BODY_CAP:,} bytes")
            now = monotonic()
            yield round((now - last) * 1000), block
            last = now
        connection.release(len(piece))
    if unfinished := blocks.end():
        yield round((monotonic() - last) * 1000), unfinished
