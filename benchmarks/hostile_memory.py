"""The memory of our servers under hostile clients and MCP servers: `python -m benchmarks.hostile_memory`.

Each row runs in a process of its own, which holds the server; what attacks it are threads of this one.
"""

from __future__ import annotations

import gzip
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

MB = 1 << 20
MOST = 800
"""MB that a server may take besides what it takes idle: the bodies held (128), the one being read, its values, and
what is kept (256 of spans or 128 of calls)."""
AT_ONCE = 48

HOST = """
import sys
from carob.proxy.server import ServiceProxy
from carob.evidence.span_receiver import Receiver
from carob.evidence.spans.trace_context import TraceContext

def rss():
    lines = open("/proc/self/status").read().splitlines()  # unlike getrusage, without what the parent took
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM"))

server = Receiver()
if len(sys.argv) > 1:
    server = ServiceProxy(None, {}, frozenset(), lambda name: None, sys.argv[1])
server.open()
if isinstance(server, Receiver):
    window = server.inbox.open_window(TraceContext())
print(server.mcp_url() if isinstance(server, ServiceProxy) else server.endpoint + "/v1/traces", rss(), flush=True)
sys.stdin.readline()
if isinstance(server, Receiver):
    window.records()
print(rss(), flush=True)
"""


def growth(attack: Callable[[str], None], *upstream: str) -> int:
    """MB that the server took at its peak, besides what it took idle."""
    command = [sys.executable, "-c", HOST, *upstream]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdin is not None
        assert host.stdout is not None
        url, idle = host.stdout.readline().split()
        attack(url)
        host.stdin.write("\n")
        host.stdin.flush()
        return int(host.stdout.readline()) - int(idle)


def asked(url: str, *pieces: bytes, headers: str = "", length: int | None = None) -> None:
    """Send a request, piece by piece, and read what comes until the end."""
    to = urlsplit(url)
    size = sum(map(len, pieces)) if length is None else length
    head = (
        f"POST {to.path} HTTP/1.1\r\nHost: {to.netloc}\r\nConnection: close\r\nContent-Length: {size}\r\n{headers}\r\n"
    )
    with suppress(OSError), socket.create_connection((to.hostname or "", to.port or 0), timeout=120) as wire:
        wire.sendall(head.encode())
        for piece in pieces:
            wire.sendall(piece)
        while wire.recv(1 << 16):
            continue


def together(*pieces: bytes, headers: str = "", times: int = AT_ONCE) -> Callable[[str], None]:
    def attack(url: str) -> None:
        attacks = [
            threading.Thread(target=asked, args=(url, *pieces), kwargs={"headers": headers}) for _ in range(times)
        ]
        for one in attacks:
            one.start()
        for one in attacks:
            one.join()

    return attack


def spans(inside: bytes) -> bytes:
    for tag in (0x12, 0x0A):
        rest, size = len(inside), b""
        while rest >= 128:
            size, rest = size + bytes([rest & 127 | 128]), rest >> 7
        inside = bytes([tag]) + size + bytes([rest]) + inside
    return inside


PROTOBUF, JSON, GZIP = (
    "Content-Type: application/x-protobuf\r\n",
    "Content-Type: application/json\r\n",
    "Content-Encoding: gzip\r\n",
)
CALL = json.dumps({"id": 1, "method": "tools/call", "params": {"name": "t", "arguments": {}}}).encode()
LIST = json.dumps({"id": 1, "method": "tools/list"}).encode()


