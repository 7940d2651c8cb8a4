"""What a body takes once it is read is known before: never less than it is, and close to it for what agents send."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from carob.evidence.span_receiver import Receiver
from carob.evidence.spans.otlp import SpanBatch
from carob.evidence.spans.trace_context import TraceContext
from carob.system import memory_estimate as weight
from carob.system.memory_estimate import json_weight, protobuf_weight
from evidence.spans.span_factory import post, request, tool


def field(number: int, *parts: bytes) -> bytes:
    """A field of protobuf that has a length."""
    data = b"".join(parts)
    size, rest = b"", len(data)
    while rest >= 128:
        size += bytes([rest & 127 | 128])
        rest >>= 7
    return bytes([number << 3 | 2]) + size + bytes([rest]) + data


def spans(*inside: bytes) -> bytes:
    return field(1, field(2, *inside))


MANY = 50_000
DENSE: dict[str, tuple[bytes, int]] = {
    "resources": (field(1) * MANY, MANY),
    "spans": (spans(field(2) * MANY), MANY + 2),
    "spans with a kind": (spans(field(2, b"\x30\x01") * MANY), MANY + 2),
    "attributes": (spans(field(2, field(9) * MANY)), MANY + 3),
    "values": (spans(field(2, field(9, field(2, field(5, field(1) * MANY))))), MANY + 6),
    "events": (spans(field(2, field(11) * MANY)), MANY + 3),
    "links": (spans(field(2, field(13) * MANY)), MANY + 3),
}


@pytest.mark.parametrize("kind", DENSE)
def test_messages_of_protobuf_are_counted(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, messages = DENSE[kind]
    ExportTraceServiceRequest.FromString(body)  # it is one
    quick = protobuf_weight(body)
    monkeypatch.setattr(weight, "LIGHT", 0)
    exact = protobuf_weight(body)
    assert exact == len(body) + weight.MESSAGE * messages
    assert quick >= exact


def test_long_texts_are_no_heavier_than_they_are() -> None:
    body = request([tool("pay", "11" * 16, result="Jj2Zz*\n" * 500_000)])
    assert len(body) > 3_000_000
    assert protobuf_weight(body) < len(body) + weight.MESSAGE * 50
    assert json_weight(json.dumps("word " * 100_000).encode()) < 500_100


@pytest.mark.parametrize("broken", [b"\xff" * 200, b"\x0a\xff", b"\x0b" * 99, b"\x0a\x05\x0a\x7f"])
def test_what_is_no_request_is_counted_all_the_same(broken: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight, "LIGHT", 0)
    assert protobuf_weight(broken) >= len(broken)


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


JSON_DENSE = {
    "resources": '{"resourceSpans":[%s{}]}' % ("{}," * 300_000),
    "values": '{"resourceSpans":[{"resource":{"attributes":[{"value":{"arrayValue":{"values":[%s{}]}}}]}}]}'
    % ("{}," * 300_000),
}


def dense() -> Iterator[tuple[bytes, Callable[[bytes], object], int]]:
    for kind in ("resources", "spans", "values"):
        body = DENSE[kind][0]
        yield body, SpanBatch, protobuf_weight(body)
    for text in JSON_DENSE.values():
        yield text.encode(), partial(SpanBatch, json=True), json_weight(text.encode())


def test_nothing_takes_more_than_its_weight() -> None:
    for body, read, most in dense():
        before = resident()
        batch = read(body)
        taken = resident() - before
        assert taken < 1.2 * most + 2_000_000
        del batch


@pytest.mark.parametrize("kind", ["application/x-protobuf", "application/json"])
def test_a_request_that_is_too_heavy_is_refused_unread(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight, "LIGHT", 0)
    monkeypatch.setattr(weight, "HEAVIEST", 1_000_000)
    body = DENSE["spans"][0] if "protobuf" in kind else b'{"resourceSpans":[%s{}]}' % (b"{}," * 50_000)
    receiver = Receiver()
    receiver.open()
    try:
        window = receiver.inbox.open_window(TraceContext())
        sent = {"Content_Type": kind, "Content_Encoding": "gzip"}
        assert post(receiver.endpoint, gzip.compress(body), **sent) == 413
        assert window.loss == "a request takes too much memory to read"
        assert post(receiver.endpoint, request([tool("pay", "11" * 16)])) == 200
    finally:
        receiver.close()


def test_a_resource_is_read_once_and_not_without_end() -> None:
    pairs = [field(1, b"k%d" % number) for number in range(1_000)]
    body = field(1, field(1, *(field(1, pair) for pair in pairs)), field(2, field(2) * 3))
    records = SpanBatch(body).records()
    assert len(records) == 3
    assert records[0].resource is records[1].resource
    assert len(records[0].resource) == 256
