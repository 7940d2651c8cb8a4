"""What is taken, what is refused, and what cannot be held: with a status, a line and a figure, and never half of it."""

from __future__ import annotations

import gzip
import http.client
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from benchmarks.watch import Collector
from carob.errors import ConfigError, UsageError
from carob.features.watch.session import ConversationWatch, WatchOptions
from carob.plugins.project import Project
from carob.system import loopback
from evidence.spans.span_factory import request as protobuf_request
from evidence.spans.span_factory import span as protobuf_span
from features.watch.watched import HELD, PATIENCE, PLAIN, UNKNOWN, Json, Watched, as_request, host_of, turn

Start = Callable[..., Watched]
JSON, PROTOBUF = "application/json", "application/x-protobuf"
DROPPED = "carob_watch_conversations_dropped_total"


def exchange(watched: Watched, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(host_of(watched.url), timeout=10)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


SPANS = as_request(turn(PLAIN))
REFUSED: list[tuple[str, int, dict[str, Any]]] = [
    ("garbage", 400, {"body": b"\xff\x00garbage", "Content_Type": PROTOBUF}),
    ("garbage-json", 400, {"body": b'{"resourceSpans": 3}', "Content_Type": JSON}),
    ("no-gzip", 400, {"body": SPANS, "Content_Type": JSON, "Content_Encoding": "gzip"}),
    ("cut-gzip", 400, {"body": gzip.compress(SPANS)[:-9], "Content_Type": JSON, "Content_Encoding": "gzip"}),
    ("wrong-type", 415, {"body": SPANS, "Content_Type": "text/plain"}),
    ("no-type", 415, {"body": SPANS}),
    ("wrong-encoding", 415, {"body": SPANS, "Content_Type": JSON, "Content_Encoding": "br"}),
    ("wrong-path", 404, {"body": SPANS, "Content_Type": JSON, "path": "/v1/spans"}),
    ("wrong-method", 405, {"method": "GET"}),
    ("other-host", 421, {"body": SPANS, "Content_Type": JSON, "Host": "evil.example"}),
    ("a-web-page", 403, {"body": SPANS, "Content_Type": JSON, "Origin": "https://evil.example"}),
    ("heavy", 413, {"body": b'{"a":[' + b"0," * (2 << 20) + b"0]}", "Content_Type": JSON}),
]


@pytest.mark.parametrize(("status", "sent"), [pytest.param(status, sent, id=name) for name, status, sent in REFUSED])
def test_what_is_no_request_of_spans_is_refused(start: Start, status: int, sent: dict[str, Any]) -> None:
    """With the status that says why, and a line; the next request is taken."""
    watched = start()
    how = {"method": "POST", "path": "/v1/traces", **sent}
    got, body = exchange(watched, how.pop("method"), how.pop("path"), how.pop("body", b""), **how)
    assert got == status
    assert len(body.splitlines()) == 1
    assert watched.figure("carob_watch_requests_total", answer="refused") == 1
    [line] = watched.lines
    assert line.startswith("a request was refused: ")
    watched.send(*turn(PLAIN))
    watched.wait()
    assert watched.verdicts("s-2") == [HELD]


def test_a_body_that_is_too_large_is_not_read(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loopback, "BODY_CAP", 10_000)
    watched = start()
    assert exchange(watched, "POST", "/v1/traces", b"x" * 20_000, Content_Type=JSON)[0] == 413
    bomb = gzip.compress(b" " * 1_000_000)
    assert exchange(watched, "POST", "/v1/traces", bomb, Content_Type=JSON, Content_Encoding="gzip")[0] == 413


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(body=st.binary(max_size=200), kind=st.sampled_from([JSON, PROTOBUF]))
def test_any_bytes_are_answered(
    tmp_path_factory: pytest.TempPathFactory, collector: Collector, body: bytes, kind: str
) -> None:
    watched = Watched(tmp_path_factory.mktemp("bytes"), collector, running_since=1_900_000_000.0)
    try:
        assert exchange(watched, "POST", "/v1/traces", body, Content_Type=kind)[0] in (200, 400)
        watched.send(*turn(PLAIN))
    finally:
        watched.close()


def test_gzip_and_protobuf_are_taken(start: Start) -> None:
    watched = start()
    body = gzip.compress(SPANS)
    assert watched.post(body, Content_Type=JSON, Content_Encoding="gzip") == 200
    watched.wait()
    assert watched.verdicts("s-2") == [HELD]
    chat = protobuf_span("chat", "ab" * 16, gen_ai__operation__name="chat")
    assert watched.post(protobuf_request([chat]), Content_Type=PROTOBUF) == 200
    watched.wait()
    assert watched.verdicts("ab" * 16) == [UNKNOWN]


def test_metrics_and_logs_of_an_exporter_are_let_go(start: Start) -> None:
    watched = start()
    assert exchange(watched, "POST", "/v1/metrics", b"anything", Content_Type=PROTOBUF) == (200, b"")
    assert exchange(watched, "POST", "/v1/logs", b"anything", Content_Type=JSON) == (200, b"{}")


@pytest.mark.parametrize("field", ["traceId", "spanId"])
def test_a_span_without_a_valid_id_is_not_taken(start: Start, field: str) -> None:
    """All of them would be one conversation. The answer says how many."""
    watched = start()
    spans = turn(PLAIN)
    spans[0] = {**spans[0], field: "0" * len(spans[0][field])}
    status, body = exchange(watched, "POST", "/v1/traces", as_request(spans), Content_Type=JSON)
    said = {"rejectedSpans": "1", "errorMessage": "1 spans without a valid trace id and span id"}
    assert (status, json.loads(body)) == (200, {"partialSuccess": said})


@pytest.mark.parametrize("trace", [b"", b"\0" * 16, b"\1" * 4], ids=["none", "zero", "short"])
def test_protobuf_says_what_was_not_taken(start: Start, trace: bytes) -> None:
    span = protobuf_span("chat", "ab" * 16)
    span.trace_id = trace
    status, body = exchange(start(), "POST", "/v1/traces", protobuf_request([span]), Content_Type=PROTOBUF)
    assert (status, ExportTraceServiceResponse.FromString(body).partial_success.rejected_spans) == (200, 1)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        pytest.param({"spans": 3}, "--max-spans", id="spans"),
        pytest.param({"size": 3_000}, "--max-size", id="size"),
        pytest.param({"room": 3_000}, "--room", id="room"),
    ],
)
def test_a_conversation_that_cannot_be_held_is_unknown_as_a_whole(
    start: Start, limits: dict[str, int], words: str
) -> None:
    watched = start(**limits)
    spans = turn(PLAIN)
    status, body = exchange(watched, "POST", "/v1/traces", as_request(spans), Content_Type=JSON)
    assert (status, json.loads(body)["partialSuccess"]["rejectedSpans"]) == (200, str(len(spans)))
    for span in spans:
        watched.send(span)  # nothing of it is judged, whatever else comes
    watched.wait(PATIENCE)
    assert watched.verdicts("s-2") == [UNKNOWN]
    assert words in watched.collector.events[0][1]["gen_ai.evaluation.explanation"]
    assert watched.figure(DROPPED) == 1
    assert watched.figure("carob_watch_held_bytes") == 0


