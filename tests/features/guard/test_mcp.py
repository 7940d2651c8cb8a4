"""A guard in front of a real MCP server process, and in front of one over HTTP."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import carob
from carob.features.guard.mcp import HttpGuard, MessageGuard, find_errors
from features.guard.policies import CALLS, write_policy

ONCE = CALLS + "  - { id: once, each: { call: pay_invoice }, at_most: 1 }\n"
SERVER = """
import json, sys
log = open(sys.argv[1], "a", buffering=1)
for line in sys.stdin:
    log.write(line)
    message = json.loads(line)
    if "id" in message:
        result = {"content": [{"type": "text", "text": "done"}]} if message["method"] == "tools/call" else {}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def call(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


class Client:
    """Speaks with a server through the guard, line by line."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "server.log"
        (folder / "server.py").write_text(SERVER)
        command = [str(Path(sys.executable).with_name("carob")), "guard", "mcp", str(write_policy(folder, CALLS)), "--"]
        command += [sys.executable, str(folder / "server.py"), str(self.log)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def send(self, line: str | dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write((line if isinstance(line, str) else json.dumps(line)).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        self.send(message)
        assert self.process.stdout is not None
        answers = (json.loads(line) for line in iter(self.process.stdout.readline, b""))
        return next(dict(answer) for answer in answers if answer["id"] == message["id"])

    @property
    def ran(self) -> list[str]:
        """The tools that the server's own log has."""
        messages = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [message["params"]["name"] for message in messages if message["method"] == "tools/call"]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    client = Client(tmp_path)
    yield client
    client.process.kill()
    client.process.communicate()


def test_a_call_is_refused_until_it_is_legal(client: Client) -> None:
    assert client.ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}})["result"] == {}
    refused = client.ask(call(1, "pay_invoice", id="A"))["result"]
    assert refused["isError"]
    assert "Look an invoice up before you pay it." in refused["content"][0]["text"]
    client.ask(call(2, "get_invoice", id="A"))
    assert "isError" not in client.ask(call(3, "pay_invoice", id="A"))["result"]
    assert client.ran == ["get_invoice", "pay_invoice"]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(json.dumps([call(1, "pay_invoice", id="A")]), id="several-at-once"),
        pytest.param(json.dumps({**call(1, "pay_invoice", id="A"), "id": None}), id="no-id"),
        pytest.param(json.dumps({k: v for k, v in call(1, "pay_invoice").items() if k != "id"}), id="notification"),
        pytest.param(json.dumps(call(1, "get_x"))[:-1] + ',"params":{"name":"pay_invoice"}}', id="a-key-twice"),
        pytest.param(json.dumps(call(1, "pay_invoice", id="A")).replace('"A"', "NaN"), id="not-json"),
        pytest.param(json.dumps(call(1, "pay_invoice", id="A")).replace("pay_i", "p\\u0061y_i"), id="escaped"),
        pytest.param(json.dumps(call(1, "Pay_Invoice", id="A")), id="another-spelling"),
    ],
)
def test_no_spelling_of_a_message_gets_past(client: Client, line: str) -> None:
    client.send(line)
    client.ask(call(9, "get_other", id="A"))
    assert client.ran == ["get_other"]
    assert "pay_invoice" not in client.log.read_text()
    assert "Pay_Invoice" not in client.log.read_text()


PAY = json.dumps(call(1, "pay_invoice", id="A"))


