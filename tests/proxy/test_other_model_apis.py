"""Agents that ask Ollama or Bedrock: recorded, replayed without the service, judged by the traffic, hit by faults."""

from __future__ import annotations

import json
import os
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from carob.model.verdict import CaseStatus
from carob.providers.bedrock import BedrockConverse
from carob.providers.ollama import OllamaChat
from proxy.test_taped_runs import Project, project, statuses

__all__ = ["project"]
PASS, FAIL = CaseStatus.PASS, CaseStatus.FAIL
OLLAMA, BEDROCK = OllamaChat(), BedrockConverse()
ADDRESSES = {"ollama": "OLLAMA_HOST", "bedrock": "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"}
MODEL_PATH = "/model/eu.amazon.nova-lite-v1%3A0/converse"
CASES = [
    {
        "id": "called",
        "prompt": "What is the balance of A1?",
        "expected": {
            "tool_calls": [{"tool": "get_balance", "arguments": {"account": "A1"}, "result": {"balance": "12.50"}}],
            "tool_calls_none": ["pay"],
            "outcome": "tool_success",
            "valid_arguments": True,
            "max_tokens": {"total": 100},
            "must_say_any": ["12.50"],
        },
    },
    {"id": "forbidden", "prompt": "What is the balance of A1?", "expected": {"tool_calls_none": ["get_balance"]}},
    {"id": "none", "prompt": "Hello!", "expected": {"max_tool_calls": 0, "must_say_any": ["Good day"]}},
]
SCHEMA = {"type": "object", "properties": {"account": {"type": "string"}}, "required": ["account"]}


def ask_ollama(prompt: str, *, stream: bool = False) -> str:
    messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
    tools = [{"type": "function", "function": {"name": "get_balance", "parameters": SCHEMA}}]
    while True:
        body = {"model": "qwen3", "messages": messages, "tools": tools, "stream": stream}
        data = _post(f"{os.environ['OLLAMA_HOST']}/api/chat", body)
        lines = [json.loads(line) for line in data.splitlines()]
        assert len(lines) > 1 or not stream
        message = {"role": "assistant", "content": "".join(line["message"]["content"] for line in lines)}
        calls = [call for line in lines for call in line["message"].get("tool_calls", ())]
        if not calls:
            return str(message["content"])
        messages.append({**message, "tool_calls": calls})
        messages += [{"role": "tool", "content": '{"balance": "12.50"}'} for _ in calls]


def ask_ollama_streaming(prompt: str) -> str:
    return ask_ollama(prompt, stream=True)


def ask_bedrock(prompt: str, path: str = MODEL_PATH) -> str:
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"text": prompt}]}]
    tools = {"tools": [{"toolSpec": {"name": "get_balance", "inputSchema": {"json": SCHEMA}}}]}
    while True:
        data = _post(os.environ[ADDRESSES["bedrock"]] + path, {"messages": messages, "toolConfig": tools})
        reply = json.loads(data) if data[:1] == b"{" else BEDROCK.join(BEDROCK.read_stream(data))
        message = reply["output"]["message"]
        uses = [block["toolUse"] for block in message["content"] if "toolUse" in block]
        if not uses:
            return "".join(block["text"] for block in message["content"])
        results = [
            {"toolResult": {"toolUseId": use["toolUseId"], "content": [{"json": {"balance": "12.50"}}]}} for use in uses
        ]
        messages += [message, {"role": "user", "content": results}]


def ask_bedrock_streaming(prompt: str) -> str:
    return ask_bedrock(prompt, f"{MODEL_PATH}-stream")


def _post(address: str, body: object) -> bytes:
    request = urllib.request.Request(address, json.dumps(body).encode(), {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as reply:
            return bytes(reply.read())
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"{error.code}: {error.read().decode()}") from error


def _answer(body: dict[str, Any], *, is_bedrock: bool) -> dict[str, Any]:
    """What the model says: it asks for a balance, then says it."""
    asks, has_result = "balance" in str(body["messages"][0]["content"]), len(body["messages"]) > 1
    words = "You have 12.50." if has_result else "" if asks else "Good day."
    if is_bedrock:
        use = {"toolUseId": "t1", "name": "get_balance", "input": {"account": "A1"}}
        content = [{"text": words}] if words else [{"toolUse": use}]
        usage = {"inputTokens": 5, "outputTokens": 2}
        stop = "end_turn" if words else "tool_use"
        return {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": stop, "usage": usage}
    message: dict[str, Any] = {"role": "assistant", "content": words}
    if not words:
        message["tool_calls"] = [{"function": {"name": "get_balance", "arguments": {"account": "A1"}}}]
    end = {"done": True, "done_reason": "stop", "prompt_eval_count": 5, "eval_count": 2}
    return {"model": "qwen3", "message": message, **end}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        api = BEDROCK if "/converse" in self.path else OLLAMA
        answer, kind = _answer(body, is_bedrock=api is BEDROCK), "application/json"
        data = json.dumps(answer).encode()
        if api.wants_stream(body, self.path):
            data, kind = api.write_body(answer), api.stream_type
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None: ...


@pytest.fixture
def model() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


AGENTS = [("ollama", "ask_ollama"), ("ollama", "ask_ollama_streaming"), ("bedrock", "ask_bedrock"),
          ("bedrock", "ask_bedrock_streaming")]  # fmt: skip


@pytest.mark.parametrize(("service", "agent"), AGENTS)
def test_traffic_is_recorded_replayed_and_judged(
    service: str, agent: str, model: str, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = f'[targets.bank]\nuse = "python:proxy.test_other_model_apis:{agent}"\ntelemetry = {{ models = true }}\n'
    project.write({"carob": 1, "cases": CASES}, target)
    monkeypatch.setenv(ADDRESSES[service], model)
    live = project.run("record", target="bank")
    monkeypatch.setenv(ADDRESSES[service], "http://127.0.0.1:1")  # no service is there
    again = project.run("replay", target="bank")
    assert statuses(live) == statuses(again) == {"called": PASS, "forbidden": FAIL, "none": PASS}
    assert [call.arguments for call in again["called"].trace.tool_calls] == [{"account": "A1"}]


@pytest.mark.parametrize(("service", "agent"), AGENTS)
@pytest.mark.parametrize(
    ("fault", "calls", "says"),
    [
        pytest.param("refusal", [], "I can't help", id="refusal"),
        pytest.param("unknown_tool", ["get_balance_v2"], "12.50", id="unknown-tool"),
    ],
)
def test_faults_of_models_land(
    service: str,
    agent: str,
    fault: str,
    calls: list[str],
    says: str,
    model: str,
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = f'[targets.bank]\nuse = "python:proxy.test_other_model_apis:{agent}"\ntelemetry = {{ models = true }}\n'
    case = {**CASES[0], "expected": {"must_say_any": [says]}, "faults": [{"model": {fault: True}}]}
    project.write({"carob": 1, "cases": [case]}, target)
    monkeypatch.setenv(ADDRESSES[service], model)
    (record,) = project.run(None, target="bank").values()
    assert record.verdict.status is PASS, "a fault that does not land is an error"
    assert [call.name for call in record.trace.tool_calls] == calls