def of_clients() -> Iterator[tuple[str, Callable[[str], None]]]:
    yield f"OTLP: {AT_ONCE} bodies of 32 MiB at once", together(bytes(32 * MB), headers=PROTOBUF)
    yield (
        f"OTLP: {AT_ONCE} packed bodies, 32 MiB each",
        together(gzip.compress(bytes(32 * MB)), headers=PROTOBUF + GZIP),
    )
    dense = spans(b"\x12\x00" * (10 * MB))
    yield "OTLP: 8 x 20 MiB of empty spans", together(dense, headers=PROTOBUF, times=8)
    some = spans(b"\x12\x00" * (MB // 4))
    yield "OTLP: 30 x 0.5 MiB of empty spans", together(some, headers=PROTOBUF, times=30)
    values = b'{"resourceSpans":[%s{}]}' % (b"{}," * (10 * MB))
    yield "OTLP: 8 x 30 MiB of empty values", together(values, headers=JSON, times=8)
    resource = b'{"resource":{"attributes":[%s{}]},"scopeSpans":[{"spans":[%s]}]}' % (
        b'{"key":"k"},' * 200_000,
        b",".join([b'{"traceId":"%s","spanId":"%016x"}' % (b"1" * 32, n) for n in range(30_000)]),
    )
    yield (
        "OTLP: 30,000 spans of a resource of 200,000",
        together(b'{"resourceSpans":[%s]}' % resource, headers=JSON, times=1),
    )
    yield f"OTLP: {AT_ONCE} heads without end", together(headers="x: " + "y" * (8 * MB))


def pieces(*parts: bytes, times: int = 1) -> Callable[[], Iterator[bytes]]:
    def sent() -> Iterator[bytes]:
        yield parts[0]
        for _ in range(times):
            yield parts[1]
        yield from parts[2:]

    return sent


PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


def of_servers() -> Iterator[tuple[str, Callable[[], Iterator[bytes]], Callable[[str], None]]]:
    text = b'{"id":1,"result":{"content":[{"type":"text","text":"%s"}]}}'
    yield "MCP: one line of 1.5 GB", pieces(STREAM + b"data: ", b"x" * MB, times=1500), together(CALL, times=1)
    yield "MCP: a reply of 1.5 GB", pieces(PLAIN, b"x" * MB, times=1500), together(CALL, times=1)
    yield f"MCP: {AT_ONCE} replies of 30 MiB at once", pieces(PLAIN, text % (b"x" * 30 * MB)), together(CALL)
    yield "MCP: 300 replies of 1 MiB", pieces(PLAIN, text % (b"x" * MB)), together(CALL, times=300)
    dense = b'{"id":1,"result":[%s{}]}' % (b"{}," * (7 * MB))
    yield "MCP: 8 replies of 21 MiB of empty values", pieces(PLAIN, dense), together(CALL, times=8)
    many = b'{"id":1,"result":{"content":[%s{}]}}' % (b"{}," * (MB // 4))
    yield "MCP: 100 replies of 0.75 MiB of empty values", pieces(PLAIN, many), together(CALL, times=100)
    tools = b",".join([b'{"name":"t%d","inputSchema":{"a":[{},{},{}]}}' % n for n in range(200_000)])
    yield (
        "MCP: 8 lists of 200,000 tools",
        pieces(PLAIN, b'{"id":1,"result":{"tools":[%s]}}' % tools),
        together(LIST, times=8),
    )
    yield (
        "MCP: a head without end",
        pieces(b"HTTP/1.1 200 OK\r\n", b"x: " + b"y" * MB, times=200),
        together(CALL, times=1),
    )


@contextmanager
def serving(sent: Callable[[], Iterator[bytes]]) -> Iterator[str]:
    """A server that answers everything with the same bytes."""

    class Hostile(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.close_connection = True
            with suppress(OSError):
                for piece in sent():
                    self.wfile.write(piece)

        def log_message(self, *args: object) -> None: ...

    class Server(ThreadingHTTPServer):
        request_queue_size = 256

    with Server(("127.0.0.1", 0), Hostile) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{made.server_port}/mcp"
        made.shutdown()


def main() -> int:
    print("| attack | peak growth, MB | at most | met |\n|---|---|---|---|")
    worst = 0
    for name, attack in of_clients():
        found = growth(attack)
        worst = max(worst, found)
        print(f"| {name} | {found} | {MOST} | {'yes' if found <= MOST else 'NO'} |", flush=True)
    for name, sent, attack in of_servers():
        with serving(sent) as url:
            found = growth(attack, url)
        worst = max(worst, found)
        print(f"| {name} | {found} | {MOST} | {'yes' if found <= MOST else 'NO'} |", flush=True)
    return 0 if worst <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