def test_what_is_too_many_is_dropped_by_conversation(start: Start) -> None:
    """The first two are held and judged as ever, all others are unknown; later there is room again."""
    watched = start(conversations=2)
    for number in (2, 3, 4):
        for span in reversed(turn(number)):  # the root comes first: it names the session
            watched.send(span)
    watched.wait()
    assert [watched.verdicts(f"s-{number}") for number in (2, 3, 4)] == [[HELD], [HELD], [UNKNOWN]]
    watched.send(*turn(9))
    watched.wait()
    assert watched.verdicts("s-9") == [HELD]
    assert watched.figure(DROPPED) == 1


def test_room_is_made_by_what_was_judged(start: Start) -> None:
    watched = start(room=30_000)
    for number in (2, 3, 4, 9, 11, 12, 13, 16, 17, 18):
        watched.send(*turn(number))
        watched.wait()
        assert watched.verdicts(f"s-{number}") == [HELD]
    assert watched.figure("carob_watch_conversations_let_go_total") > 0
    assert watched.figure("carob_watch_held_bytes") <= 30_000
    assert watched.figure(DROPPED) == 0


def test_a_number_that_cannot_be_kept_drops_its_conversation(start: Start) -> None:
    watched = start()
    spans = turn(PLAIN)
    spans[1]["attributes"].append({"key": "n", "value": {"intValue": "99999999999999999999"}})
    watched.send(*spans)
    watched.send(*turn(3))
    watched.wait()
    assert (watched.verdicts("s-2"), watched.verdicts("s-3")) == ([UNKNOWN], [HELD])


