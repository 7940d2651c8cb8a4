"""Public applications, as they are, against the scripted model server: nothing of theirs is in this repository.

CAROB_APPLICATIONS names a folder with clones: `react-agent` and `memory-agent` of langchain-ai, `pydantic-ai`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from carob.journal.reader import Journal
from counterparts.environments import ROOT, python_with
from scripted_model import serve

HERE = Path(__file__).parent / "applications"
GRAPHS = ("langgraph>=1.0", "langchain>=1.0", "langchain-openai>=1.1", "python-dotenv>=1.2")
MOST_GLUE = 10


class Application(NamedTuple):
    """A public application, what it needs, and how its cases end."""

    folder: str
    clone: str
    needs: tuple[str, ...]
    statuses: dict[str, str]
    target: str = "app"


APPLICATIONS = (
    Application(
        "react_agent",
        "react-agent",
        (*GRAPHS, "langchain-anthropic", "langchain-fireworks", "langchain-tavily"),
        {"greets": "PASS", "search-is-down": "PASS", "second-turn": "PASS", "answers-without-a-search": "FAIL"},
    ),
    Application(
        "memory_agent",
        "memory-agent",
        GRAPHS,
        {
            "remembers": "PASS",
            "recalls": "PASS",
            "knows-nothing-of-other-cases": "PASS",
            "claims-to-remember-coffee": "FAIL",
        },
    ),
    Application(
        "bank_support",
        "pydantic-ai",
        ("pydantic-ai-slim[openai]==2.66.0",),
        {"balance": "PASS", "lost-card": "PASS", "says-blocked-and-does-not": "FAIL"},
        "python:agent.py:ask",
    ),
)


@pytest.mark.parametrize("application", APPLICATIONS, ids=lambda application: application.folder)
def test_application_runs_with_ten_lines_of_glue(application: Application, tmp_path: Path) -> None:
    clones = os.environ.get("CAROB_APPLICATIONS")
    if not clones:
        pytest.skip("CAROB_APPLICATIONS names no folder with clones")
    python = python_with(application.folder, "--editable", f"{ROOT}[langgraph]", *application.needs)
    folder = tmp_path / "project"
    shutil.copytree(HERE / application.folder, folder)
    (folder / "app").symlink_to(Path(clones).absolute() / application.clone)
    with serve(folder / "script.yaml") as model:
        environ = {"OPENAI_BASE_URL": f"{model.url}/v1", "OPENAI_API_KEY": "none", "TAVILY_API_KEY": "none"}
        env = os.environ | environ | {"PYTHONPATH": "app/examples"}
        command = [
            python.parent / "carob",
            "run",
            "suite.yaml",
            "--target",
            application.target,
            "--results-dir",
            "runs",
        ]
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
        assert not model.unmatched
    (journal,) = (folder / "runs").glob("*.jsonl")
    statuses = {record.case.id: record.status.value for record in Journal(journal).records()}
    assert statuses == application.statuses, done.stdout + done.stderr


@pytest.mark.parametrize("application", APPLICATIONS, ids=lambda application: application.folder)
def test_glue_is_short(application: Application) -> None:
    files = [file for file in (HERE / application.folder).iterdir() if file.suffix in (".py", ".toml")]
    lines = [line for file in files for line in file.read_text().splitlines() if line.strip()]
    assert 0 < len(lines) <= MOST_GLUE
