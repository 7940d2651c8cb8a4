"""One request on its way from the agent to a service, and what comes back to the agent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic
from urllib.parse import urlsplit

from karat.evidence.models.traffic import ModelTraffic
from karat.evidence.otlp import loopback
from karat.evidence.otlp.loopback import HttpRequest, Wire
from karat.proxy.replies import ServiceReply
from karat.proxy.tape.file import KEPT_HEADERS, StreamEvent
from karat.proxy.upstream import EVENTS, Upstream, UpstreamReply, bad_gateway
from karat.system.loopback_auth import RefusedRequest

ReplyListener = Callable[[ServiceReply, bool], None]
"""Takes what the agent got, and whether it is torn."""
EVENT = 200
"""Bytes that an event takes besides what is in it."""


class ForwardedRequest:
    """Carries one request. `path` is the one at the service, `own` our address of the service."""

    def __init__(self, wire: Wire, request: HttpRequest, upstream: Upstream, path: str, own: str) -> None:
        self.request = request
        self.path = path
        self.on_tape: Callable[[], ServiceReply | None] = lambda: None
        """The recorded reply, if there is one."""
        self.keep: Callable[[ServiceReply], None] | None = None
        """Takes what the service answered."""
        self._heard: ReplyListener | None = None
        self._wire = wire
        self._upstream = upstream
        self._own = own

    @property
    def service(self) -> str:
        return self._upstream.name

    @property
    def opens_stream(self) -> bool:
        return self.request.method == "GET" and EVENTS in self.request.headers.get("accept", "")

    def watch(self, traffic: ModelTraffic) -> None:
        """Let what is asked of a model, and what the agent gets, be read."""
        asked = traffic.ask(self.service, self.path, self.request.body) if self.request.method == "POST" else None
        if asked is not None:
            self._heard = lambda reply, torn: traffic.hear(
                asked, reply.status, reply.body, [one.data for one in reply.events], torn=torn
            )

    def pass_on(self) -> bool:
        """Give the agent the recorded reply, or the one of the service as it comes. Whether the connection goes on."""
        recorded = self.on_tape()
        return self.hand_on() if recorded is None else self.send(recorded)

    def send(self, reply: ServiceReply, cut: int | None = None) -> bool:
        """Give the agent a reply that is whole, or as much of it as it is to get."""
        if self._heard is not None:
            got = reply if cut is None else ServiceReply(reply.status, reply.headers, b"", reply.events[:cut])
            self._heard(got, cut is not None)
        return reply.send(self._wire, self._own, cut=cut) and self.request.keeps_alive

    def read_whole(self) -> ServiceReply:
        """The recorded reply, or all of the one of the service."""
        recorded = self.on_tape()
        if recorded is not None:
            return recorded
        with self._upstream.open_reply(self.request, self.path) as reply:
            if reply.is_stream:
                kept = _KeptEvents()
                if not all(kept.add(ms, data) for ms, data in _events(reply, self._wire)):
                    raise bad_gateway(f"{self.service} sent a stream of more than {loopback.BODY_CAP:,} bytes")
                found = ServiceReply(reply.status, self._headers(reply), events=tuple(kept.events))
            else:
                found = ServiceReply(reply.status, self._headers(reply), reply.body(self._wire))
        if self.keep is not None:
            self.keep(found)
        return found

    def hand_on(self) -> bool:
        """Let the service answer, as it comes."""
        heard, self._heard = self._heard, None
        try:
            return self._hand_on(heard)
        except RefusedRequest as refused:
            if heard is not None:
                heard(ServiceReply(refused.status, body=refused.why.encode()), True)
            raise

    def _hand_on(self, heard: ReplyListener | None) -> bool:
        with self._upstream.open_reply(self.request, self.path) as reply:
            headers = self._headers(reply)
            moved = {"Location": self._own + headers["location"]} if "location" in headers else {}
            if not reply.is_stream:
                body = reply.body(self._wire)
                self._take(heard, ServiceReply(reply.status, headers, body), torn=False)
                self._wire.send(reply.head(**moved, **{"Content-Length": str(len(body))}) + b"\r\n" + body)
                return self.request.keeps_alive
            self._wire.send(reply.head(Connection="close", **moved) + b"\r\n")
            kept, whole = _KeptEvents(), False
            try:
                for after_ms, data in _events(reply, self._wire):
                    if heard is not None or self.keep is not None:
                        kept.add(after_ms, data)
                    self._wire.send(data)
                whole = kept.all_of_them
            except RefusedRequest:
                return False  # the status was sent before, so only the end of the connection can say it
            finally:
                self._take(heard, ServiceReply(reply.status, headers, events=tuple(kept.events)), torn=not whole)
            return False

    def _take(self, heard: ReplyListener | None, reply: ServiceReply, *, torn: bool) -> None:
        if self.keep is not None and not torn:
            self.keep(reply)
        if heard is not None:
            heard(reply, torn)

    def _headers(self, reply: UpstreamReply) -> dict[str, str]:
        """Those that clients act on; an address within the service without what is before its path."""
        headers = {name: value for name in KEPT_HEADERS if (value := reply.header(name))}
        if reply.location is not None:
            headers["location"] = _path_inside(self._upstream, reply.location)
        return headers

    def wait_for_end(self, is_over: Callable[[float], bool]) -> None:
        """Give no answer until the agent hangs up, or the case is over."""
        while not self._wire.is_closed() and not is_over(0.05):
            continue


class _KeptEvents:
    """The events of a stream, as far as they may be held."""

    def __init__(self) -> None:
        self.events: list[StreamEvent] = []
        self.all_of_them = True
        self._room = loopback.BODY_CAP

    def add(self, after_ms: int, data: bytes) -> bool:
        """Keep a further event; whether there was room for it."""
        self._room -= len(data) + EVENT
        self.all_of_them = self._room >= 0
        if self.all_of_them:
            self.events.append(StreamEvent(after_ms, data.decode("utf-8", "replace")))
        return self.all_of_them


def _events(reply: UpstreamReply, wire: Wire) -> Iterator[tuple[int, bytes]]:
    """The events of a stream, each with the empty line that ends it, and how long after the one before it came."""
    last, data = monotonic(), bytearray()
    for line in reply.lines(wire):
        data += line
        if len(data) > loopback.BODY_CAP:
            raise bad_gateway(f"an event has more than {loopback.BODY_CAP:,} bytes")
        if not line.strip():
            now = monotonic()
            yield round((now - last) * 1000), bytes(data)
            last, data = now, bytearray()
    if data:
        yield round((monotonic() - last) * 1000), bytes(data)


def base_of(upstream: Upstream) -> str:
    """What every path at a service begins with."""
    return urlsplit(upstream.path).path.rstrip("/")


def _path_inside(upstream: Upstream, location: str) -> str:
    """Where a service sends its client, below the address of the service: elsewhere nothing would be recorded."""
    path = upstream.path_of(location)
    if path is None or not path.startswith(base_of(upstream)):
        raise bad_gateway(f"{upstream.name} redirected the agent to another address, where nothing would be recorded")
    return path.removeprefix(base_of(upstream))
