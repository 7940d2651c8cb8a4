"""What the app tells about itself: JSON lines, and OpenTelemetry spans."""

import asyncio
import json
import multiprocessing
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from canvas_support import Conversation, RunningApp, running_app
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from canvas_app.telemetry.json_lines import JsonLines
from canvas_app.telemetry.observer import TurnInfo


def told(lines: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(line["source"], line["event"]) for line in lines]


def test_a_turn_is_framed_and_its_tools_are_told(conversation: Conversation) -> None:
    conversation.ask("Add Slack mentions and GitHub commits")
    lines = conversation.lines()
    assert told(lines) == [
        ("turn", "start"),
        ("tool.add_component", "start"),
        ("tool.add_component", "result"),
        ("tool.add_component", "start"),
        ("tool.add_component", "result"),
        ("turn", "end"),
    ]
    assert {(line["correlation_id"], line["turn"]) for line in lines} == {(conversation.session, 1)}
    assert lines[0]["data"] == {"brain": "rule-based", "trigger": "chat"}
    assert lines[1]["data"]["arguments"] == {"integration": "slack", "component": "mentions"}
    assert lines[2]["data"]["success"] is True
    assert lines[2]["data"]["result"]["component"]["name"] == "Slack Mentions"
    assert lines[5]["data"]["status"] == "ok"
    assert {line["level"] for line in lines} == {"info"}


def test_a_missing_field_is_told(conversation: Conversation) -> None:
    conversation.ask("Add GitHub commits filtered by repo")
    result = conversation.lines()[2]
    assert result["level"] == "warning"
    assert result["data"]["success"] is False
    assert result["data"]["missingFields"] == ["repo"]
    assert result["data"]["result"]["missingFields"] == ["repo"]


def test_the_prompt_is_never_told(conversation: Conversation) -> None:
    conversation.ask("How many commits this week, dear zebra?")
    assert "zebra" not in conversation.app.log.read_text(encoding="utf-8")


def test_an_answer_without_a_tool_has_a_frame_only(conversation: Conversation) -> None:
    conversation.ask("hello")
    conversation.turn("actions", {"tool": "apply_template", "arguments": {}})
    lines = conversation.lines()
    assert told(lines)[:2] == [("turn", "start"), ("turn", "end")]
    assert lines[2]["data"]["trigger"] == "action"
    assert [line["turn"] for line in lines] == [1, 1, 2, 2, 2, 2]


def ask_five_times(conversation: Conversation) -> None:
    for _ in range(5):
        conversation.ask("Brief me")


def test_conversations_are_told_apart(app: RunningApp) -> None:
    both = [app.converse(), app.converse()]
    workers = [threading.Thread(target=ask_five_times, args=(conversation,)) for conversation in both]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for conversation in both:
        assert (
            told(conversation.lines())
            == [
                ("turn", "start"),
                ("tool.generate_brief", "start"),
                ("tool.generate_brief", "result"),
                ("turn", "end"),
            ]
            * 5
        )


