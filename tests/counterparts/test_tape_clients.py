"""Real client libraries through a tape: recorded with a scripted model, replayed when it is gone."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import carob
from carob.model.verdict import CaseStatus
from carob.proxy.tape.file import read_tape
from counterparts.environments import install_by_npm, python_with
from scripted_model import serve

CLIENTS = Path(__file__).parent / "clients"
LIBRARIES = (
    "anthropic", "google-genai", "langchain-anthropic", "langchain-openai", "litellm", "mcp", "openai",
    "pydantic-ai-slim[openai]",
)  # fmt: skip
MODELS = (
    "openai_chat",
    "openai_async",
    "openai_responses",
    "anthropic",
    "google",
    "litellm",
    "langchain",
    "pydantic_ai",
)
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY")
RULES = {
    "rules": [
        {"when": {"user": r"balance of (?P<account>\w+)"}, "call": {"get_balance": {"account": "${account}"}}},
        {"when": {"user": "balance", "results": "any"}, "say": "Your balance is 12.50 dollars."},
    ]
}


def suite() -> dict[str, object]:
    expected = {"tool_calls": [{"tool": "get_balance"}], "must_say_any": ["12.50"]}
    return {
        "carob": 1,
        "cases": [{"id": f"c{n}", "prompt": f"What is the balance of A{n}?", "expected": expected} for n in (1, 2)],
    }


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "s.carob.json").write_text(json.dumps(suite()))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(command: str, tape: str) -> list[tuple[CaseStatus, str]]:
    done = carob.run("s.carob.json", f"command:{command}", tape=tape, workers=1, concurrency=2, timeout=120)
    records = sorted(done.journal.records(), key=lambda record: record.case.id)
    return [(record.verdict.status, record.trace.final_message or str(record.trace.error)) for record in records]


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients find their keys in the environment, and in a replay none."""
    for name in (*KEYS, "GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def recorded_and_replayed(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Record with keys, and replay without any."""
    with serve(RULES) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
        for name in ("ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
            monkeypatch.setenv(name, model.url)
        for name in KEYS:
            monkeypatch.setenv(name, "sk-secret-of-a-test")
        live = run(command, "record")
    assert live == [(CaseStatus.PASS, "Your balance is 12.50 dollars.")] * 2
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL", *KEYS):
        monkeypatch.delenv(name)
    assert run(command, "replay") == live
    tape = Path("s.tape.yaml")
    assert len(read_tape(tape).exchanges) == 4
    assert "sk-secret-of-a-test" not in tape.read_text()


@pytest.mark.parametrize("mode", ["plain", "stream"])
@pytest.mark.parametrize("client", MODELS)
def test_python(client: str, mode: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = python_with("tape", *LIBRARIES)
    recorded_and_replayed(f"{python} {CLIENTS / 'ask.py'} {client} {mode}", monkeypatch)


@pytest.mark.parametrize("mode", ["plain", "stream"])
@pytest.mark.parametrize("client", MODELS)
def test_python_by_its_traffic_alone(client: str, mode: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent reports nothing but its answer; its calls are read out of its traffic, live and replayed."""
    command = f"{python_with('tape', *LIBRARIES)} {CLIENTS / 'ask.py'} {client} {mode} words"
    (project / "carob.toml").write_text(f'[targets.bank]\nuse = "command:{command}"\ntelemetry = {{ models = true }}\n')
    judged = {"tool_calls": [{"tool": "get_balance", "arguments": {"account": "A1"}, "times": 1, "success": True}]}
    case = {"id": "a", "prompt": "What is the balance of A1?", "expected": {**judged, "tool_calls_none": ["pay"]}}
    (project / "s.carob.json").write_text(json.dumps({"carob": 1, "cases": [case]}))
    with serve(RULES) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
        for name in ("ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
            monkeypatch.setenv(name, model.url)
        for name in KEYS:
            monkeypatch.setenv(name, "sk-secret-of-a-test")
        live = carob.run("s.carob.json", "bank", tape="record", workers=1, timeout=120)
    for name in KEYS:
        monkeypatch.delenv(name)
    again = carob.run("s.carob.json", "bank", tape="replay", workers=1, timeout=120)
    assert [record.verdict.status for run in (live, again) for record in run.journal.records()] == [CaseStatus.PASS] * 2


@pytest.mark.parametrize("mode", ["plain", "stream"])
def test_node(mode: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_by_npm(project, "ai@6", "@ai-sdk/openai@3", "@ai-sdk/anthropic@3", "zod@4")
    (project / "ai_sdk.mjs").write_bytes((CLIENTS / "ai_sdk.mjs").read_bytes())
    recorded_and_replayed(f"node {project / 'ai_sdk.mjs'} {mode}", monkeypatch)


@pytest.fixture
def mcp_server() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    python = python_with("tape", *LIBRARIES)
    server = subprocess.Popen([python, CLIENTS / "shop_mcp.py", str(port)], stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.kill()
        server.wait()


def test_mcp_over_http(project: Path, mcp_server: str) -> None:
    (project / "carob.toml").write_text(f'[tape.services.shop]\nurl = "{mcp_server}"\nenv = ["SHOP_MCP_URL"]\n')
    command = f"{python_with('tape', *LIBRARIES)} {CLIENTS / 'ask.py'} mcp_http plain"
    live = run(command, "record")
    assert live == [(CaseStatus.PASS, "Your balance is 12.50 dollars.")] * 2
    (project / "carob.toml").write_text(
        '[tape.services.shop]\nurl = "http://127.0.0.1:9/mcp"\nenv = ["SHOP_MCP_URL"]\n'
    )
    assert run(command, "replay") == live


def test_mcp_over_stdio(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = python_with("tape", *LIBRARIES)
    wrapped = f"{Path(sys.executable).parent / 'carob'} tape stdio shop --"
    monkeypatch.setenv("SHOP_MCP_COMMAND", f"{wrapped} {python} {CLIENTS / 'shop_mcp.py'}")
    command = f"{python} {CLIENTS / 'ask.py'} mcp_stdio plain"
    live = run(command, "record")
    assert live == [(CaseStatus.PASS, "Your balance is 12.50 dollars.")] * 2
    monkeypatch.setenv("SHOP_MCP_COMMAND", f"{wrapped} false")
    assert run(command, "replay") == live
