"""`python -m benchmarks.tape`: what the proxy costs per request, next to a minimal one that only hands requests on.

Requests of a chat with a few messages come over loopback, one after the other, from another process: ten to a case, and
then all in one case. Each way to serve them has a process of its own, whose CPU and memory are measured. The exit code
never depends on a time.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TypeVar

from carob.evidence.model_evidence import read_traffic
from carob.evidence.model_traffic import ModelTraffic
from carob.options import TapeMode
from carob.proxy.server import CaseSession, ServiceProxy
from carob.proxy.tape.file import Tape, read_tape
from carob.proxy.tape.player import TapePlayer
from carob.proxy.tape.requests import IgnoreRules
from carob.redaction.redactor import Redactor

Measured = TypeVar("Measured")
PATH = "/v1/chat/completions"
MOST_CPU = 2.0
MOST_GROWTH = 1.2
IN_A_CASE = 10
WAYS: dict[str, TapeMode | None] = {
    "handed on, traffic with models read": None,
    "recorded": "record",
    "replayed": "replay",
}
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
        plain = min(_apart(_passed_through, port, count) for _ in range(2))
        found = {name: _apart(_proxied, port, count, IN_A_CASE, Path(folder), mode) for name, mode in WAYS.items()}
        long = {name: _apart(_proxied, port, count, count, Path(folder), mode) for name, mode in WAYS.items()}
    print(f"| {count:,} requests of {len(BODY):,} bytes | CPU µs a request | times passing through |")
    print("|---|---|---|")
    for name, cpu in (("passed through", plain), *((name, cpu) for name, (cpu, _) in found.items())):
        print(f"| {name} | {cpu / count * 1e6:.0f} | {cpu / plain:.2f} |")
    most = max(cpu for cpu, _ in found.values())
    print(f"\ngoal: at most {MOST_CPU:g} times: {'met' if most <= MOST_CPU * plain else 'missed'}\n")
    print(f"| most memory after a tenth, times that after a tenth | {IN_A_CASE} requests a case | one case |")
    print("|---|---|---|")
    for name, (_, growth) in found.items():
        print(f"| {name} | {growth:.2f} (goal {MOST_GROWTH:g}) | {long[name][1]:.2f} |")
    return 0


def _apart(work: Callable[..., Measured], *arguments: object) -> Measured:
    """Do it in a process of its own: memory that another way took is not given back."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


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


class Cases:
    """Cases of so many requests each, one after the other."""

    def __init__(self, player: TapePlayer | None, size: int) -> None:
        self._player = player
        self._size = size
        self._ended = 0
        self._run = self._begin()

    def serve(self, run: str) -> CaseSession:
        """The run of a case that the next request belongs to."""
        if self._run.requests == self._size:
            self.end()
            self._run = self._begin()
        return self._run

    def end(self) -> None:
        self._ended += 1
        if self._run.traffic is not None:
            assert read_traffic(self._run.traffic, self._run.traffic.exchanges, "").model_calls == self._run.requests
        if self._player is not None and self._run.on_tape is not None:
            assert not self._run.on_tape.misses
            self._player.end(self._run.on_tape)

    def _begin(self) -> CaseSession:
        if self._player is None:
            return CaseSession(None, ModelTraffic())
        return CaseSession(self._player.begin(f"case {self._ended}", 0))


def _proxied(upstream: int, count: int, in_a_case: int, folder: Path, mode: TapeMode | None) -> tuple[float, float]:
    """The CPU seconds, and the most memory after a tenth of the requests, times that after the tenth."""
    path = folder / f"{in_a_case}.tape.yaml"
    tape = read_tape(path) if path.exists() else Tape(path=path)
    player = None if mode is None else TapePlayer(tape, mode, IgnoreRules(), Redactor(["a-secret-value"]))
    if player is not None:
        player.open()
    cases = Cases(player, in_a_case)
    proxy = ServiceProxy(player, {"openai": f"http://127.0.0.1:{upstream}"}, frozenset(), cases.serve)
    proxy.open()
    port, address = int(proxy.place.rpartition(":")[2]), proxy.url("openai").removeprefix(proxy.place) + PATH
    taken, memory = 0.0, list[float]()
    for _ in range(10):
        taken += _measured(lambda: _ask(port, address, count // 10))
        memory.append(_memory())
    taken += _measured(cases.end)
    proxy.close()
    if player is not None:
        taken += _measured(player.close)
    return taken, max(*memory, _memory()) / memory[0]


def _ask(port: int, path: str, count: int) -> None:
    arguments = [sys.executable, "-S", "-c", CLIENT, str(port), path, str(count)]
    subprocess.run(arguments, input=BODY, check=True)


def _measured(work: Callable[[], None]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _memory() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1])


if __name__ == "__main__":
    sys.exit(main())
