"""Which model drives the agent: the choice by configuration, a real endpoint, and a real language model."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from dyno_agent import local_llm
from dyno_agent.chat_models import chat_model_from_environment
from dyno_agent.graph import make_graph
from dyno_agent.rule_based import RuleBasedChatModel
from dyno_agent.schema_tools import choice_schema
from dyno_agent.settings import ConfigurationError
from dyno_agent.testing import setup, teardown
from dyno_agent.tools import TOOLS


async def ask(model: BaseChatModel, words: str) -> list[AnyMessage]:
    context: Any = await setup("model")
    state: Any = {"messages": [("user", words)]}
    try:
        messages: list[AnyMessage] = (await make_graph(model).ainvoke(state, context=context))["messages"]
    finally:
        await teardown(context)
    return messages


class Endpoint(BaseHTTPRequestHandler):
    """Speaks chat completions: a tool call for a question, words for a tool's result."""

    requests: list[dict[str, Any]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.requests.append({**body, "authorization": self.headers["Authorization"], "path": self.path})
        if body["messages"][-1]["role"] == "tool":
            message = {"role": "assistant", "content": json.loads(body["messages"][-1]["content"])["message"]}
        else:
            function = {"name": "check_vehicle_allocation", "arguments": '{"vehicle_id": 7}'}
            call = {"id": "a", "type": "function", "function": function}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        answer = {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": "m",
            "choices": [choice],
            "usage": usage,
        }
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """A test's output is no place for an access log."""


@pytest.fixture
def endpoint() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    seen: list[dict[str, Any]] = []
    handler = type("Recording", (Endpoint,), {"requests": seen})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1", seen
        server.shutdown()
        thread.join()


def test_the_default_is_rule_based(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "present, but no model was asked for")
    monkeypatch.delenv("DYNO_MODEL", raising=False)
    assert isinstance(chat_model_from_environment(), RuleBasedChatModel)


def test_an_endpoint_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNO_MODEL", "some-model")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY is not set"):
        chat_model_from_environment()


async def test_a_model_at_an_endpoint_drives_the_graph(
    monkeypatch: pytest.MonkeyPatch, endpoint: tuple[str, list[dict[str, Any]]]
) -> None:
    url, seen = endpoint
    monkeypatch.setenv("DYNO_MODEL", "some-model")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    messages = await ask(chat_model_from_environment(), "Is vehicle 7 booked?")
    assert messages[-1].text.startswith("1 active allocation for vehicle 7")
    assert [request["model"] for request in seen] == ["some-model"] * 2
    assert seen[0]["authorization"] == "Bearer k"
    assert {tool["function"]["name"] for tool in seen[0]["tools"]} == {tool.name for tool in TOOLS}
    assert "Current time: 2026-03-02T09:00" in seen[0]["messages"][0]["content"]


FUNCTIONS = [convert_to_openai_tool(tool)["function"] for tool in TOOLS]


@pytest.mark.parametrize(
    ("choice", "valid"),
    [
        ({"tool": "check_vehicle_allocation", "arguments": {"vehicle_id": 7}}, True),
        ({"tool": "get_datetime_now", "arguments": {}}, True),
        ({"tool": "none", "arguments": {}}, True),
        ({"tool": "launch_rocket", "arguments": {}}, False),
        ({"tool": "check_vehicle_allocation", "arguments": {"vehicle_id": "seven"}}, False),
        ({"tool": "check_vehicle_allocation", "arguments": {"runtime": {}}}, False),
        ({"tool": "detect_conflicts", "arguments": {"start_date": "soon"}}, False),
        ({"tool": "query_database", "arguments": {"sql": "x" * 1000}}, False),
    ],
    ids=str,
)
def test_the_schema_allows_tools_and_nothing_else(choice: dict[str, Any], valid: bool) -> None:
    schema = choice_schema(FUNCTIONS)
    Draft202012Validator.check_schema(schema)
    assert Draft202012Validator(schema).is_valid(choice) is valid


def test_the_weights_are_found_without_importing_their_package() -> None:
    weights = local_llm.find_weights()
    assert weights.suffix == ".gguf"
    assert weights.read_bytes()[:4] == b"GGUF"


def test_a_missing_model_file_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DYNO_GGUF", str(tmp_path / "none.gguf"))
    with pytest.raises(ConfigurationError, match="there is no such file"):
        local_llm.find_weights()
    monkeypatch.delenv("DYNO_GGUF")
    monkeypatch.setattr(local_llm, "WEIGHTS_PACKAGE", "no_such_package")
    with pytest.raises(ConfigurationError, match="no model file"):
        local_llm.find_weights()
