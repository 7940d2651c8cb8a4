"""`carob mcp` driven by the MCP inspector of npm, as a coding agent's configuration would start it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from counterparts.environments import FOLDER, install_by_npm

pytestmark = [pytest.mark.counterpart, pytest.mark.limit(600)]

SCRIPT = Path(sys.executable).with_name("carob")
SUITE = "carob: 1\ncases: [{id: sum, prompt: What is 12 + 7?, expected: {must_say_any: ['20']}}]\n"


@pytest.fixture(scope="session")
def inspector() -> Path:
    folder = FOLDER / "mcp-inspector"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}')
    install_by_npm(folder, "@modelcontextprotocol/inspector")
    return folder / "node_modules" / ".bin" / "mcp-inspector"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "shop.yaml").write_text(SUITE)
    (tmp_path / "agent.py").write_text("def ask(prompt): return 'It is 19.'\n")
    (tmp_path / "carob.toml").write_text('target = "shop"\n[targets.shop]\nuse = "python:agent.py:ask"\n')
    return tmp_path


def test_inspector_lists_and_calls_the_tools(inspector: Path, project: Path) -> None:
    def inspect(*arguments: str) -> Any:
        node = shutil.which("node") or "node"
        command = [node, str(inspector), "--cli", str(SCRIPT), "mcp", "--allow-run", *arguments]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def call(tool: str, **arguments: str) -> Any:
        options = [part for name, value in arguments.items() for part in ("--tool-arg", f"{name}={value}")]
        return inspect("--method", "tools/call", "--tool-name", tool, *options)

    tools = inspect("--method", "tools/list")["tools"]
    assert tools[0]["name"] == "explain_failure"
    assert len(tools) <= 8
    assert "expected  '20'" in call("run_cases", suite="shop.yaml", cases="[]")["content"][0]["text"]
    assert "answered  It is 19." in call("explain_failure")["content"][0]["text"]
    refused = call("validate", suite="../../etc/passwd")
    assert refused["isError"]
    assert "[outside]" in refused["content"][0]["text"]
