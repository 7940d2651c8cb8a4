"""The GitHub Action and the pre-commit hooks, installed by pip and pre-commit as they would be in CI."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from action.workflow import FakeGithub, in_bash, run_action
from counterparts.environments import FOLDER, ROOT, UV, python_with

pytestmark = [pytest.mark.counterpart, pytest.mark.limit(900)]

SUITE = """\
carob: 1
cases:
  - {id: A, prompt: a, expected: {must_say_any: [hello]}}
  - {id: B, prompt: b, expected: {must_say_any: [hello]}}
"""
AGENT = "import os\ndef ask(prompt): return 'Hello' if prompt == 'a' else os.environ['WORD']\n"
CONFIGURATION = 'target = "desk"\n[targets.desk]\nuse = "python:desk.py:ask"\n'


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "evals").mkdir(parents=True)
    (folder / "evals/desk.yaml").write_text(SUITE)
    (folder / "desk.py").write_text(AGENT)
    (folder / "carob.toml").write_text(CONFIGURATION)
    return folder


def test_action_installs_runs_compares_and_comments(workspace: Path, tmp_path: Path) -> None:
    environment = FOLDER / "action"
    subprocess.run([UV, "venv", "--quiet", "--clear", "--seed", "--python", sys.executable, environment], check=True)
    path = f"{environment / 'bin'}:{os.environ['PATH']}"
    events = {
        "push": ({"ref_name": "main"}, {}),
        "pull_request": ({"ref_name": "7/merge", "base_ref": "main"}, {"pull_request": {"number": 7}}),
        "schedule": ({"ref_name": "main"}, {"schedule": "0 5 * * 1"}),
    }
    with FakeGithub().serving() as github:

        def act(event: str, word: str, **inputs: str) -> tuple[bool, dict[str, str]]:
            known, payload = events[event]
            (tmp_path / "event.json").write_text(json.dumps(payload))
            about = {"event_path": str(tmp_path / "event.json"), "api_url": github.address, "repository": "o/r"}
            summary = {"actions": "true", "step_summary": str(tmp_path / "summary.md"), "run_id": "1"}
            run = in_bash(path, {"HOME": str(tmp_path), "WORD": word})
            values = {"suite": "evals/*.yaml", **inputs}
            return run_action(values, {**known, **about, **summary}, workspace, tmp_path / "cache", run)

        assert act("push", "Hello")[0]
        assert github.comments == []
        passed, outputs = act("pull_request", "Bye")
        assert not passed
        assert (outputs["passed"], outputs["failed"], outputs["error"]) == ("1", "1", "0")
        assert (workspace / outputs["report"]).is_dir()
        assert "passed before and fails now: it may be chance" in github.comments[0]["body"]
        assert act("pull_request", "Bye", gate="--max-new-failures 1")[0]
        github.may_write = False
        assert act("pull_request", "Hello")[0]
        assert len(github.comments) == 1
        assert act("schedule", "Hello")[0]
        assert not act("schedule", "Bye")[0]
        assert "## Carob:" in (tmp_path / "summary.md").read_text()
        assert not act("pull_request", "Hello", suite="gone.yaml")[0]


def test_hooks_are_installed_and_run_by_pre_commit(workspace: Path, tmp_path: Path) -> None:
    python = python_with("pre-commit", "pre-commit")
    environ = {**os.environ, "PRE_COMMIT_HOME": str(FOLDER / "pre-commit-home")}
    for role in ("AUTHOR", "COMMITTER"):
        environ |= {f"GIT_{role}_NAME": "t", f"GIT_{role}_EMAIL": "t@example.org"}

    def git(folder: Path, *arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=folder, env=environ, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    hooks = tmp_path / "hooks"
    for name in git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard").splitlines():
        if name.startswith("src/") or "/" not in name:
            (hooks / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, hooks / name)
    for folder in (hooks, workspace):
        git(folder, "init", "-q", "-b", "main")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "first")
    (workspace / ".pre-commit-config.yaml").write_text(
        f"repos:\n  - repo: {hooks}\n    rev: {git(hooks, 'rev-parse', 'HEAD')}\n"
        "    hooks: [{id: carob-validate}, {id: carob-lint}]\n"
    )

    def check() -> tuple[int, str]:
        git(workspace, "add", "-A")
        command = [str(python), "-m", "pre_commit", "run", "--all-files"]
        done = subprocess.run(command, cwd=workspace, env=environ, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    code, said = check()
    assert code == 0, said
    assert said.count("Passed") == 2
    (workspace / "evals/desk.yaml").write_text(SUITE.replace("must_say_any", "must_say"))
    code, said = check()
    assert code == 1
    assert "Did you mean 'must_say_any'?" in said
