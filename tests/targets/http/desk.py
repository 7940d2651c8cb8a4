"""The scripted desk agent, as every counterpart serves it: what is asked of it, and what must come of that."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import carob
from carob.model.trace import Trace
from carob.targets.config import TargetConfig

from .server import LAST, Asked, chunk, serving, started

HERE = Path(__file__).parent
RECORDINGS = HERE / "recordings"
CALL = {"tool": "weather", "arguments": {"city": "Paris"}, "success": True}
CASES: list[dict[str, Any]] = [
    {"id": "right", "prompt": "hello", "expected": {"must_say_any": ["Hello there."]}},
    {"id": "wrong", "prompt": "hello", "expected": {"must_say_any": ["Goodbye"]}},
    {"id": "nothing", "prompt": "nothing", "expected": {"must_say_any": ["Hello"]}},
    {"id": "broken", "prompt": "crash", "expected": {"must_say_any": ["Hello"]}},
    {
        "id": "tools",
        "prompt": "weather in Paris",
        "expected": {"outcome": "tool_success", "tool_calls": [CALL], "must_say_any": ["sunny in Paris"]},
    },
    {
        "id": "failing-tool",
        "prompt": "weather in Nowhere",
        "expected": {"tool_calls": [CALL | {"arguments": {"city": "Nowhere"}, "success": False}]},
    },
    {
        "id": "turns",
        "setup_prompts": ["my name is Ada"],
        "prompt": "what did I say?",
        "expected": {"must_say_any": ["You said: my name is Ada"]},
    },
]


FRANCE = "What is the capital of France?"
WEATHER = "What is the weather in "
MODEL_CASES: list[dict[str, Any]] = [
    {"id": "right", "prompt": FRANCE, "expected": {"must_say_any": ["Paris"]}},
    {"id": "wrong", "prompt": FRANCE, "expected": {"must_say_any": ["Berlin"]}},
    {"id": "nothing", "prompt": "hello", "expected": {"must_say_any": ["Hello"]}},
    {"id": "broken", "prompt": "long " * 6000, "expected": {"must_say_any": ["Paris"]}},
    {
        "id": "turns",
        "setup_prompts": ["My name is Ada."],
        "prompt": FRANCE,
        "expected": {"must_say_any": ["Paris"]},
    },
    *({**case, "prompt": f"{WEATHER}{city}?"} for case, city in zip(CASES[4:6], ("Paris", "Nowhere"), strict=True)),
]
"""What a very small model says; nothing if it stops at its first word; and a prompt that it cannot read."""


class Counterpart(NamedTuple):
    """Software of others, and how Carob is told to talk to it."""

    name: str
    shown: str
    kind: str
    path: str
    options: dict[str, Any]
    without_tools: bool = False
    """Its protocol tells nothing of tools."""
    cases: list[dict[str, Any]] = CASES


CHAT: dict[str, Any] = {
    "model": "local",
    "mode": "loop",
    "tools": {"weather": "desk_tools.py:weather"},
    "parameters": {"temperature": 0, "max_tokens": 40, "stop": ["Hello"]},
}
RESPONSES: dict[str, Any] = {
    **CHAT,
    "api": "responses",
    "parameters": {"temperature": 0, "max_output_tokens": 40, "stop": ["Hello"]},
}
COUNTERPARTS = (
    Counterpart("openai-chat", "llama.cpp, chat completions", "openai", "/v1", CHAT, cases=MODEL_CASES),
    Counterpart("openai-responses", "llama.cpp, responses", "openai", "/v1", RESPONSES, cases=MODEL_CASES),
    Counterpart("pydantic-ai-ag-ui", "pydantic-ai 2.66, AG-UI", "ag-ui", "/ag-ui", {}),
    Counterpart("ag-ui-langgraph", "ag-ui-langgraph 0.0.47", "ag-ui", "/", {}),
    Counterpart("pydantic-ai-ai-sdk", "pydantic-ai 2.66, Vercel AI", "ai-sdk", "/ai-sdk", {}),
    Counterpart("ai-sdk-node", "npm ai 6.0.326", "ai-sdk", "/api/chat", {}),
    Counterpart("langgraph-server", "langgraph-cli 0.4.40", "langgraph-server", "", {"assistant": "desk"}),
    Counterpart("a2a-1.0", "a2a-sdk 1.3, 1.0", "a2a", "/", {}, without_tools=True),
    Counterpart("a2a-0.3", "a2a-sdk 1.3, 0.3", "a2a", "/", {"version": "0.3"}, without_tools=True),
    Counterpart("a2a-1.0-unary", "a2a-sdk 1.3, 1.0, no stream", "a2a", "/", {"stream": False}, without_tools=True),
)

Seen = dict[str, tuple[str, Trace]]


async def judged(part: Counterpart, address: str, folder: Path) -> Seen:
    """Every case, judged: its status and its trace."""
    config = TargetConfig(kind=part.kind, spec=address + part.path, options=part.options, root=HERE)
    suite = folder / "desk.json"
    suite.write_text(json.dumps({"version": "0.3", "cases": part.cases}))
    result = await carob.arun(suite, config, results_dir=folder)
    return {record.case.id: (record.status.value, record.trace) for record in result.journal.records()}


def expect(part: Counterpart, seen: Seen) -> dict[str, str]:
    """Hold what was seen against what must be; the row of the table."""
    statuses = {case: status for case, (status, _) in seen.items()}
    tools = "PARTIAL" if part.without_tools else "PASS"
    wanted = {"right": "PASS", "wrong": "FAIL", "nothing": "ERROR", "broken": "ERROR", "turns": "PASS"}
    wanted |= {"tools": tools, "failing-tool": tools}
    outcomes = {case: (trace.error and trace.error.message, trace.final_message) for case, (_, trace) in seen.items()}
    assert statuses == {case["id"]: wanted[case["id"]] for case in part.cases}, outcomes
    right = seen["right"][1]
    first = right.timings["first_token_ms"]
    assert 0 < first <= (right.duration_ms or 0)
    calls = "unknown, by spans alone"
    if not part.without_tools:
        (call,) = seen["tools"][1].tool_calls
        assert (call.name, call.arguments, call.result) == ("weather", {"city": "Paris"}, "sunny in Paris")
        calls = "name, arguments, result, error"
    return {
        "tool calls": calls,
        "first token": "measured" if part.options.get("stream", True) else "with the answer",
    }


@asynccontextmanager
async def recording(upstream: str, kept: dict[str, list[dict[str, Any]]]) -> AsyncIterator[str]:
    """A server before another one, which keeps what that answered to each case."""
    import httpx2

    # A connection that the other side is about to close is not used again.
    limits = httpx2.Limits(max_keepalive_connections=0)
    async with httpx2.AsyncClient(timeout=60, trust_env=False, limits=limits) as client:

        async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
            headers = {name: value for name, value in asked.headers.items() if name not in ("host", "content-length")}
            headers["accept-encoding"] = "identity"
            came = await client.request(asked.method, upstream + asked.path, content=asked.body, headers=headers)
            kind = came.headers.get("content-type", "")
            kept.setdefault(_case(asked), []).append({"status": came.status_code, "type": kind, "body": came.text})
            _write(writer, kept[_case(asked)][-1])

        async with serving(answer) as server:
            yield server.url.removesuffix("/chat")


@asynccontextmanager
async def replaying(kept: dict[str, list[dict[str, Any]]]) -> AsyncIterator[str]:
    """A server that answers as another one did."""
    left = {case: iter(answers) for case, answers in kept.items()}

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        _write(writer, next(left[_case(asked)]))

    async with serving(answer) as server:
        yield server.url.removesuffix("/chat")


def _case(asked: Asked) -> str:
    return unquote(asked.headers["baggage"].removeprefix("carob.case=").partition("/")[0])


def _write(writer: asyncio.StreamWriter, event: dict[str, Any]) -> None:
    body = event["body"].encode()
    half = len(body) // 2
    writer.write(started(event["type"], f"{event['status']} As Told"))
    for piece in filter(None, (body[:half], body[half:])):
        writer.write(chunk(piece))
    writer.write(LAST)
