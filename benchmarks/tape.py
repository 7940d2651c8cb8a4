"""`python -m benchmarks.tape`: what the proxy costs per request, next to a minimal one that only hands requests on.

Requests of a chat with a few messages come over loopback, one after the other, from another process. CPU is that of the
process that serves them. The exit code never depends on a time.
"""

from __future__ import annotations

import argparse
import http.client
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from karat.options import TapeMode
from karat.telemetry.models.traffic import ModelTraffic
from karat.traces.redact import Redactor
from karat.world.player import TapePlayer
from karat.world.proxy import ServiceProxy
from karat.world.requests import Leaves
from karat.world.serving import ServedRun
from karat.world.tape import Tape, read_tape

PATH = "/v1/chat/completions"
MOST_CPU = 2.0
MOST_GROWTH = 1.2
BODY = json.dumps(
    {"model": "m", "messages": [{"role": "user", "content": "What is the balance of account A1? " * 20}] * 4}
).encode()
ANSWER = json.dumps({"choices": [{"message": {"role": "assistant", "content": "It is 12.50. " * 20}}]}).encode()
SERVER = """
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
answer = sys.stdin.buffer.read()
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
    def log_message(self, *args):
        pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""
CLIENT = """
import http.client, sys
port, path, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
body = sys.stdin.buffer.read()
wire = http.client.HTTPConnection("127.0.0.1", port)
for number in range(count):
    wire.request("POST", path, body, {"Content-Type": "application/json"})
    answer = wire.getresponse()
    answer.read()
    assert answer.status == 200, answer.status
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tape", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--requests", type=int, default=10_000, metavar="N", help="how many (default 10,000)")
    count = parser.parse_args().requests
    with _upstream() as port, tempfile.TemporaryDirectory() as folder:
        plain = min(_passed_through(port, count) for _ in range(2))
        found = {
            "handed on, traffic with models read": _proxied(port, count, Path(folder), None),
            "recorded": _proxied(port, count, Path(folder), "record"),
            "replayed": _proxied(port, count, Path(folder), "replay"),
        }
    print(f"| {count:,} requests of {len(BODY):,} bytes | CPU µs a request | times passing through |")
    print("|---|---|---|")
    for name, cpu in (("passed through", plain), *((name, cpu) for name, (cpu, _) in found.items())):
        print(f"| {name} | {cpu / count * 1e6:.0f} | {cpu / plain:.2f} |")
    most = max(cpu for cpu, _ in found.values())
    print(f"\ngoal: at most {MOST_CPU:g} times: {'met' if most <= MOST_CPU * plain else 'missed'}")
    for name, (_, growth) in found.items():
        print(f"{name}: peak memory at the end, times that after a tenth: {growth:.2f} (goal {MOST_GROWTH:g})")
    return 0


@contextmanager
def _upstream() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(ANSWER)
        server.stdin.close()
        try:
            yield int(server.stdout.readline())
        finally:
            server.kill()


def _passed_through(upstream: int, count: int) -> float:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            wire = http.client.HTTPConnection("127.0.0.1", upstream)
            wire.request("POST", self.path, body, {"Content-Type": self.headers["content-type"]})
            reply = wire.getresponse()
            found = reply.read()
            wire.close()
            self.send_response(reply.status)
            self.send_header("content-type", str(reply.getheader("content-type")))
            self.send_header("content-length", str(len(found)))
            self.end_headers()
            self.wfile.write(found)

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        return _measured(lambda: _ask(server.server_port, PATH, count))
    finally:
        server.shutdown()


def _proxied(upstream: int, count: int, folder: Path, mode: TapeMode | None) -> tuple[float, float]:
    """The CPU seconds, and how much memory grew after a tenth of the requests."""
    path = folder / "b.tape.yaml"
    tape = read_tape(path) if path.exists() else Tape(path=path)
    player = None if mode is None else TapePlayer(tape, mode, Leaves(), Redactor(["a-secret-value"]))
    case = None if player is None else player.begin("c", 0)
    served = ServedRun(case, ModelTraffic() if mode is None else None)
    proxy = ServiceProxy(player, {"openai": f"http://127.0.0.1:{upstream}"}, frozenset(), lambda run: served)
    proxy.open()
    port, address = int(proxy.place.rpartition(":")[2]), proxy.url("openai").removeprefix(proxy.place) + PATH
    try:
        first = _measured(lambda: _ask(port, address, count // 10))
        before = _peak_mb()
        taken = first + _measured(lambda: _ask(port, address, count - count // 10))
        assert case is None or not case.misses
        return taken, _peak_mb() / before
    finally:
        proxy.close()
        if player is not None and case is not None:
            player.end(case)
            player.close()


def _ask(port: int, path: str, count: int) -> None:
    arguments = [sys.executable, "-S", "-c", CLIENT, str(port), path, str(count)]
    subprocess.run(arguments, input=BODY, check=True)


def _measured(work: Callable[[], None]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
