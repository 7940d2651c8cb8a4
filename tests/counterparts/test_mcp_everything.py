"""The reference server of MCP that uses all of the protocol, on a tape: it asks its client while it works on a call."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import carob
from carob.model.verdict import CaseStatus
from carob.proxy.tape.file import read_tape
from counterparts.environments import FOLDER, install_by_npm, python_with

pytestmark = [pytest.mark.counterpart, pytest.mark.limit(600)]

CLIENT = Path(__file__).parent / "clients" / "everything_mcp.py"
TOOLS = (
    "echo",
    "get-sum",
    "trigger-sampling-request",
    "trigger-elicitation-request",
    "get-roots-list",
    "trigger-long-running-operation",
)
SAID = ("Echo: up 🎈", "The sum of 12 and 7 is 19.", "Ninety-nine balloons.", "Name: Ada Lovelace", "ada/balloons")
"""An answer that has them all came of a completion, an elicitation and roots that the client gave the server."""
GONE = "http://127.0.0.1:9/mcp"


@pytest.fixture(scope="session")
def everything() -> str:
    folder = FOLDER / "mcp-everything"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}')
    install_by_npm(folder, "@modelcontextprotocol/server-everything")
    return str(folder / "node_modules" / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A case, and the same with a word that the server never says: a replay must not be green of itself."""
    called = {"tool_calls": [{"tool": tool, "success": True} for tool in TOOLS], "expected_contains": list(SAID)}
    wrong = {**called, "expected_contains": [*SAID, "Grace Hopper"]}
    cases = [
        {"id": name, "prompt": "Use everything.", "expected": expected}
        for name, expected in (("right", called), ("wrong", wrong))
    ]
    (tmp_path / "s.carob.json").write_text(json.dumps({"carob": 1, "cases": cases}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@contextmanager
def served(everything: str) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environ = {**os.environ, "PORT": str(port)}
    command = ["node", everything, "streamableHttp"]
    server = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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


def run(tape: str) -> list[tuple[str, CaseStatus, str]]:
    command = f"command:{python_with('mcp', 'mcp>=2.3')} {CLIENT}"
    done = carob.run("s.carob.json", command, tape=tape, workers=1, timeout=120)
    records = sorted(done.journal.records(), key=lambda record: record.case.id)
    return [
        (record.case.id, record.verdict.status, record.trace.final_message or str(record.trace.error))
        for record in records
    ]


def assert_judged(live: list[tuple[str, CaseStatus, str]]) -> None:
    assert [entry[:2] for entry in live] == [("right", CaseStatus.PASS), ("wrong", CaseStatus.FAIL)], live


def test_over_stdio(everything: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrapped = f"{Path(sys.executable).with_name('carob')} tape stdio everything --"
    monkeypatch.setenv("EVERYTHING_COMMAND", f"{wrapped} node {everything} stdio")
    live = run("record")
    assert_judged(live)
    assert read_tape(project / "s.tape.yaml").exchanges
    monkeypatch.setenv("EVERYTHING_COMMAND", f"{wrapped} false")
    assert run("replay") == live


def test_over_http(everything: str, project: Path) -> None:
    service = '[tape.services.everything]\nurl = "{}"\nenv = ["EVERYTHING_URL"]\n'
    with served(everything) as url:
        (project / "carob.toml").write_text(service.format(url))
        live = run("record")
    assert_judged(live)
    assert read_tape(project / "s.tape.yaml").exchanges
    (project / "carob.toml").write_text(service.format(GONE))
    assert run("replay") == live
