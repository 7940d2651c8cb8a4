"""The receiver takes what exporters send, refuses what nobody should, and tells what was lost."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from carob.errors import ConfigError
from carob.evidence.span_receiver import Receiver
from carob.evidence.spans.trace_context import TraceContext, TurnContext
from carob.system import loopback
from evidence.spans.span_factory import post, request, span, tool

TRACE = "11" * 16


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    made.open()
    yield made
    made.close()


def trace_context() -> TraceContext:
    made = TraceContext()
    made.listen("case")
    made.begin_turn()
    return made


JSON = json.dumps(
    {
        "resourceSpans": [
            {
                "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "bot"}}]},
                "scopeSpans": [
                    {
                        "scope": {"name": "lib"},
                        "spans": [
                            {
                                "traceId": TRACE.upper(),
                                "spanId": "AB" * 8,
                                "name": "root",
                                "startTimeUnixNano": "99000000000",
                                "endTimeUnixNano": 100000000000,
                                "status": {"code": "STATUS_CODE_ERROR", "message": "no"},
                                "attributes": [
                                    {"key": "n", "value": {"intValue": "7"}},
                                    {"key": "l", "value": {"arrayValue": {"values": [{"boolValue": True}, {}]}}},
                                    {"key": "m", "value": {"kvlistValue": {"values": [{"key": "a"}]}}},
                                ],
                                "somethingNewer": {"is": "ignored"},
                            }
                        ],
                    }
                ],
            }
        ]
    }
).encode()


def test_json_is_read_as_protobuf_is(receiver: Receiver) -> None:
    own = trace_context()
    own.turns[0] = TurnContext(TRACE, "ab" * 8, 0.0)
    window = receiver.inbox.open_window(own)
    assert post(receiver.endpoint, JSON, Content_Type="application/json; charset=utf-8") == 200
    (record,) = window.records()
    assert (record.trace_id, record.span_id, record.failed, record.status) == (TRACE, "ab" * 8, True, "no")
    assert (record.started, record.ended, record.scope) == (99.0, 100.0, "lib")
    assert record.attributes == {"n": 7, "l": [True, None], "m": {"a": None}}
    assert record.resource == {"service.name": "bot"}


BODY = request([span("root", TRACE)])


@pytest.mark.parametrize(
    ("body", "path", "headers", "status"),
    [
        pytest.param(BODY, "/v1/traces", {}, 200, id="plain"),
        pytest.param(gzip.compress(BODY), "/v1/traces", {"Content_Encoding": "gzip"}, 200, id="gzip"),
        pytest.param(b"whatever", "/v1/metrics", {}, 200, id="metrics-are-let-go"),
        pytest.param(BODY, "/v1/spans", {}, 404, id="another-path"),
        pytest.param(BODY, "/v1/traces", {"Content_Type": "text/plain"}, 415, id="another-type"),
        pytest.param(BODY, "/v1/traces", {"Content_Encoding": "br"}, 415, id="another-packing"),
        pytest.param(b"\xff\xff\xff", "/v1/traces", {}, 400, id="no-protobuf"),
        pytest.param(b"[" * 100_000, "/v1/traces", {"Content_Type": "application/json"}, 400, id="deep-json"),
        pytest.param(gzip.compress(BODY)[:-9], "/v1/traces", {"Content_Encoding": "gzip"}, 400, id="torn-gzip"),
        pytest.param(gzip.compress(bytes(2_000_000)), "/v1/traces", {"Content_Encoding": "gzip"}, 413, id="bomb"),
        pytest.param(bytes(1_500_000), "/v1/traces", {}, 413, id="too-long"),
    ],
)
def test_what_is_refused_leaves_a_doubt_in_the_cases_that_run(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, body: bytes, path: str, headers: dict[str, str], status: int
) -> None:
    monkeypatch.setattr(loopback, "BODY_CAP", 1_000_000)
    window = receiver.inbox.open_window(trace_context())
    assert post(receiver.endpoint, body, path, **headers) == status
    assert bool(window.loss) is (status != 200)
    assert receiver.inbox.requests == (0 if path == "/v1/metrics" else 1)


def test_a_request_that_breaks_off_and_one_in_chunks(receiver: Receiver) -> None:
    window = receiver.inbox.open_window(trace_context())
    to = urlsplit(receiver.endpoint)
    address = ("127.0.0.1", to.port or 0)
    head = f"POST {to.path}/v1/traces HTTP/1.1\r\nHost: {to.netloc}\r\n".encode()
    head += b"Content-Type: application/x-protobuf\r\n"
    with socket.create_connection(address, timeout=10) as wire:
        wire.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY))
        assert wire.recv(100).startswith(b"HTTP/1.1 200")
    assert not window.loss
    with socket.create_connection(address, timeout=10) as wire:
        wire.sendall(head + b"Content-Length: 500\r\n\r\nabc")
        wire.shutdown(socket.SHUT_WR)
        assert wire.recv(100).startswith(b"HTTP/1.1 400")
    assert window.loss == "a request was cut off"


def test_a_port_in_use_is_told_in_a_line(receiver: Receiver) -> None:
    port = urlsplit(receiver.endpoint).port or 0
    with pytest.raises(ConfigError, match=rf"cannot listen at 127.0.0.1:{port}: Address already in use"):
        Receiver().open(port)


def test_spans_are_known_by_trace_conversation_or_entry(receiver: Receiver) -> None:
    inbox = receiver.inbox
    first, second = trace_context(), trace_context()
    windows = [inbox.open_window(first), inbox.open_window(second)]
    own = first.turns[0]
    bodies = [
        [tool("by-trace", own.trace_id, parent=own.span_id)],
        [span("root", "22" * 16, gen_ai__conversation__id=second.conversation_id), tool("by-conversation", "22" * 16)],
        [tool("by-entry", "33" * 16, carob__case=first.case_entry)],
        [tool("by-session", "44" * 16, session__id=second.conversation_id)],
        [tool("nobody's", "55" * 16), tool("nobody's", "55" * 16, session__id="another")],
    ]
    for body in bodies:
        assert post(receiver.endpoint, request(body)) == 200
    tools = [sorted(r.attributes.get("gen_ai.tool.name", "") for r in window.records()) for window in windows]
    assert tools == [["by-entry", "by-trace"], ["", "by-conversation", "by-session"]]
    for window in windows:
        window.close()
    assert (inbox.strays, inbox.stray_name) == (2, "execute_tool nobody's")
    post(receiver.endpoint, request([tool("late", own.trace_id)]))
    window = inbox.open_window(trace_context())
    post(receiver.endpoint, request([tool("late", own.trace_id)]))
    assert window.records() == []
    assert inbox.late == 1


def test_several_cases_in_one_trace_have_what_stands_below_their_own_span(receiver: Receiver) -> None:
    first, second = trace_context(), trace_context()
    windows = [receiver.inbox.open_window(own) for own in (first, second)]
    root = span("job", TRACE)
    tops = [span("turn", TRACE, parent=root.span_id.hex(), session__id=own.conversation_id) for own in (first, second)]
    below = [tool(f"t{n}", TRACE, parent=top.span_id.hex()) for n, top in enumerate(tops)]
    post(receiver.endpoint, request([root, *tops, *below]))
    assert [[r.name for r in window.records()] for window in windows] == [
        ["turn", "execute_tool t0"],
        ["turn", "execute_tool t1"],
    ]


def test_time_alone_gives_a_trace_to_no_case_though_only_one_runs(receiver: Receiver) -> None:
    window = receiver.inbox.open_window(trace_context())
    top = span("root", TRACE)
    post(receiver.endpoint, request([top, tool("t", TRACE, parent=top.span_id.hex())]))
    assert window.records() == []
    assert [record.name for record in window.unowned_spans()] == ["root", "execute_tool t"]


def test_what_names_a_conversation_that_is_over_is_late_and_of_no_case(receiver: Receiver) -> None:
    first = trace_context()
    first.known_as.add("shared")
    receiver.inbox.open_window(first).close()
    second = trace_context()
    second.known_as.add("shared")
    window = receiver.inbox.open_window(second)
    late = [
        tool("by-trace", first.turns[0].trace_id),
        tool("by-conversation", "22" * 16, session__id=first.conversation_id),
        tool("by-entry", "33" * 16, carob__case=first.case_entry),
    ]
    post(receiver.endpoint, request([*late, tool("of-either", "44" * 16, session__id="shared")]))
    assert window.records() == []
    assert [record.name for record in window.unowned_spans()] == ["execute_tool of-either"]
    assert receiver.inbox.late == 3


def test_what_has_no_room_is_lost_and_told() -> None:
    from carob.evidence.span_receiver import Inbox
    from carob.evidence.spans.otlp import SpanBatch

    inbox = Inbox(room=5_000)
    window = inbox.open_window(trace_context())
    for number in range(40):
        body = request([tool("t", f"{number:032x}")])
        inbox.put(SpanBatch(body), len(body))
    assert window.loss == "more spans were waiting than there is room for"
    assert len(inbox._boxes) < 20