@pytest.mark.parametrize(
    ("sent", "ids", "code"),
    [
        pytest.param(f"[{PAY}, {PAY.replace(': 1,', ': 2,', 1)}]", [1, 2], -32600, id="several-at-once"),
        pytest.param("[]", [None], -32600, id="none-at-once"),
        pytest.param(PAY[:-1] + ', "method": "tools/list"}', [1], -32600, id="a-key-twice"),
        pytest.param(PAY.replace('"id": "A"', '"id": "A", "id": "B"'), [1], -32600, id="a-key-twice-below"),
        pytest.param(PAY[:-1] + ', "id": 2}', [None], -32600, id="the-id-twice"),
        pytest.param('{"jsonrpc": "2.0", "id": 1, "result": 1, "result": 2}', [None], -32600, id="an-answer"),
        pytest.param("7", [None], -32600, id="a-number"),
        pytest.param("{", [None], -32700, id="not-json"),
    ],
)
def test_what_is_not_one_message_is_answered_with_an_error(
    client: Client, sent: str, ids: list[int | None], code: int
) -> None:
    assert [(error["id"], error["error"]["code"]) for error in find_errors(sent.encode())] == [
        (each, code) for each in ids
    ]
    client.send(sent)
    assert client.process.stdout is not None
    answers = [json.loads(client.process.stdout.readline()) for _ in ids]
    assert [(answer["id"], answer["error"]["code"]) for answer in answers] == [(each, code) for each in ids]


def test_an_error_of_the_server_is_no_success(tmp_path: Path) -> None:
    """What fails has not happened: the call that needs it is refused, and so are calls without a name."""
    with carob.Guard(write_policy(tmp_path, CALLS), seam="mcp").conversation() as conversation:
        desk = MessageGuard(conversation)
        answers = [
            {"error": {"code": -1, "message": "gone"}},
            {"result": {"isError": True}},
            {"result": "ok"},
            {},
            None,
        ]
        for number, answer in enumerate(answers):
            assert desk.judge(call(number, "get_invoice", id="A")) is None
            desk.report(number, answer)
            assert desk.judge(call(10 + number, "pay_invoice", id="A")) is not None
        desk.report(99, {"result": {"content": []}})
        for nameless in ({"name": 3}, {"name": "pay_invoice", "arguments": "all"}, []):
            refusal = desk.judge({"id": 1, "method": "tools/call", "params": nameless})
            assert refusal is not None
            assert "needs an id, a name and arguments" in refusal["error"]["message"]
        assert desk.judge(call(3, "get_invoice", id="A")) is None
        desk.report(3, {"result": {"content": []}})
        assert desk.judge(call(4, "pay_invoice", id="A")) is None


def test_a_killed_guard_ends_the_way_to_the_server(client: Client) -> None:
    client.ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}})
    client.process.kill()
    client.process.wait()
    with pytest.raises((BrokenPipeError, StopIteration)):
        client.ask(call(1, "pay_invoice", id="A"))
    assert not client.log.exists() or client.ran == []


class _Server(BaseHTTPRequestHandler):
    """Hands out sessions, if it has them, and takes any."""

    calls: list[str]
    others: list[str]
    sessions: Iterator[str] | None

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if message["method"] == "tools/call":
            self.calls.append(message["params"]["name"])
        answer = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": {"content": []}}).encode()
        is_stream = message.get("id") == 2
        body = b"event: message\ndata: " + answer + b"\n\n" if is_stream else answer
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if is_stream else "application/json")
        self.send_header("content-length", str(len(body)))
        if message["method"] == "initialize" and self.sessions is not None:
            self.send_header("Mcp-Session-Id", next(self.sessions))
        self.end_headers()
        self.wfile.write(body)

    def do_other(self) -> None:
        self.others.append(self.command)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    do_GET = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_other

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Front:
    """A guard in front of such a server."""

    def __init__(self, folder: Path, *, has_sessions: bool = True, **how: Any) -> None:
        sessions = (f"s-{number}" for number in count()) if has_sessions else None
        self.server = type("Server", (_Server,), {"calls": [], "others": [], "sessions": sessions})
        self._behind = ThreadingHTTPServer(("127.0.0.1", 0), self.server)
        threading.Thread(target=self._behind.serve_forever, daemon=True).start()
        self._policy = write_policy(folder, ONCE)
        self.begin(**how)

    def begin(self, **how: Any) -> None:
        self.asked = carob.Guard(self._policy, seam="mcp", **how)
        self.guard = HttpGuard(self.asked, f"http://127.0.0.1:{self._behind.server_port}/mcp")
        self.guard.open()

    def close(self) -> None:
        self.guard.close()
        self._behind.shutdown()
        self._behind.server_close()

    def send(self, method: str, message: object, session: str | None = None) -> tuple[int, str, str]:
        """The status, the body, and the session that was handed out."""
        address = urlsplit(self.guard.url)
        connection = HTTPConnection(address.netloc, timeout=10)
        headers = {"content-type": "application/json"} | ({"mcp-session-id": session} if session is not None else {})
        connection.request(method, address.path, None if message is None else json.dumps(message), headers)
        reply = connection.getresponse()
        text = reply.read().decode()
        connection.close()
        return reply.status, text, reply.headers.get("mcp-session-id", "")

    def initialize(self) -> str:
        session = self.send("POST", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}})[2]
        self.send("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"}, session or None)
        return session

    def call(self, number: int, tool: str, session: str | None = None) -> str:
        return self.send("POST", call(number, tool, id="A"), session)[1]


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Front]:
    front = Front(tmp_path)
    yield front
    front.close()


