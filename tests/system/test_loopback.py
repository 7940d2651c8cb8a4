"""The guards and caps of the receiver of spans and of the proxy, from the outside: bytes on a socket."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import urlsplit

import pytest

from carob.evidence import mcp_calls
from carob.evidence.span_receiver import Receiver
from carob.proxy.server import ServiceProxy
from carob.system import loopback, memory_estimate

CALL = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "pay", "arguments": {"n": 1}}}
ANSWER = {"jsonrpc": "2.0", "id": 7, "result": {"content": [{"type": "text", "text": "paid"}]}}
LISTED = {"jsonrpc": "2.0", "id": 8, "result": {"tools": [{"name": f"t{n}", "inputSchema": {}} for n in range(3)]}}


class Server(BaseHTTPRequestHandler):
    """Sends what a test says, byte by byte, and keeps what it was asked."""

    sent: ClassVar[bytes] = b""
    asked: ClassVar[list[tuple[str, dict[str, str]]]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        self.wfile.write(self.sent)
        self.close_connection = True

    do_GET = do_POST

    def log_message(self, *args: object) -> None: ...


def plain(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    head = "".join(f"{line}\r\n" for line in (f"Content-Length: {len(body)}", *headers))
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body


def stream(*lines: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + b"".join(lines)


@pytest.fixture
def server() -> Iterator[str]:
    Server.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as made:
        threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{made.server_port}/mcp"
        made.shutdown()


def mcp_proxy(server: str) -> ServiceProxy:
    return ServiceProxy(None, {}, frozenset(), lambda name: None, server)


@pytest.fixture
def proxy(server: str) -> Iterator[ServiceProxy]:
    proxy = mcp_proxy(server)
    proxy.open()
    yield proxy
    proxy.close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    made.open()
    yield made
    made.close()


def said(url: str, data: bytes) -> bytes:
    """What a server answers to these bytes, until it closes."""
    to = urlsplit(url)
    with socket.create_connection((to.hostname or "", to.port or 0), timeout=20) as wire:
        wire.sendall(data)
        wire.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: wire.recv(1 << 16), b""))


def request(url: str, body: bytes, *headers: str, path: str = "", host: str = "") -> bytes:
    to = urlsplit(url)
    first = f"POST {path or to.path} HTTP/1.1"
    head = (first, f"Host: {host or to.netloc}", f"Content-Length: {len(body)}", "Connection: close", *headers)
    return "\r\n".join((*head, "", "")).encode() + body


def called(proxy: ServiceProxy, sent: bytes, message: object = CALL) -> bytes:
    """What an agent hears of a call that the server answers so, without the sizes of its chunks."""
    Server.sent = sent
    return joined(said(proxy.mcp_url(), request(proxy.mcp_url(), json.dumps(message).encode())))


def joined(answer: bytes) -> bytes:
    """An answer with its chunks put together."""
    head, blank, body = answer.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" not in head.lower():
        return answer
    pieces = []
    while size := int(body.partition(b"\r\n")[0] or b"0", 16):
        start = body.index(b"\r\n") + 2
        pieces.append(body[start : start + size])
        body = body[start + size + 2 :]
    return head + blank + b"".join(pieces)


BOTH = pytest.mark.parametrize("kind", ["receiver", "proxy"])


def address(kind: str, get: Callable[[str], Receiver | ServiceProxy]) -> str:
    made = get(kind)
    return f"{made.endpoint}/v1/traces" if isinstance(made, Receiver) else made.mcp_url()


@BOTH
def test_a_body_in_chunks_is_bounded_too(
    request_fixture: Callable[[str], Receiver | ServiceProxy], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loopback, "BODY_CAP", 1000)
    url = address(kind, request_fixture)
    head = request(url, b"", "Content-Type: application/json", "Transfer-Encoding: chunked")
    sent = head.replace(b"Content-Length: 0\r\n", b"") + b"258\r\n%s\r\n" % (b" " * 600) * 2 + b"0\r\n\r\n"
    assert said(url, sent).startswith(b"HTTP/1.1 413 ")


@BOTH
@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"origin": "Origin: https://evil.example"}, 403),
        ({"origin": "Origin: null"}, 403),
        ({"origin": "Sec-Fetch-Site: cross-site"}, 403),
        ({"path": "/mcp"}, 403),
        ({"path": "/v1/traces"}, 403),
        ({"path": "/" + "a" * 9_000}, 414),
        ({"origin": "\r\n".join(f"x-{n}: y" for n in range(120))}, 431),
        ({"origin": "x: " + "y" * 70_000}, 431),
        ({"origin": "Transfer-Encoding: chunked"}, 400),
        ({"origin": "Transfer-Encoding: gzip"}, 400),
        ({"origin": "Content-Length: " + "9" * 5_000}, 400),
        ({"length": "9" * 15}, 413),
        ({"origin": "x: a\n"}, 400),
        ({"origin": "x: a\nHost: evil.example"}, 400),
        ({"origin": "x: a\r\n evil.example"}, 400),
        ({"origin": ": a"}, 400),
        ({"origin": "a b: c"}, 400),
        ({"path": "/\x01"}, 400),
        ({"path": "/é"}, 400),
        ({"method": "PO\x01ST"}, 400),
        ({"method": ""}, 400),
        ({}, 200),
    ],
)
def test_only_who_was_given_the_address_is_served(
    request_fixture: Callable[[str], Receiver | ServiceProxy], kind: str, change: dict[str, str], status: int
) -> None:
    url = address(kind, request_fixture)
    Server.sent = plain(b"{}")
    more = ["Content-Type: application/json", *([change["origin"]] if "origin" in change else [])]
    body = json.dumps({} if kind == "receiver" else CALL).encode()
    asked = request(url, body, *more, path=change.get("path", ""), host=change.get("host", ""))
    if "length" in change:
        asked = asked.replace(f"Content-Length: {len(body)}".encode(), f"Content-Length: {change['length']}".encode())
    answer = said(url, asked.replace(b"POST", change.get("method", "POST").encode(), 1))
    assert answer.startswith(b"HTTP/1.1 %d " % status), answer[:200]
    assert bool(Server.asked) is (status == 200 and kind == "proxy")


@pytest.fixture
def request_fixture(request: pytest.FixtureRequest) -> Callable[[str], Receiver | ServiceProxy]:
    return lambda kind: request.getfixturevalue(kind)


def test_the_server_is_asked_by_its_own_name(proxy: ServiceProxy) -> None:
    Server.sent = plain(json.dumps(ANSWER).encode())
    own = f"Origin: http://{urlsplit(proxy.mcp_url()).netloc}"
    said(
        proxy.mcp_url(),
        request(proxy.mcp_url(), json.dumps(CALL).encode(), own, "Accept-Encoding: gzip", "X-Own: kept"),
    )
    ((path, headers),) = Server.asked
    assert path == "/mcp"
    assert headers["host"] == urlsplit(f"http://{headers['host']}").netloc != urlsplit(proxy.mcp_url()).netloc
    assert "origin" not in headers
    assert headers["accept-encoding"] == "identity"
    assert headers["x-own"] == "kept"


@BOTH
def test_all_connections_together_have_room_for_so_much(
    request_fixture: Callable[[str], Receiver | ServiceProxy], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One connection that claims all of it and sends nothing; the next one is refused, and served once that is over."""
    claimed, take = threading.Event(), loopback.MemoryBudget.take

    def watch(budget: loopback.MemoryBudget, size: int) -> None:
        take(budget, size)
        if size == 900:
            claimed.set()

    monkeypatch.setattr(loopback.MemoryBudget, "take", watch)
    monkeypatch.setattr(loopback.MemoryBudget.__init__, "__defaults__", (1_000,))
    url = address(kind, request_fixture)
    to = urlsplit(url)
    Server.sent = plain(b"{}")
    small = request(url, b"{" + b" " * 200 + b"}", "Content-Type: application/json")
    assert said(url, small).startswith(b"HTTP/1.1 200")
    with socket.create_connection((to.hostname or "", to.port or 0), timeout=20) as claiming:
        head, _, _ = request(url, b"x" * 900).partition(b"\r\n\r\n")
        claiming.sendall(head.replace(b"Connection: close", b"Expect: 100-continue") + b"\r\n\r\n")
        assert claiming.recv(100).startswith(b"HTTP/1.1 100")
        claiming.sendall(b"x")
        assert claimed.wait(20)  # another request before that would leave no room for the claim
        assert said(url, small).startswith(b"HTTP/1.1 503")
    while b"HTTP/1.1 503" in (answer := said(url, small)):
        continue  # its end was not read yet
    assert answer.startswith(b"HTTP/1.1 200")


