"""Law 15 with the tools of frameworks in their newest releases: nothing succeeds before it ended, at any door."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from counterparts.environments import ROOT, python_with
from features.guard.policies import CALLS, write_policy

pytestmark = [pytest.mark.counterpart, pytest.mark.limit(900)]
SCRIPT = Path(__file__).parent / "guarded" / "tool_objects.py"
PACKAGES = {
    "langchain": "langchain",
    "openai_agents": "openai-agents",
    "pydantic_ai": "pydantic-ai-slim",
    "crewai": "crewai",
    "google_adk": "google-adk",
}
DOORS = {"frameworks", "object", "function", "recorded", "recorded object"}
QUIET = {"CREWAI_TELEMETRY_OPT_OUT": "true", "OTEL_SDK_DISABLED": "true"}


@pytest.mark.parametrize("framework", PACKAGES)
def test_no_door_is_open(framework: str, tmp_path: Path) -> None:
    python = python_with(f"tools-{framework}", "--editable", str(ROOT), "--upgrade", PACKAGES[framework])
    command = [str(python), "-W", "ignore", str(SCRIPT), framework, str(write_policy(tmp_path, CALLS))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env={**os.environ, **QUIET})
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(rows) == 8
    for row in rows:
        for door in DOORS:
            assert row[door] == "right", (door, row)
