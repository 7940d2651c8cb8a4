"""Claude Code, Codex and an MCP server in Node behind a guard, by their real command lines: what ran is in a log."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from carob.features.guard.hook_events import Host
from carob.features.guard.install import install_guard, plan_installation
from carob.features.guard.journal import find_unasked, read_guard_journal
from counterparts.environments import FOLDER, install_by_npm

pytestmark = [pytest.mark.counterpart, pytest.mark.limit(600)]

HERE = Path(__file__).parent / "guarded"
PACKAGES = ("@anthropic-ai/claude-code@2.1.197", "@openai/codex@0.169.0")
POLICY = """
carob: 1
rules:
  - id: ask-first
    why: Ask before you pay.
    each: { call: Bash, arguments: { command: { $regex: "paid-pay" } } }
    needs: { last_user: ["go ahead"] }
"""
CALLS = """
carob: 1
rules:
  - id: look-first
    each: { call: pay_invoice, arguments: { id: { $as: id } } }
    needs: { before: { call: get_invoice, success: true, arguments: { id: { $same: id } } } }
"""
CODEX = """
model = "gpt-5"
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
"""


@pytest.fixture(scope="session")
def programs() -> Path:
    """The folder of the command lines; skipped where npm has not what this machine needs."""
    folder = FOLDER / "guarded-agents"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}')
    try:
        install_by_npm(folder, *PACKAGES)
    except subprocess.CalledProcessError:
        pytest.skip(f"npm cannot install {' and '.join(PACKAGES)}")
    return folder / "node_modules" / ".bin"


@pytest.fixture
def model(tmp_path: Path) -> Iterator[int]:
    command = [sys.executable, str(HERE / "model_server.py"), str(tmp_path / "ledger")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("host", ["claude", "codex"])
@pytest.mark.parametrize(("prompt", "ledger"), [("please pay", ["looked"]), ("go ahead", ["looked", "paid-pay"])])
def test_a_coding_agent_runs_what_is_allowed(
    host: Host, prompt: str, ledger: list[str], programs: Path, model: int, tmp_path: Path
) -> None:
    policy, home, work = tmp_path / "policy.carob.yaml", tmp_path / "home", tmp_path / "work"
    policy.write_text(POLICY)
    work.mkdir()
    environ = {**os.environ, "HOME": str(home), "IS_SANDBOX": "1"}
    environ |= {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model}", "ANTHROPIC_API_KEY": "none"}
    environ |= {"CODEX_HOME": str(home / ".codex"), "OPENAI_API_KEY": "none", "XDG_STATE_HOME": ""}
    environ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1"
    installed = plan_installation(policy, host, environ=environ, workspace=work, user=True)
    install_guard(installed)
    command = ["claude", "-p", prompt, "--dangerously-skip-permissions"]
    if host == "codex":
        (home / ".codex" / "config.toml").write_text(CODEX.replace("{port}", str(model)))
        options = ("--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox")
        command = ["codex", "exec", "--skip-git-repo-check", *options, prompt]
    done = subprocess.run(
        [str(programs / command[0]), *command[1:]],
        cwd=work, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    log = (tmp_path / "ledger").read_text().split() if (tmp_path / "ledger").exists() else []
    assert log == ledger, done.stdout + done.stderr
    journal = installed.file.parent / "decisions.jsonl"
    decisions = [line.decision for line in read_guard_journal(journal) if line.decision is not None]
    assert [decision.verdict for decision in decisions] == ["allow", "allow" if len(ledger) > 1 else "block"]
    assert not [*find_unasked(journal)], "each result belongs to a call that was asked about"


def test_an_mcp_server_in_node_gets_what_is_allowed(tmp_path: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("no node: apt-get install nodejs")
    policy, log = tmp_path / "policy.carob.yaml", tmp_path / "log"
    policy.write_text(CALLS)
    command = ["guard", "mcp", str(policy), "--", "node", str(HERE / "mcp_desk.mjs"), str(log)]
    calls = ("pay_invoice", "get_invoice", "pay_invoice")
    messages: list[dict[str, Any]] = [{"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}]
    messages.append({"method": "notifications/initialized"})
    messages += [
        {"id": number, "method": "tools/call", "params": {"name": tool, "arguments": {"id": "A"}}}
        for number, tool in enumerate(calls, 1)
    ]
    process = subprocess.Popen(
        [str(Path(sys.executable).with_name("carob")), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    answers = {}
    for message in messages:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()
        if "id" in message:
            answers[message["id"]] = json.loads(process.stdout.readline())
    process.stdin.close()
    process.wait(timeout=60)
    process.stdout.close()
    assert [answers[number]["result"].get("isError", False) for number in (1, 2, 3)] == [True, False, False]
    assert "look-first" in answers[1]["result"]["content"][0]["text"]
    assert log.read_text().split() == ["get_invoice", "pay_invoice"]
