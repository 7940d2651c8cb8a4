"""The loopback server between an agent and the services around it: the one place where its requests are intercepted.

It answers from a tape, hands requests on and records them, or only hands them on; stubs and faults come first. What
crosses it is evidence: the traffic with models, and the calls of tools of an MCP server.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus

import msgspec

from carob.evidence.mcp_calls import LIST, McpTraffic
from carob.evidence.model_traffic import ModelTraffic
from carob.providers.base import Table, table
from carob.proxy.faults.injection import ToolFault, called_tool, find_plan, gone_tools, without_gone
from carob.proxy.faults.world import CaseWorld
from carob.proxy.forwarding import JSON, ForwardedRequest, ServiceReply
from carob.proxy.stdio import LIVE, PREFIX, RECORDED, TO_ASK
from carob.proxy.tape.file import Answer
from carob.proxy.tape.player import CaseOnTape, Miss, TapePlayer
from carob.proxy.tape.requests import ServiceRequest, read_json
from carob.proxy.upstream import Upstream
from carob.system.loopback import Connection, HttpRequest, LoopbackServer, format_reply, unpack
from carob.system.loopback_auth import RUN_HEADER, UNKNOWN_RUN, RefusedRequest

RUN_PATH = "/carob-"
"""An address that starts so is that of one run of a case."""
MCP = "MCP"
"""The recorded MCP server, at a name that no service can have."""
MISSED = HTTPStatus.BAD_REQUEST
"""A status after which no client asks again."""
NO_WEBSOCKET = "the agent asked for a WebSocket, which Carob can neither record nor read"
USE_HTTP = "Let the agent use the HTTP API of the service, or name the service in `live` of [tape]"
UNOWNED = "the request does not say which case it belongs to"


class CaseSession:
    """One run of a case: its recordings, its traffic with models, its stubs and faults.

    Requests of it come from any thread, also while the case is being judged.
    """

    def __init__(
        self, on_tape: CaseOnTape | None = None, traffic: ModelTraffic | None = None, world: CaseWorld | None = None
    ) -> None:
        self.on_tape = on_tape
        self.traffic = traffic
        self.world = world
        self.over = threading.Event()
        """Set once the case is over: what still waits for it need not."""
        self.requests = 0
        self.waiting: dict[tuple[str, str], ToolFault] = {}
        """What is to be done to calls that servers over stdio are being asked for."""
        self._open = 0
        self._lock = threading.Lock()

    @contextmanager
    def serving(self) -> Iterator[None]:
        """While a request is being served."""
        with self._lock:
            self.requests += 1
            self._open += 1
        try:
            yield
        finally:
            with self._lock:
                self._open -= 1

    @property
    def is_busy(self) -> bool:
        return self._open > 0


class ServiceProxy:
    """One address for each service, below one address for each run of a case where the agent can be given that.

    Without a player nothing is on a tape: requests are handed on. `find_session` gives the run of a case that an
    address names, or the only one that there is for none. Calls to the server at `mcp_server` are recorded in `mcp`.
    """

    def __init__(
        self,
        player: TapePlayer | None,
        upstreams: Mapping[str, Upstream | str],
        live: frozenset[str],
        find_session: Callable[[str], CaseSession | None],
        mcp_server: str | None = None,
    ) -> None:
        self.mcp = McpTraffic()
        self._player = player
        self._upstreams = {
            name: upstream if isinstance(upstream, Upstream) else Upstream(upstream, name)
            for name, upstream in upstreams.items()
        }
        if mcp_server:
            self._upstreams[MCP] = Upstream(mcp_server, "the MCP server", whole_host=True)
        self._live = live
        self._find_session = find_session
        self._server = LoopbackServer(self._serve, "the tape" if player is not None else "the proxy of services")

    @property
    def address(self) -> str:
        return self._server.address

    def url(self, service: str = "", run: str = "") -> str:
        """The address of a service, or of the proxy itself, for one run of a case."""
        base = f"{self._server.url}{RUN_PATH + run if run else ''}"
        return f"{base}/{service}" if service else base

    def mcp_url(self, run: str = "") -> str:
        return self.url(MCP, run) + self._upstreams[MCP].path

    def open(self, port: int = 0, token: str = "") -> None:
        """Listen at a port that was chosen, whose token is known too, or at a free one."""
        self._server.open(port)
        if port:
            self._server.token = token

    def close(self) -> None:
        self._server.close()

    def _serve(self, connection: Connection, request: HttpRequest) -> bool:
        run, service, path = _split_path(request.path)
        run = run or request.headers.pop(RUN_HEADER, "")
        session = self._find_session(run)
        run = "" if run == UNKNOWN_RUN else run
        if service.startswith(PREFIX):
            return self._serve_stdio(connection, request, service, session)
        upstream = self._upstreams.get(service)
        if upstream is None:
            raise RefusedRequest(HTTPStatus.NOT_FOUND, f"the proxy does not know the service {service[:40]!r}")
        path = upstream.base + upstream.strip_usual(path) or "/"
        if request.headers.get("upgrade", "").lower() == "websocket":
            return self._refuse_websocket(request, service, path, session)
        forwarded = ForwardedRequest(connection, request, upstream, path, self.url(service, run))
        if service == MCP:
            forwarded.mcp = self.mcp.ask(request.headers, request.body, run)
            return forwarded.hand_on()
        player = None if service in self._live else self._player
        if session is None:
            if player is not None:
                raise RefusedRequest(HTTPStatus.CONFLICT, UNOWNED)
            return forwarded.hand_on()
        with session.serving():
            return self._serve_session(forwarded, session, player)

    def _refuse_websocket(self, request: HttpRequest, service: str, path: str, session: CaseSession | None) -> bool:
        """No WebSocket goes through the proxy: what crosses one would be neither recorded nor read."""
        if session is not None and session.on_tape is not None:
            asked = ServiceRequest.of(service, request.method, path, "", b"")
            session.on_tape.misses.append(Miss(asked, session.on_tape.requests + 1, NO_WEBSOCKET, advice=USE_HTTP))
        raise RefusedRequest(HTTPStatus.NOT_IMPLEMENTED, f"{NO_WEBSOCKET}. {USE_HTTP}")

    def _serve_session(self, forwarded: ForwardedRequest, session: CaseSession, player: TapePlayer | None) -> bool:
        """Serve a request of a case: by a stub or with a fault where it is due, from the tape, or by the service."""
        request, case = forwarded.request, session.on_tape
        if forwarded.opens_stream:
            # A stream that a server may open to its client; it has no end, so there is nothing to play.
            if player is None or player.records:
                return forwarded.hand_on()
            raise RefusedRequest(HTTPStatus.METHOD_NOT_ALLOWED, "a tape cannot replay a stream that the server opens")
        forwarded.body = unpack(request)
        if session.traffic is not None:
            forwarded.watch(session.traffic)
        if player is not None and case is not None:
            taped = player.read(forwarded.service, request.method, forwarded.path, request.headers, forwarded.body)
            forwarded.find_recorded = lambda: _find_recorded(player, taped, case)
            forwarded.record = lambda reply, closed: player.record(taped, reply.answer, case, was_closed=closed)
            forwarded.fail = lambda why: player.fail(taped, why, case)
        plan = None if session.world is None else find_plan(session.world, forwarded)
        return forwarded.reply() if plan is None else plan.apply(forwarded, session.over)

    def _serve_stdio(
        self, connection: Connection, request: HttpRequest, service: str, session: CaseSession | None
    ) -> bool:
        """Answer for a server over stdio, of which `carob.proxy.stdio` is the other end."""
        is_answer = request.method == "PUT"
        if request.method == "GET":
            status, body = LIVE if service.removeprefix(PREFIX) in self._live else RECORDED, b""
        elif session is not None:
            with session.serving():
                message = StdioMessage(self._player, service, session)
                answer = message.record(request.body) if is_answer else message.answer(request.body)
            status, body = (TO_ASK, b"") if answer is None else (RECORDED, answer)
        elif self._player is not None:
            raise RefusedRequest(HTTPStatus.CONFLICT, UNOWNED)
        else:
            status, body = (RECORDED, _read_exchange(request.body)[1]) if is_answer else (TO_ASK, b"")
        connection.send(format_reply(status, "application/json", body))
        return False


class StdioMessage:
    """A message to an MCP server over stdio, and the answer to it, in a run of a case."""

    def __init__(self, player: TapePlayer | None, service: str, session: CaseSession) -> None:
        self._player = player if session.on_tape is not None else None
        self._service = service
        self._session = session

    def answer(self, line: bytes) -> bytes | None:
        """The answer, empty for a message that has none; None: the server is to be asked, and `record` takes it."""
        message = table(read_json(line))
        world, case, tool = self._session.world, self._session.on_tape, called_tool(message)
        if world is not None and tool is not None:
            fault = ToolFault(world.begin_outside(tool, table(message.get("params")).get("arguments")), message)
            fault.delay(self._session.over)
            if not fault.runs:
                return msgspec.json.encode(fault.change_answer())
            self._session.waiting[self._service, str(message.get("id"))] = fault
        if self._player is None or case is None:
            return None
        recorded = self._player.answer(self._read(self._player, line), case)
        if recorded is not None:
            return self._alter(message, recorded.body)
        return None if self._player.records else _miss_answer(message, case.misses[-1])

    def record(self, exchange: bytes) -> bytes:
        """Take the answer of the server; what the agent is to get."""
        line, answer = _read_exchange(exchange)
        if self._player is not None and self._session.on_tape is not None:
            taped = Answer.of_body(RECORDED, {}, answer)
            self._player.record(self._read(self._player, line), taped, self._session.on_tape)
        return self._alter(table(read_json(line)), answer)

    def _alter(self, message: Table, raw_answer: bytes) -> bytes:
        answer, world = read_json(raw_answer), self._session.world
        if not isinstance(answer, dict) or world is None:
            return raw_answer
        if message.get("method") == LIST and (faults := gone_tools(world)):
            return msgspec.json.encode(without_gone(world, faults, answer))
        fault = self._session.waiting.pop((self._service, str(message.get("id"))), None)
        changed = answer if fault is None else fault.change_answer(answer)
        return raw_answer if changed is answer else msgspec.json.encode(changed)

    def _read(self, player: TapePlayer, line: bytes) -> ServiceRequest:
        return player.read(self._service, "POST", "/", {"content-type": "application/json"}, line)


def _find_recorded(player: TapePlayer, request: ServiceRequest, case: CaseOnTape) -> ServiceReply | None:
    """The recorded reply, or what an agent is sent where there should be one; None: the service is to be asked."""
    answer = player.answer(request, case)
    if answer is not None:
        return ServiceReply.of_answer(answer)
    return None if player.records else ServiceReply(MISSED, JSON, _miss_reply(case.misses[-1]))


def _read_exchange(body: bytes) -> tuple[bytes, bytes]:
    """The message and the answer that `carob.proxy.stdio` sends together."""
    line, answer = msgspec.json.decode(body, type=tuple[str, str])
    return line.encode(), answer.encode()


def _miss_reply(miss: Miss) -> bytes:
    """What an agent is sent instead of an answer, in the shape in which model APIs report errors."""
    message = f"tape-miss: request {miss.number} ({miss.request.title}) has no recording: {miss.cause}."
    return msgspec.json.encode({"type": "error", "error": {"type": "tape-miss", "message": message}})


def _miss_answer(message: Table, miss: Miss) -> bytes:
    """The same as an answer of JSON-RPC; a notification has none."""
    message_id, error = message.get("id"), {"code": -32000, "message": f"tape-miss: {miss.cause}"}
    if message_id is None:
        return b""
    return msgspec.json.encode({"jsonrpc": "2.0", "id": message_id, "error": error}) + b"\n"


def _split_path(path: str) -> tuple[str, str, str]:
    """The run of a case that an address names, the service, and the path at the service."""
    run = ""
    if path.startswith(RUN_PATH):
        run, _, path = path.removeprefix(RUN_PATH).partition("/")
        path = f"/{path}"
    service, slash, below = path.removeprefix("/").partition("/")
    service, mark, query = service.partition("?")
    return run, service, f"{slash}{below}{mark}{query}"
