"""The loopback server between an agent and the services around it: it answers from a tape, or hands on and records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from time import monotonic
from urllib.parse import urlsplit

import msgspec

from karat.system.door import RefusedRequest
from karat.telemetry.otlp.loopback import HttpRequest, LoopbackServer, Wire
from karat.telemetry.otlp.upstream import EVENTS, Upstream, UpstreamReply, broken
from karat.world.player import CaseOnTape, Miss, TapePlayer
from karat.world.requests import read_json
from karat.world.stdio import LIVE, PREFIX, RECORDED, TO_RECORD
from karat.world.tape import KEPT_HEADERS, Answer, Event

OWN_PATH = "/karat-"
"""An address that begins so is that of one run of a case."""
MISSED = HTTPStatus.BAD_REQUEST
"""A status after which no client asks again."""


class TapeProxy:
    """One address for each service, below one address for each run of a case where the agent can be given that."""

    def __init__(
        self,
        player: TapePlayer,
        upstreams: Mapping[str, str],
        live: frozenset[str],
        case_of: Callable[[str], CaseOnTape | None],
    ) -> None:
        """`case_of` gives the run of a case that an address names, or the only one that is running for none."""
        self._player = player
        self._upstreams = {name: Upstream(address, name) for name, address in upstreams.items()}
        self._live = live
        self._case_of = case_of
        self._server = LoopbackServer(self._serve, "the tape")

    @property
    def place(self) -> str:
        return self._server.place

    def url(self, service: str = "", run: str = "") -> str:
        """The address of a service, or of the tape itself, for one run of a case."""
        base = f"{self._server.url}{OWN_PATH + run if run else ''}"
        return f"{base}/{service}" if service else base

    def open(self, port: int = 0, token: str = "") -> None:
        """Listen at a port that was chosen, whose token is known too, or at a free one."""
        self._server.open(port)
        if port:
            self._server.token = token

    def close(self) -> None:
        self._server.close()

    def _serve(self, wire: Wire, request: HttpRequest) -> bool:
        run, service, path = _addressed(request.path)
        if service.startswith(PREFIX):
            return self._serve_stdio(wire, request, service, self._case_of(run))
        upstream = self._upstreams.get(service)
        if upstream is None:
            raise RefusedRequest(HTTPStatus.NOT_FOUND, f"the tape knows no service {service[:40]!r}")
        path = (_base(upstream) + path) or "/"
        own = self.url(service, run)
        if service in self._live:
            return self._hand_on(wire, request, upstream, path, own)
        case = self._case_of(run)
        if case is None:
            raise RefusedRequest(HTTPStatus.CONFLICT, "nothing says which case this request belongs to")
        if request.method == "GET" and EVENTS in request.headers.get("accept", ""):
            # A stream that a server may open to its client; it has no end, so there is nothing to play.
            if self._player.records:
                return self._hand_on(wire, request, upstream, path, own)
            raise RefusedRequest(HTTPStatus.METHOD_NOT_ALLOWED, "a tape has no stream from the server")
        kind = request.headers.get("content-type", "")
        asked = self._player.read(service, request.method, path, kind, request.body)
        answer = self._player.answer(asked, case)
        if answer is not None:
            return _play(wire, request, answer, own)
        if not self._player.records:
            _send(wire, MISSED, {"content-type": "application/json"}, _missed(case.misses[-1]))
            return request.keeps_alive
        return self._hand_on(wire, request, upstream, path, own, lambda made: self._player.record(asked, made, case))

    def _serve_stdio(self, wire: Wire, request: HttpRequest, service: str, case: CaseOnTape | None) -> bool:
        """Answer for a server over stdio, of which `karat.world.stdio` is the other end."""
        if request.method == "GET":
            _send(wire, LIVE if service.removeprefix(PREFIX) in self._live else RECORDED, {}, b"")
            return False
        if case is None:
            raise RefusedRequest(HTTPStatus.CONFLICT, "nothing says which case this request belongs to")
        if request.method == "PUT":
            line, said = msgspec.json.decode(request.body, type=tuple[str, str])
            asked = self._player.read(service, "POST", "/", "application/json", line.encode())
            self._player.record(asked, Answer.of_body(RECORDED, {}, said.encode()), case)
            _send(wire, RECORDED, {}, b"")
            return False
        answer = self._player.answer(self._player.read(service, "POST", "/", "application/json", request.body), case)
        if answer is not None:
            _send(wire, RECORDED, {}, answer.body)
        elif self._player.records:
            _send(wire, TO_RECORD, {}, b"")
        else:
            _send(wire, RECORDED, {}, _missed_call(request.body, case.misses[-1]))
        return False

    def _hand_on(
        self,
        wire: Wire,
        request: HttpRequest,
        upstream: Upstream,
        path: str,
        own: str,
        keep: Callable[[Answer], None] = lambda answer: None,
    ) -> bool:
        """Let the service answer; `keep` gets the answer once it came whole. `own` is our address of the service."""
        with upstream.asked(request, path) as reply:
            headers = {name: value for name in KEPT_HEADERS if (value := reply.header(name))}
            moved = {}
            if reply.location is not None:
                headers["location"] = _inside(upstream, reply.location)
                moved = {"Location": own + headers["location"]}
            if not reply.is_stream:
                body = reply.body(wire)
                keep(Answer.of_body(reply.status, headers, body))
                wire.send(reply.head(**moved, **{"Content-Length": str(len(body))}) + b"\r\n" + body)
                return request.keeps_alive
            wire.send(reply.head(Connection="close", **moved) + b"\r\n")
            events = []
            for after_ms, data in _events(reply, wire):
                events.append(Event(after_ms, data.decode("utf-8", "replace")))
                wire.send(data)
            keep(Answer(reply.status, headers, events=tuple(events)))
            return False


def _events(reply: UpstreamReply, wire: Wire) -> Iterator[tuple[int, bytes]]:
    """The events of a stream, each with the empty line that ends it, and how long after the one before it came."""
    last, data = monotonic(), b""
    for line in reply.lines(wire):
        data += line
        if not line.strip():
            now = monotonic()
            yield round((now - last) * 1000), data
            last, data = now, b""
    if data:
        yield round((monotonic() - last) * 1000), data


def _base(upstream: Upstream) -> str:
    return urlsplit(upstream.path).path.rstrip("/")


def _inside(upstream: Upstream, location: str) -> str:
    """Where a service sends its client, below the address of the service: elsewhere nothing would be recorded."""
    path = upstream.inside(location)
    if path is None or not path.startswith(_base(upstream)):
        raise broken(f"{upstream.name} sent the agent to another address, where nothing would be recorded")
    return path.removeprefix(_base(upstream))


def _play(wire: Wire, request: HttpRequest, answer: Answer, own: str) -> bool:
    """Send a recorded answer, a stream without its pauses."""
    headers = dict(answer.headers)
    if "location" in headers:
        headers["location"] = own + headers["location"]
    if not answer.events:
        _send(wire, answer.status, headers, answer.body)
        return request.keeps_alive
    wire.send(_head(answer.status, {**headers, "connection": "close"}))
    for event in answer.events:
        wire.send(event.data.encode())
    return False


def _send(wire: Wire, status: int, headers: Mapping[str, str], body: bytes) -> None:
    wire.send(_head(status, {**headers, "content-length": str(len(body))}) + body)


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    reason = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else "Recorded"
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if not {"\r", "\n"} & {*value})
    return f"HTTP/1.1 {status} {reason}\r\n{lines}\r\n".encode("latin-1", "replace")


def _missed(miss: Miss) -> bytes:
    """What an agent is sent instead of an answer, in the shape in which model APIs report errors."""
    message = f"tape-miss: request {miss.number} ({miss.request.title}) has no recording: {miss.cause}."
    return msgspec.json.encode({"type": "error", "error": {"type": "tape-miss", "message": message}})


def _missed_call(line: bytes, miss: Miss) -> bytes:
    """The same as an answer of JSON-RPC; a notification has none."""
    asked = read_json(line)
    name = asked.value.get("id") if asked is not None and isinstance(asked.value, dict) else None
    fault = {"code": -32000, "message": f"tape-miss: {miss.cause}"}
    return b"" if name is None else msgspec.json.encode({"jsonrpc": "2.0", "id": name, "error": fault}) + b"\n"


def _addressed(path: str) -> tuple[str, str, str]:
    """The run of a case that an address names, the service, and the path at the service."""
    run = ""
    if path.startswith(OWN_PATH):
        run, _, path = path.removeprefix(OWN_PATH).partition("/")
        path = f"/{path}"
    service, slash, rest = path.removeprefix("/").partition("/")
    service, mark, query = service.partition("?")
    return run, service, f"{slash}{rest}{mark}{query}"
