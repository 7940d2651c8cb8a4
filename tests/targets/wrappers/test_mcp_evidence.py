"""A proxy before an MCP server: what crossed it is evidence. The server here is a small stand-in for one."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError

import pytest

import carob
from carob.evidence import mcp_calls
from carob.evidence.merge import merge_turns
from carob.model.run import CaseRecord
from carob.model.suite import Case
from carob.model.trace import ToolCall, Trace
from carob.proxy.server import ServiceProxy
from carob.targets.base import RunContext
from carob.targets.capabilities import Limits
from carob.targets.config import TargetConfig
from carob.targets.python import Conversation
from carob.targets.wrappers.mcp_evidence import LOST, UNREAD
from carob.targets.wrappers.proxied import WithProxy
from targets.http.server import Asked, http, serving


class StandIn(BaseHTTPRequestHandler):
    """Answers `tools/call` as streamable HTTP does: as JSON, or as events for a tool whose name says so."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name, arguments = asked["params"]["name"], asked["params"]["arguments"]
        content = [{"type": "text", "text": f"no {arguments}" if name == "fail" else json.dumps({"got": arguments})}]
        answer = json.dumps(
            {"jsonrpc": "2.0", "id": asked["id"], "result": {"content": content, "isError": name == "fail"}}
        )
        streamed = name == "stream"
        body = (f"event: message\ndata: {answer}\n\n" if streamed else answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if streamed else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None: ...


@pytest.fixture
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), StandIn) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{made.server_port}/mcp"
        made.shutdown()


def call(tool: str, url: str = "", body: bytes = b"", **headers: str) -> None:
    params = {"name": tool, "arguments": {"n": 1}}
    message = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).encode()
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
    with urllib.request.urlopen(
        urllib.request.Request(url or address(), body or message, sent), timeout=20
    ) as response:
        assert b"jsonrpc" in response.read()


def address() -> str:
    return os.environ["CAROB_MCP_URL"]


def silent_agent(prompt: str, conversation: Conversation) -> str:
    """Calls the tool that the prompt names, and says nothing of it."""
    if prompt != "nothing":
        call(prompt, **conversation.headers)
    return "I did nothing."


def secretive_agent(prompt: str) -> str:
    """Calls the tool that the prompt names, and does not say for whom."""
    if prompt != "nothing":
        call(prompt)
    return "I did nothing."


EARLIER: list[dict[str, str]] = []


def tardy_agent(prompt: str, conversation: Conversation) -> str:
    """Calls the tool of the case before, when that is over."""
    for headers in EARLIER:
        call("plain", **headers)
    EARLIER[:] = [conversation.headers]
    return "I did nothing."


def judged(
    folder: Path, agent: str, server: str, cases: dict[str, tuple[str, dict[str, object]]], *, complete: bool = False
) -> dict[str, CaseRecord]:
    file = folder / "suite.json"
    listed = [{"id": key, "prompt": prompt, "expected": expected} for key, (prompt, expected) in cases.items()]
    file.write_text(json.dumps({"version": "0.3", "cases": listed}))
    root = Path(__file__).parents[1]
    target = TargetConfig(
        kind="python", spec=f"{__name__}:{agent}", root=root, mcp_record=server, mcp_complete=complete
    )
    return {record.case.id: record for record in carob.run(str(file), target, results_dir=folder)}


def statuses(records: dict[str, CaseRecord]) -> dict[str, str]:
    return {case_id: str(record.verdict.status) for case_id, record in records.items()}


def called(tool: str, success: bool = True) -> tuple[str, dict[str, object]]:
    return tool, {"tool_calls": [{"tool": tool, "arguments": {"n": 1}, "success": success}]}


def test_what_crossed_the_proxy_was_called(server: str, tmp_path: Path) -> None:
    cases = {
        "plain": called("plain"),
        "stream": called("stream"),
        "fail": called("fail", success=False),
        "forbidden": ("plain", {"tool_calls_none": ["plain"]}),
        "unproved": ("plain", {"tool_calls_none": ["other"]}),
    }
    records = judged(tmp_path, "silent_agent", server, cases)
    assert statuses(records) == {
        **dict.fromkeys(("plain", "stream", "fail"), "PASS"),
        "forbidden": "FAIL",
        "unproved": "PARTIAL",
    }
    (call,) = records["stream"].trace.tool_calls
    assert (call.result, call.success) == ({"got": {"n": 1}}, True)
    assert call.started_at is not None


