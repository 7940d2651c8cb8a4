"""A guard in front of a real MCP server process, and in front of one over HTTP."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import carob
from carob.guard.mcp import HttpGuard, MessageGuard
from guard.policies import CALLS, write_policy

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
    calls: list[str]

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if message["method"] == "tools/call":
            type(self).calls.append(message["params"]["name"])
        answer = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": {"content": []}}).encode()
        is_stream = message.get("id") == 2
        body = b"event: message\ndata: " + answer + b"\n\n" if is_stream else answer
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if is_stream else "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_a_server_over_http_is_guarded_by_session(tmp_path: Path) -> None:
    handler = type("Handler", (_Server,), {"calls": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    front = HttpGuard(
        carob.Guard(write_policy(tmp_path, CALLS), seam="mcp"), f"http://127.0.0.1:{server.server_port}/mcp"
    )
    front.open()

    def post(message: object, session: str) -> tuple[int, str]:
        address = urlsplit(front.url)
        connection = HTTPConnection(address.netloc, timeout=10)
        headers = {"content-type": "application/json", "mcp-session-id": session}
        connection.request("POST", address.path, json.dumps(message), headers)
        reply = connection.getresponse()
        text = reply.read().decode()
        connection.close()
        return reply.status, text

    try:
        for session in ("one", "two"):
            post({"jsonrpc": "2.0", "method": "notifications/initialized"}, session)
        assert "Look an invoice up" in post(call(1, "pay_invoice", id="A"), "one")[1]
        assert "event: message" in post(call(2, "get_invoice", id="A"), "one")[1]
        assert "isError" not in post(call(3, "pay_invoice", id="A"), "one")[1]
        assert "isError" in post(call(4, "pay_invoice", id="A"), "two")[1]
        assert "was not seen" in post(call(5, "pay_invoice", id="A"), "never begun")[1]
        assert post([call(6, "pay_invoice", id="A")], "one")[0] == 400
        assert handler.calls == ["get_invoice", "pay_invoice"]
    finally:
        front.close()
        server.shutdown()
        server.server_close()