def test_a_tool_that_crashes_is_told_and_the_turn_goes_on(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise ZeroDivisionError("by design of this test")

    monkeypatch.setattr("canvas_app.turns.run_tool", crash)
    answer = conversation.ask("Add Slack mentions")
    assert answer.end["status"] == "ok"
    assert "nothing was changed" in answer.text
    lines = conversation.lines()
    assert told(lines)[2] == ("tool.add_component", "error")
    assert lines[2]["data"]["error"] == "ZeroDivisionError: by design of this test"
    assert lines[2]["data"]["success"] is False
    assert lines[-1]["data"]["status"] == "ok"


def test_a_crash_in_mid_stream_ends_the_turn_with_an_error(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(text: str) -> Iterator[str]:
        yield text[:10]
        raise RuntimeError("by design of this test")

    with monkeypatch.context() as planted:
        planted.setattr("canvas_app.brain.rule_based.answer_pieces", crash)
        answer = conversation.ask("Brief me")
    assert answer.end["status"] == "error"
    assert "broke off" in answer.end["problem"]
    assert answer.text == "Today's Mi"
    end = conversation.lines()[-1]
    assert (end["level"], end["data"]["status"], end["data"]["error"]) == (
        "error",
        "error",
        "RuntimeError: by design of this test",
    )
    assert conversation.ask("hello").end["status"] == "ok"


def test_a_reader_who_leaves_cancels_the_turn(conversation: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()
    real = JsonLines.turn_ended

    def note_the_end(self: JsonLines, *arguments: Any) -> None:
        real(self, *arguments)
        ended.set()

    async def never_ends(self: object, turn: Any) -> None:
        await turn.say("one moment")
        await asyncio.sleep(3600)

    monkeypatch.setattr(JsonLines, "turn_ended", note_the_end)
    with monkeypatch.context() as planted:
        planted.setattr("canvas_app.brain.rule_based.RuleBasedBrain.answer", never_ends)
        chat = f"/api/sessions/{conversation.session}/chat"
        with conversation.client.stream("POST", chat, json={"message": "hello"}) as response:
            next(response.iter_lines())
        assert ended.wait(20)
    assert conversation.lines()[-1]["data"]["status"] == "cancelled"
    assert conversation.ask("hello").end["status"] == "ok"


def test_the_log_can_be_rotated_away(conversation: Conversation) -> None:
    conversation.ask("hello")
    log = conversation.app.log
    log.rename(log.with_suffix(".1"))
    conversation.ask("hello")
    assert told(conversation.lines()) == [("turn", "start"), ("turn", "end")]


def test_a_log_that_cannot_be_written_does_not_stop_the_conversation(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    with running_app(tmp_path, telemetry_log=tmp_path / "file" / "log.jsonl") as app:
        assert app.converse().ask("hello").end["status"] == "ok"
    assert "telemetry line not written" in caplog.text


def _write_many(path: str, name: str) -> None:
    log = JsonLines(Path(path))
    for number in range(200):
        log.write(TurnInfo(name, number, "rule-based", "chat"), "turn", "start", "info", {"filler": name * 300})


def test_lines_of_several_processes_are_never_torn(tmp_path: Path) -> None:
    path = tmp_path / "shared.jsonl"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_many, args=(str(path), name)) for name in "abc"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 600


def test_a_line_is_bounded(tmp_path: Path) -> None:
    log = JsonLines(tmp_path / "log.jsonl")
    data = {"text": "x" * 1_000_000, "many": ["y" * 10_000] * 10_000, "odd": "\ud800"}
    log.write(TurnInfo("s", 1, "b", "chat"), "turn", "start", "info", data)
    line = log.path.read_text(encoding="utf-8")
    assert len(line) < 500_000
    assert json.loads(line)["data"]["text"].endswith("(1000000 characters)")


class Receiver(ThreadingHTTPServer):
    """A small OTLP endpoint that keeps what it is sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), ReceiverHandler)
        self.spans: list[Span] = []
        self.paths: set[str] = set()


class ReceiverHandler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        request = ExportTraceServiceRequest.FromString(body)
        self.server.paths.add(self.path)
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                self.server.spans.extend(scope.spans)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def attributes(span: Span) -> dict[str, Any]:
    return {item.key: getattr(item.value, item.value.WhichOneof("value")) for item in span.attributes}


def test_turns_are_spans_by_the_genai_conventions(tmp_path: Path, receiver: Receiver) -> None:
    with running_app(tmp_path, otlp_endpoint=f"http://127.0.0.1:{receiver.server_port}") as app:
        conversation = app.converse("spans")
        conversation.ask("Add Slack mentions")
        conversation.ask("Add GitHub commits filtered by repo")
    spans = {span.name: span for span in receiver.spans}
    assert receiver.paths == {"/v1/traces"}
    assert sorted(span.name for span in receiver.spans) == [
        "execute_tool add_component",
        "execute_tool add_filtered_component",
        "invoke_agent canvas-assistant",
        "invoke_agent canvas-assistant",
    ]
    added = attributes(spans["execute_tool add_component"])
    assert added["gen_ai.operation.name"] == "execute_tool"
    assert added["gen_ai.tool.name"] == "add_component"
    assert added["gen_ai.conversation.id"] == "spans"
    assert added["canvas.tool.success"] is True
    assert json.loads(added["gen_ai.tool.call.arguments"]) == {"integration": "slack", "component": "mentions"}
    assert json.loads(added["gen_ai.tool.call.result"])["success"] is True
    parents = {span.span_id: span for span in receiver.spans}
    for span in receiver.spans:
        if span.name.startswith("execute_tool"):
            assert parents[span.parent_span_id].name == "invoke_agent canvas-assistant"
            assert parents[span.parent_span_id].trace_id == span.trace_id
    missing = spans["execute_tool add_filtered_component"]
    assert missing.status.code == Status.STATUS_CODE_ERROR
    assert json.loads(attributes(missing)["gen_ai.tool.call.result"])["missingFields"] == ["repo"]
    agent = attributes(spans["invoke_agent canvas-assistant"])
    assert agent["gen_ai.operation.name"] == "invoke_agent"
    assert agent["gen_ai.provider.name"] == "rule-based"