LONG = json.dumps({**ANSWER, "result": "x" * 5_000}).encode()


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(plain(LONG), id="long"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n" + LONG, id="without a length"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(LONG), LONG),
            id="in chunks",
        ),
    ],
)
def test_a_reply_that_is_too_long_is_a_clear_502(
    proxy: ServiceProxy, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(loopback, "BODY_CAP", 4_000)
    answer = called(proxy, sent)
    assert answer.startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
    assert answer.endswith(b"the MCP server sent a reply of more than 4,000 bytes\n")
    (proxied,) = proxy.mcp
    assert (proxied.call.name, proxied.call.success) == ("pay", None)
    monkeypatch.setattr(loopback, "BODY_CAP", 10_000)
    assert called(proxy, sent).endswith(LONG)


def test_a_line_that_is_too_long_ends_the_stream_and_says_so(
    proxy: ServiceProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loopback, "BODY_CAP", 4_000)
    answer = called(proxy, stream(b": hello\n\n", b"data: " + LONG + b"\n\n"))
    head, _, events = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert events.startswith(b": hello\n\nevent: message\ndata: ")
    error = json.loads(events.rpartition(b"data: ")[2])
    assert error["id"] == 7
    assert error["error"]["message"] == "the MCP server sent an event of more than 4,000 bytes"
    assert len(events) < 4_000
    (proxied,) = proxy.mcp
    assert proxied.call.success is None


def test_a_server_that_breaks_off_a_stream_is_an_event_that_says_so(
    proxy: ServiceProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reset(*args: object) -> bytes:
        raise ConnectionResetError("reset by the server")

    monkeypatch.setattr("http.client.HTTPResponse.read1", reset)
    _, _, events = called(proxy, stream(b": hello\n")).partition(b"\r\n\r\n")
    assert b"HTTP/1.1" not in events, "the status was sent before"
    heard = json.loads(events.rpartition(b"data: ")[2])
    assert heard["error"]["message"] == "the request to the MCP server failed: reset by the server"


def test_an_event_of_very_many_lines_is_not_read(proxy: ServiceProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loopback, "BODY_CAP", 4_000)
    event = b"data: " + json.dumps(ANSWER).encode() + b"\n\n"
    called(proxy, stream(b"data:\n" * 40, event))
    called(proxy, stream(b"data:\n" * 400, event))
    assert [proxied.call.success for proxied in proxy.mcp] == [True, None]


def test_an_event_of_several_lines_is_one_message(proxy: ServiceProxy) -> None:
    lines = json.dumps(ANSWER, indent=0).encode().splitlines()
    called(proxy, stream(b"event: message\r\n", *(b"data: " + line + b"\r\n" for line in lines), b"\r\n"))
    called(proxy, stream(*(b"data: " + line + b"\n" for line in lines)))
    assert [(proxied.call.result, proxied.call.success) for proxied in proxy.mcp] == [
        ([{"type": "text", "text": "paid"}], True)
    ] * 2


def test_an_address_of_the_server_becomes_one_of_the_proxy(proxy: ServiceProxy, server: str) -> None:
    base = urlsplit(proxy.mcp_url("mine")).geturl().removesuffix("/mcp")
    root = server.removesuffix("/mcp")
    for location in ("/mcp/?a=b", f"{root}/mcp/?a=b", "mcp/?a=b"):
        Server.sent = plain(b"", f"Location: {location}", status="307 Temporary Redirect")
        answer = said(proxy.mcp_url(), request(proxy.mcp_url("mine"), b"{}"))
        assert f"Location: {base}/mcp/?a=b\r\n".encode() in answer
        assert answer.count(b"Location") == 1
    Server.sent = stream(b"event: endpoint\n", b"data: /messages?session=1\n\n")
    answer = joined(said(proxy.mcp_url(), request(proxy.mcp_url(), b"{}")))
    assert answer.endswith(
        f"event: endpoint\ndata: {proxy.mcp_url().removesuffix('/mcp')}/messages?session=1\n\n".encode()
    )


@pytest.mark.parametrize(
    "sent",
    [
        plain(b"", "Location: http://evil.example/mcp", status="307 Temporary Redirect"),
        plain(b"", "Location: http://[", status="307 Temporary Redirect"),
        b"not HTTP",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 200 + b"\r\n",
        b"",
    ],
)
def test_what_cannot_be_handed_on_is_a_clear_502(proxy: ServiceProxy, sent: bytes) -> None:
    answer = called(proxy, sent)
    assert answer.startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
    assert b"the MCP server " in answer.partition(b"\r\n\r\n")[2]


def test_a_server_that_is_not_there_is_a_clear_502() -> None:
    for upstream in ("http://127.0.0.1:9/mcp", "http://user:secret@127.0.0.1:9/mcp", "http://nowhere.invalid/mcp"):
        proxy = mcp_proxy(upstream)
        proxy.open()
        try:
            answer = said(proxy.mcp_url(), request(proxy.mcp_url(), b"{}"))
        finally:
            proxy.close()
        assert answer.startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
        assert b"the request to the MCP server failed: " in answer
        assert b"secret" not in answer


def test_what_takes_too_much_memory_to_read_is_handed_on_unread(
    proxy: ServiceProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_estimate, "HEAVIEST", 10_000)
    dense = json.dumps({**ANSWER, "result": [{}] * 200}).encode()
    assert len(dense) < 1_000
    assert called(proxy, plain(dense)).endswith(dense)
    called(proxy, plain(b"{}"), {**CALL, "params": {"name": "pay", "arguments": [{}] * 200}})
    assert [(proxied.call.name, proxied.call.success) for proxied in proxy.mcp] == [("pay", None), ("", None)]


def test_calls_are_kept_as_long_as_there_is_room_and_those_let_go_are_known(
    proxy: ServiceProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_calls, "MEMORY_CAP", 30_000)
    for _ in range(5):
        called(proxy, plain(LONG))
    kept = list(proxy.mcp)
    assert 0 < len(kept) < 5
    assert 0 < proxy.mcp.lost_at < (kept[0].call.started_at or 0)
    monkeypatch.setattr(mcp_calls, "MAX_CALLS", 1)
    called(proxy, plain(b"{}"))
    assert len(list(proxy.mcp)) == 1


def test_tools_that_a_server_lists_are_bounded(proxy: ServiceProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_calls, "MAX_TOOLS", 2)
    asked = {"jsonrpc": "2.0", "id": 8, "method": "tools/list"}
    called(proxy, plain(json.dumps(LISTED).encode()), asked)
    assert proxy.mcp.tools == {}
    monkeypatch.setattr(mcp_calls, "MAX_TOOLS", 3)
    called(proxy, plain(json.dumps(LISTED).encode()), asked)
    assert set(proxy.mcp.tools) == {"t0", "t1", "t2"}


@BOTH
def test_who_says_nothing_more_is_let_go(
    request_fixture: Callable[[str], Receiver | ServiceProxy], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loopback, "IDLE", 1)
    monkeypatch.setattr(loopback, "DRAIN", 1)
    to = urlsplit(address(kind, request_fixture))
    with socket.create_connection((to.hostname or "", to.port or 0), timeout=20) as wire:
        wire.sendall(b"POST ")
        assert wire.recv(100).startswith(b"HTTP/1.1 408")
