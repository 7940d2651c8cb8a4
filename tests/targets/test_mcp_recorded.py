"""A proxy before an MCP server: what crossed it is evidence. The server here is a small stand-in for one."""

from __future__ import annotations

import json
import os
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import karat
from karat.targets.config import TargetConfig


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


def silent_agent(prompt: str) -> str:
    """Calls the tool that the prompt names, and says nothing of it."""
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": prompt, "arguments": {"n": 1}}}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request(os.environ["KARAT_MCP_URL"], json.dumps(message).encode(), headers)
    with urllib.request.urlopen(request, timeout=20) as response:
        assert b"jsonrpc" in response.read()
    return "I did nothing."


def test_what_crossed_the_proxy_was_called(server: str, tmp_path: Path) -> None:
    file = tmp_path / "suite.json"
    found = {"plain": True, "stream": True, "fail": False}
    cases = [
        {"id": tool, "prompt": tool, "expected": {"tool_calls": [{"tool": tool, "arguments": {"n": 1}, "success": ok}]}}
        for tool, ok in found.items()
    ]
    forbidden = {"id": "forbidden", "prompt": "plain", "expected": {"tool_calls_none": ["plain"]}}
    unproved = {"id": "unproved", "prompt": "plain", "expected": {"tool_calls_none": ["other"]}}
    file.write_text(json.dumps({"version": "0.3", "cases": [*cases, forbidden, unproved]}))
    target = TargetConfig(kind="python", spec=f"{__name__}:silent_agent", root=Path(__file__).parent, mcp_record=server)
    records = {record.case.id: record for record in karat.run(str(file), target, results_dir=tmp_path)}
    assert {case_id: str(record.verdict.status) for case_id, record in records.items()} == {
        **dict.fromkeys(found, "PASS"),
        "forbidden": "FAIL",
        "unproved": "PARTIAL",
    }
    (call,) = records["stream"].trace.tool_calls
    assert (call.result, call.success) == ({"got": {"n": 1}}, True)
    assert call.started_at is not None
