"""`python -m benchmarks.spans`: what the receiver of spans costs, beside parsing the same batches and nothing else.

Batches of 512 spans come over loopback from another process, each the spans of one of 16 cases that run at a time. CPU
is that of the receiver's process. The exit code is 1 if a span was lost, and never depends on a time.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from carob.evidence.span_receiver import CaseWindow, Receiver
from carob.evidence.spans.trace_context import TraceContext, TurnContext

BATCH = 512
AT_ONCE = 16
TRACE = b"\xa5" * 16
"""Stands in the prepared batch where each case has a trace of its own."""
MOST_CPU = 3.0
MOST_GROWTH = 1.1
SENDER = """
import http.client, sys
port, path = int(sys.argv[1]), sys.argv[2]
body = sys.stdin.buffer.read(int(sys.stdin.buffer.readline()))
wire = http.client.HTTPConnection("127.0.0.1", port)
for line in sys.stdin.buffer:
    for number in range(*map(int, line.split())):
        sent = body.replace(b"\\xa5" * 16, number.to_bytes(16, "big"))
        wire.request("POST", path, sent, {"Content-Type": "application/x-protobuf"})
        answer = wire.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
    print("sent", flush=True)
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spans", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--spans", type=int, default=1_000_000, metavar="N", help="how many (default 1,000,000)")
    batches = max(parser.parse_args().spans // BATCH, 2 * AT_ONCE)
    body = _body()
    alone = min(_parsing(body, batches // 3) for _ in range(3)) * 3
    taken = list(_received(body, batches))
    kept = sum(kept for kept, _, _ in taken)
    received = taken[-1][1]
    first, last = taken[len(taken) // 10][2], taken[-1][2]
    print(f"| {batches * BATCH:,} spans, batches of {BATCH}, {len(body):,} bytes each | CPU s | µs a span |")
    print("|---|---|---|")
    for name, cpu in (("parsed alone", alone), ("received, parsed, kept for their cases", received)):
        print(f"| {name} | {cpu:.2f} | {cpu / batches / BATCH * 1e6:.2f} |")
    print(f"\npeak MB after a tenth {first:.0f}, at the end {last:.0f}\n")
    print("| goal | measured | at most | met |\n|---|---|---|---|")
    for name, found, most in (
        ("times the CPU of parsing alone", received / alone, MOST_CPU),
        ("times the memory of a tenth", last / first, MOST_GROWTH),
    ):
        print(f"| {name} | {found:.2f} | {most:g} | {'yes' if found <= most else 'no'} |")
    return 0 if kept == batches * BATCH else 1


def _body() -> bytes:
    request = ExportTraceServiceRequest()
    spans = request.resource_spans.add().scope_spans.add().spans
    for number in range(BATCH):
        span = spans.add(trace_id=TRACE, span_id=(number + 1).to_bytes(8, "big"), name="execute_tool lookup")
        span.start_time_unix_nano, span.end_time_unix_nano = 10**18, 10**18 + 10**6
        for name in ("operation.name", "tool.name", "tool.call.id", "tool.call.arguments", "tool.call.result"):
            span.attributes.add(key=f"gen_ai.{name}").value.string_value = f"{name} {number:020}"
    return request.SerializeToString()


def _parsing(body: bytes, batches: int) -> float:
    began = time.process_time()
    for number in range(batches):
        ExportTraceServiceRequest.FromString(body.replace(TRACE, number.to_bytes(16, "big")))
    replaced = time.process_time()
    for number in range(batches):
        body.replace(TRACE, number.to_bytes(16, "big"))
    return (replaced - began) - (time.process_time() - replaced)


def _received(body: bytes, batches: int) -> Iterator[tuple[int, float, float]]:
    """Block after block: how many spans were kept, the CPU until then, and the peak of memory in MB."""
    receiver = Receiver()
    receiver.open()
    to = urlsplit(receiver.endpoint)
    command = [sys.executable, "-c", SENDER, str(to.port), f"{to.path}/v1/traces"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as sender:
        assert sender.stdin is not None
        assert sender.stdout is not None
        sender.stdin.write(f"{len(body)}\n".encode() + body)
        began = time.process_time()
        for block in range(0, batches, AT_ONCE):
            numbers = range(block, min(block + AT_ONCE, batches))
            windows = [receiver.inbox.open_window(_trace_context(number)) for number in numbers]
            sender.stdin.write(f"{numbers.start} {numbers.stop}\n".encode())
            sender.stdin.flush()
            assert sender.stdout.readline() == b"sent\n"
            cpu = time.process_time() - began
            kept = _closed(windows)
            began = time.process_time() - cpu
            yield kept, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        sender.stdin.close()
    receiver.close()


def _trace_context(number: int) -> TraceContext:
    trace_context = TraceContext()
    trace_context.turns.append(TurnContext(number.to_bytes(16, "big").hex(), os.urandom(8).hex(), 0.0))
    return trace_context


def _closed(windows: list[CaseWindow]) -> int:
    """How many spans the cases find; reading them is no part of receiving them."""
    kept = 0
    for window in windows:
        kept += len(window.records())
        window.close()
    return kept


if __name__ == "__main__":
    sys.exit(main())