def test_a_server_over_http_is_guarded_by_session(front: Front) -> None:
    one, two = front.initialize(), front.initialize()
    assert "Look an invoice up" in front.call(1, "pay_invoice", one)
    assert "event: message" in front.call(2, "get_invoice", one)
    assert "isError" not in front.call(3, "pay_invoice", one)
    assert "isError" in front.call(4, "pay_invoice", one), "it was paid once"
    assert "isError" in front.call(5, "pay_invoice", two)
    status, refused, _ = front.send("POST", [call(6, "pay_invoice", id="A")], one)
    assert (status, json.loads(refused)["id"], json.loads(refused)["error"]["code"]) == (400, 6, -32600)
    assert front.server.calls == ["get_invoice", "pay_invoice"]


@pytest.mark.parametrize("session", ["made-up", "", None, "s-1"])
def test_a_session_that_the_server_did_not_hand_out_is_refused(front: Front, session: str | None) -> None:
    """Each of them would begin to count again."""
    front.initialize()
    assert front.send("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"}, session)[0] == 404
    assert "did not hand out this session" in front.call(1, "get_invoice", session)
    assert front.server.calls == []


def test_a_server_without_sessions_has_one_conversation(tmp_path: Path) -> None:
    front = Front(tmp_path, has_sessions=False)
    assert front.initialize() == ""
    front.call(1, "get_invoice")
    front.initialize()
    assert "isError" not in front.call(3, "pay_invoice")
    assert "isError" in front.call(4, "pay_invoice"), "it was paid once"
    assert "did not hand out" in front.call(5, "get_invoice", "made-up")
    front.close()


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "GET", "OPTIONS"])
def test_no_other_method_brings_a_body_to_the_server(front: Front, method: str) -> None:
    session = front.initialize()
    assert front.send(method, call(1, "pay_invoice", id="A"), session)[0] == 405
    assert front.server.others == []
    assert front.send(method, None, session)[0] == (200 if method in ("GET", "DELETE") else 405)


def test_sessions_outlive_the_guard_in_a_store(tmp_path: Path) -> None:
    front = Front(tmp_path, store=tmp_path / "s.sqlite")
    session = front.initialize()
    front.call(1, "get_invoice", session)
    assert "isError" not in front.call(3, "pay_invoice", session)
    front.guard.close()
    front.begin(store=tmp_path / "s.sqlite")
    assert "isError" in front.call(4, "pay_invoice", session), "it was paid once"
    front.guard.close()
    front.begin()
    assert "did not hand out" in front.call(5, "get_invoice", session)
    front.close()


def test_a_full_store_begins_nothing(tmp_path: Path) -> None:
    front = Front(tmp_path, store=tmp_path / "s.sqlite")
    session = front.initialize()
    assert front.asked._store is not None
    front.asked._store._run("PRAGMA max_page_count = 1")
    full = "the store cannot be used: database or disk is full"
    with pytest.raises(carob.CarobError, match=full):
        front.asked.open("c", is_new=True, metadata={"note": "x" * 60_000})
    paid = call(1, "pay_invoice", id="A", note="x" * 60_000)
    assert full in front.send("POST", paid, session)[1]
    for _ in range(1_000):
        begun = front.send("POST", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}})
        if begun[0] != 200:
            break
    assert begun[0] == 503
    assert full in begun[1]
    front.close()