def test_spans_that_cannot_be_written_are_to_be_sent_again(start: Start) -> None:
    """As on a full disk: the answer is 503, the server goes on, and what is sent again later is judged."""
    watched = start()
    database: sqlite3.Connection = watched.watch.store._database
    pages = database.execute("PRAGMA page_count").fetchone()[0]
    database.execute(f"PRAGMA max_page_count = {pages}")
    large: list[Json] = [{**span, "name": "x" * 9_000} for span in turn(PLAIN)]
    watched.send(*large, status=503)
    watched.wait()
    assert "database or disk is full" in watched.lines[0]
    database.execute("PRAGMA max_page_count = 1000000")
    watched.send(*large)
    watched.wait()
    assert watched.verdicts("s-2") == [HELD]


@pytest.mark.parametrize(
    ("header", "status"),
    [
        pytest.param({}, 401, id="none"),
        pytest.param({"Authorization": "Bearer wrong"}, 401, id="wrong"),
        pytest.param({"Authorization": f"Bearer {'t' * 24}"}, 200, id="right"),
    ],
)
def test_a_token_is_asked_for(start: Start, header: dict[str, str], status: int) -> None:
    watched = start(token="t" * 24)
    watched.send(*turn(PLAIN), status=status, **header)
    assert exchange(watched, "GET", "/metrics", **header)[0] == status


def test_other_machines_need_a_token_and_may_use_any_name(start: Start) -> None:
    with pytest.raises(UsageError, match="so a token is needed"):
        start(host="0.0.0.0")
    with pytest.raises(UsageError, match="fewer than 16 characters"):
        start(host="0.0.0.0", token="short")
    watched = start(host="0.0.0.0", token="t" * 24)
    sent = {"Content_Type": JSON, "Authorization": f"Bearer {'t' * 24}", "Host": "carob.internal"}
    connection = http.client.HTTPConnection("127.0.0.1", int(watched.url.rpartition(":")[2]), timeout=10)
    headers = {name.replace("_", "-"): value for name, value in sent.items()}
    connection.request("POST", "/v1/traces", SPANS, headers)
    assert connection.getresponse().status == 200
    connection.close()


def test_a_folder_has_one_watch(start: Start, tmp_path: Path) -> None:
    watched = start()
    options = WatchOptions(folder=tmp_path / "watch", port=0)
    with pytest.raises(ConfigError, match="another `carob watch` uses this folder"):
        ConversationWatch([watched.policy], None, options, Project(), environ={})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"not a database at all, and long enough" * 100, "not a database", id="other"),
        pytest.param(None, "another version of Carob", id="newer"),
    ],
)
def test_a_file_that_is_no_file_of_spans_is_left_alone(tmp_path: Path, content: bytes | None, words: str) -> None:
    (tmp_path / "watch").mkdir()
    file = tmp_path / "watch" / "spans.sqlite"
    if content is None:
        with sqlite3.connect(file) as database:
            database.execute("PRAGMA user_version = 99")
        database.close()
    else:
        file.write_bytes(content)
    before = file.read_bytes()
    (tmp_path / "p.yaml").write_text("carob: 1\nrules: [{id: once, each: {call: pay}, at_most: 1}]\n")
    with pytest.raises(ConfigError, match=words) as caught:
        ConversationWatch(
            [tmp_path / "p.yaml"], None, WatchOptions(folder=tmp_path / "watch", port=0), Project(), environ={}
        )
    assert caught.value.slug == "watch-folder"
    assert len(file.read_bytes()) == len(before)
