"""The loopback server between an agent and the services around it.

It answers from a tape, hands requests on and records them, or only hands them on; stubs and faults come first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus

import msgspec

from karat.evidence.models.streams import Table, table
from karat.evidence.otlp.loopback import HttpRequest, LoopbackServer, Wire
from karat.proxy.faults.injection import LIST, ToolFault, called_tool, gone_tools, plan_of, without_gone
from karat.proxy.forwarding import ForwardedRequest, base_of
from karat.proxy.replies import JSON, ServiceReply, head
from karat.proxy.serving import CaseSession
from karat.proxy.stdio import LIVE, PREFIX, RECORDED, TO_ASK
from karat.proxy.tape.file import Answer
from karat.proxy.tape.player import CaseOnTape, Miss, TapePlayer
from karat.proxy.tape.requests import ServiceRequest, read_json
from karat.proxy.upstream import Upstream
from karat.system.loopback_auth import RefusedRequest

OWN_PATH = "/karat-"
"""An address that begins so is that of one run of a case."""
MISSED = HTTPStatus.BAD_REQUEST
"""A status after which no client asks again."""
UNOWNED = "the request does not say which case it belongs to"


class ServiceProxy:
    """One address for each service, below one address for each run of a case where the agent can be given that.

    Without a player nothing is on a tape: requests are handed on.
    """

    def __init__(
        self,
        player: TapePlayer | None,
        upstreams: Mapping[str, str],
        live: frozenset[str],
        run_of: Callable[[str], CaseSession | None],
    ) -> None:
        """`run_of` gives the run of a case that an address names, or the only one that there is for none."""
        self._player = player
        self._upstreams = {name: Upstream(address, name) for name, address in upstreams.items()}
        self._live = live
        self._run_of = run_of
        self._server = LoopbackServer(self._serve, "the tape" if player is not None else "the proxy of services")

    @property
    def place(self) -> str:
        return self._server.place

    def url(self, service: str = "", run: str = "") -> str:
        """The address of a service, or of the proxy itself, for one run of a case."""
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
        named, service, path = _split_path(request.path)
        run = self._run_of(named)
        if service.startswith(PREFIX):
            return self._serve_stdio(wire, request, service, run)
        upstream = self._upstreams.get(service)
        if upstream is None:
            raise RefusedRequest(HTTPStatus.NOT_FOUND, f"the proxy does not know the service {service[:40]!r}")
        path = (base_of(upstream) + path) or "/"
        forwarded = ForwardedRequest(wire, request, upstream, path, self.url(service, named))
        player = None if service in self._live else self._player
        if run is None:
            if player is not None:
                raise RefusedRequest(HTTPStatus.CONFLICT, UNOWNED)
            return forwarded.hand_on()
        with run.serving():
            return self._serve_run(forwarded, run, player)

    def _serve_run(self, forwarded: ForwardedRequest, run: CaseSession, player: TapePlayer | None) -> bool:
        """Serve a request of a case: by a stub or with a fault where it is due, from the tape, or by the service."""
        service, request = forwarded.service, forwarded.request
        if forwarded.opens_stream:
            # A stream that a server may open to its client; it has no end, so there is nothing to play.
            if player is None or player.records:
                return forwarded.hand_on()
            raise RefusedRequest(HTTPStatus.METHOD_NOT_ALLOWED, "a tape cannot replay a stream that the server opens")
        if run.traffic is not None:
            forwarded.watch(run.traffic)
        case = run.on_tape
        if player is not None and case is not None:
            kind = request.headers.get("content-type", "")
            asked = player.read(service, request.method, forwarded.path, kind, request.body)
            forwarded.on_tape = lambda: _from_tape(player, asked, case)
            forwarded.keep = lambda reply: player.record(asked, reply.answer, case)
        plan = None if run.world is None else plan_of(run.world, forwarded)
        return forwarded.pass_on() if plan is None else plan.apply(forwarded, run.over)

    def _serve_stdio(self, wire: Wire, request: HttpRequest, service: str, run: CaseSession | None) -> bool:
        """Answer for a server over stdio, of which `karat.proxy.stdio` is the other end."""
        if request.method == "GET":
            live = service.removeprefix(PREFIX) in self._live
            _send(wire, LIVE if live else RECORDED, b"")
            return False
        if run is None:
            if self._player is not None:
                raise RefusedRequest(HTTPStatus.CONFLICT, UNOWNED)
            _send(wire, *((RECORDED, _answer_in(request.body)) if request.method == "PUT" else (TO_ASK, b"")))
            return False
        with run.serving():
            line = StdioLine(self._player, service, run)
            answered = line.keep(request.body) if request.method == "PUT" else line.answer(request.body)
            _send(wire, *((TO_ASK, b"") if answered is None else (RECORDED, answered)))
        return False


class StdioLine:
    """A message to an MCP server over stdio, and the answer to it, in a run of a case."""

    def __init__(self, player: TapePlayer | None, service: str, run: CaseSession) -> None:
        self._player = player
        self._service = service
        self._run = run

    def answer(self, line: bytes) -> bytes | None:
        """The answer, empty for a message that has none; None: the server is to be asked, and `keep` takes it."""
        message = table(found.value) if (found := read_json(line)) is not None else {}
        world, tool = self._run.world, called_tool(message)
        if world is not None and tool is not None:
            broken_call = ToolFault(world.begin_outside(tool, table(message.get("params")).get("arguments")), message)
            broken_call.delay(self._run.over)
            if not broken_call.runs:
                return msgspec.json.encode(broken_call.change_answer())
            self._run.waiting[self._service, str(message.get("id"))] = broken_call
        case = self._run.on_tape
        if self._player is None or case is None:
            return None
        recorded = self._player.answer(self._read(line), case)
        if recorded is not None:
            return self._alter(message, recorded.body)
        return None if self._player.records else _miss_answer(line, case.misses[-1])

    def keep(self, body: bytes) -> bytes:
        """Take the answer of the server; what the agent is to get."""
        line, said = msgspec.json.decode(body, type=tuple[str, str])
        if self._player is not None and self._run.on_tape is not None:
            answer = Answer.of_body(RECORDED, {}, said.encode())
            self._player.record(self._read(line.encode()), answer, self._run.on_tape)
        message = table(found.value) if (found := read_json(line.encode())) is not None else {}
        return self._alter(message, said.encode())

    def _alter(self, message: Table, said: bytes) -> bytes:
        found, world = read_json(said), self._run.world
        if found is None or not isinstance(found.value, Mapping) or world is None:
            return said
        if message.get("method") == LIST and (gone := gone_tools(world)):
            return msgspec.json.encode(without_gone(world, gone, found.value))
        broken_call = self._run.waiting.pop((self._service, str(message.get("id"))), None)
        changed = found.value if broken_call is None else broken_call.change_answer(found.value)
        return said if changed is found.value else msgspec.json.encode(changed)

    def _read(self, line: bytes) -> ServiceRequest:
        if self._player is None:
            raise RuntimeError("there is no tape")
        return self._player.read(self._service, "POST", "/", "application/json", line)


def _from_tape(player: TapePlayer, asked: ServiceRequest, case: CaseOnTape) -> ServiceReply | None:
    """The recorded reply, or what an agent is sent where there should be one; None: the service is to be asked."""
    answer = player.answer(asked, case)
    if answer is not None:
        return ServiceReply.of_answer(answer)
    return None if player.records else ServiceReply(MISSED, JSON, _miss_reply(case.misses[-1]))


def _answer_in(body: bytes) -> bytes:
    return msgspec.json.decode(body, type=tuple[str, str])[1].encode()


def _send(wire: Wire, status: int, body: bytes) -> None:
    wire.send(head(status, {"content-length": str(len(body))}) + body)


def _miss_reply(miss: Miss) -> bytes:
    """What an agent is sent instead of an answer, in the shape in which model APIs report errors."""
    message = f"tape-miss: request {miss.number} ({miss.request.title}) has no recording: {miss.cause}."
    return msgspec.json.encode({"type": "error", "error": {"type": "tape-miss", "message": message}})


def _miss_answer(line: bytes, miss: Miss) -> bytes:
    """The same as an answer of JSON-RPC; a notification has none."""
    asked = read_json(line)
    name = asked.value.get("id") if asked is not None and isinstance(asked.value, dict) else None
    fault = {"code": -32000, "message": f"tape-miss: {miss.cause}"}
    return b"" if name is None else msgspec.json.encode({"jsonrpc": "2.0", "id": name, "error": fault}) + b"\n"


def _split_path(path: str) -> tuple[str, str, str]:
    """The run of a case that an address names, the service, and the path at the service."""
    run = ""
    if path.startswith(OWN_PATH):
        run, _, path = path.removeprefix(OWN_PATH).partition("/")
        path = f"/{path}"
    service, slash, rest = path.removeprefix("/").partition("/")
    service, mark, query = service.partition("?")
    return run, service, f"{slash}{rest}{mark}{query}"