def test_where_the_user_vouches_for_it_nothing_else_was_called(server: str, tmp_path: Path) -> None:
    cases = {
        "other": ("plain", {"tool_calls_none": ["other"]}),
        "forbidden": ("plain", {"tool_calls_none": ["plain"]}),
        "none": ("nothing", {"tool_calls_none": ["plain"]}),
    }
    records = judged(tmp_path, "silent_agent", server, cases, complete=True)
    assert statuses(records) == {"other": "PASS", "forbidden": "FAIL", "none": "PASS"}


def boastful_agent(prompt: str, case: Case) -> Trace:
    """Reports a call that did not cross the proxy, and that it does not know of all."""
    why = {"tools": "who knows"}
    return Trace(case_id=case.id, final_message="Done.", tool_calls=(ToolCall(prompt),), unobserved=why)


def test_a_call_elsewhere_disproves_what_the_user_vouches_for(server: str, tmp_path: Path) -> None:
    records = judged(
        tmp_path, "boastful_agent", server, {"a": ("search", {"tool_calls_none": ["other"]})}, complete=True
    )
    assert statuses(records) == {"a": "PARTIAL"}
    assert "'search' was called and did not go through" in records["a"].trace.unobserved["tools"]


@pytest.mark.parametrize(("complete", "absent"), [(True, "PASS"), (False, "PARTIAL")])
async def test_absence_is_judged_for_a_service_whose_tools_all_cross(
    server: str, tmp_path: Path, complete: bool, absent: str
) -> None:
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        body = asked.json
        if body["q"] != "nothing":
            await asyncio.to_thread(call, body["q"], body["mcp"], traceparent=asked.headers["traceparent"])
        writer.write(http('{"reply": "I did nothing."}'))

    expected: dict[str, object] = {"tool_calls_none": ["plain"]}
    cases = [{"id": prompt, "prompt": prompt, "expected": expected} for prompt in ("plain", "nothing")]
    file = tmp_path / "suite.json"
    file.write_text(json.dumps({"version": "0.3", "cases": cases}))
    options = {"body": {"q": "{prompt}", "mcp": "{mcp}"}, "answer": "$.reply"}
    async with serving(answer) as service:
        kind, spec = service.target
        target = TargetConfig(kind=kind, spec=spec, options=options, mcp_record=server, mcp_complete=complete)
        result = await carob.arun(str(file), target, results_dir=tmp_path)
    assert {record.case.id: str(record.status) for record in result.journal.records()} == {
        "plain": "FAIL",
        "nothing": absent,
    }


class Inside:
    """A target in this process: each word of a prompt is a turn, which calls that tool through the proxy."""

    limits, options = Limits(), {}

    def __init__(self, config: TargetConfig) -> None:
        self._url = config.env.get("CAROB_MCP_URL", "")

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def run(self, case: Case, context: RunContext) -> Trace:
        turns = []
        for word in case.prompt.split():
            context.begin_turn(word)
            await asyncio.to_thread(self._turn, word, context.trace_context.headers)
            turns.append(Trace(case_id="x", final_message="I did nothing."))
        return merge_turns(turns, None) if len(turns) > 1 else turns[0]

    def _turn(self, word: str, headers: dict[str, str]) -> None:
        if word == "garbage":
            with pytest.raises(HTTPError, match="502"):
                call("x", self._url, b"\x1f\x8b", **headers)
        elif word != "nothing":
            call(word, self._url, **headers)


async def recorded(server: str, prompt: str, before: str = "", complete: bool = True) -> Trace:
    """The trace of a case in this process; `before` is called when it has not begun, and for nobody."""
    config = TargetConfig(kind="python", spec="", mcp_record=server, mcp_complete=complete)
    target = WithProxy(Inside, config, None, None)
    await target.open()
    try:
        if before:
            await asyncio.to_thread(call, before, target._proxy.mcp_url())
            await asyncio.sleep(0.01)
        return await target.run(Case(id="x", prompt=prompt, checks=()), RunContext())
    finally:
        await target.close()


@pytest.mark.parametrize(("kept", "reason"), [(0, LOST), (10, "")])
async def test_calls_that_had_no_room_may_be_any_call(
    server: str, monkeypatch: pytest.MonkeyPatch, kept: int, reason: str
) -> None:
    monkeypatch.setattr(mcp_calls, "MAX_CALLS", kept)
    trace = await recorded(server, "plain")
    assert trace.unobserved.get("tools", "") == reason
    assert [call.name for call in trace.tool_calls] == ([] if reason else ["plain"])


async def test_what_cannot_be_read_in_a_case_may_be_any_call_of_it(server: str) -> None:
    trace = await recorded(server, "garbage")
    assert (trace.tool_calls, trace.unobserved) == ((), {"tools": UNREAD})


async def test_a_call_before_a_case_is_not_one_of_it(server: str) -> None:
    trace = await recorded(server, "nothing", before="plain")
    assert (trace.tool_calls, trace.possible_calls, trace.unobserved) == ((), (), {})


async def test_a_call_is_one_of_its_turn(server: str) -> None:
    trace = await recorded(server, "plain nothing stream")
    assert [[call.name for call in turn.tool_calls] for turn in trace.turns] == [["plain"], [], ["stream"]]


async def test_that_nothing_else_was_called_is_only_known_where_the_user_vouches_for_it(server: str) -> None:
    assert (await recorded(server, "plain", complete=False)).unobserved.keys() == {"tools"}
    assert (await recorded(server, "plain")).unobserved == {}


def test_a_call_that_names_no_case_proves_neither_that_it_was_made_nor_that_it_was_not(
    server: str, tmp_path: Path
) -> None:
    cases = {
        "required": called("plain"),
        "forbidden": ("plain", {"tool_calls_none": ["plain"]}),
        "another": ("plain", {"tool_calls_none": ["other"]}),
        "none": ("nothing", {"tool_calls_none": ["plain"]}),
    }
    records = judged(tmp_path, "secretive_agent", server, cases, complete=True)
    assert statuses(records) == {"required": "PARTIAL", "forbidden": "PARTIAL", "another": "PASS", "none": "PASS"}
    reasons = [check.found for check in records["forbidden"].verdict.checks if check.name == "tool_calls_none"]
    assert "a call to 'plain' went through the MCP proxy while the case ran" in reasons[0]
    assert "`traceparent`" in reasons[0]


def test_a_late_call_of_a_finished_case_is_not_the_next_ones(server: str, tmp_path: Path) -> None:
    EARLIER.clear()
    forbidden = ("x", {"tool_calls_none": ["plain"]})
    cases = {"first": forbidden, "second": forbidden, "required": called("plain")}
    records = judged(tmp_path, "tardy_agent", server, cases, complete=True)
    assert statuses(records) == {"first": "PASS", "second": "PASS", "required": "FAIL"}


def test_what_cannot_be_read_may_be_any_call(server: str) -> None:
    proxy = ServiceProxy(None, {}, frozenset(), lambda name: None, server)
    proxy.open()
    try:
        with pytest.raises(HTTPError, match="502"):
            call("plain", proxy.mcp_url(), b"\x1f\x8b")
        call("plain", proxy.mcp_url("mine"))
    finally:
        proxy.close()
    assert [(proxied.call.name, proxied.conversation) for proxied in proxy.mcp] == [("", ""), ("plain", "mine")]


def test_a_process_of_its_own_has_an_address_of_its_own(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "agent.py"
    script.write_text(
        "import json, os, sys, urllib.request\n"
        "message = {'id': 1, 'method': 'tools/call', 'params': {'name': 'plain', 'arguments': {'n': 1}}}\n"
        "asked = urllib.request.Request(os.environ['MINE'], json.dumps(message).encode(), {'Content-Type': 'x/y'})\n"
        "urllib.request.urlopen(asked).read()\n"
        "print(json.dumps({'final_message': 'Done.'}))\n"
    )
    (tmp_path / "carob.toml").write_text(
        f'[targets.desk]\nuse = "command:{sys.executable} {script}"\nenv = {{ MINE = "{{mcp}}" }}\n'
        f'mcp_record = {{ url = "{server}", complete = true }}\n'
    )
    suite = tmp_path / "suite.json"
    expected = {"tool_calls_any": ["plain"], "tool_calls_none": ["other"]}
    suite.write_text(json.dumps({"version": "0.3", "cases": [{"id": "a", "prompt": "Hi", "expected": expected}]}))
    (record,) = carob.run(str(suite), "desk", results_dir=tmp_path)
    assert str(record.verdict.status) == "PASS", record.verdict
