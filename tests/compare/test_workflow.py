"""The workflow of the docs: its steps run as a forge would run them, in a repository of our own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from cli.support import SCRIPT
from pages import File, blocks

PAGE = Path(__file__).parents[2] / "docs" / "comparing.md"
COMMENTING = '#!/bin/sh\necho "$@" > said.txt\ncat "$5" >> said.txt\n'


def shell(line: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    path = f"{folder / 'bin'}:{SCRIPT.parent}:{os.environ['PATH']}"
    who = {f"GIT_{role}_{part}": "t@example.org" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    environ = {**os.environ, **who, "PATH": path, **more}
    return subprocess.run(["bash", "-ec", line], cwd=folder, env=environ, capture_output=True, text=True, check=False)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for block in blocks(PAGE.read_text()):
        if isinstance(block, File):
            block.write(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "gh").write_text(COMMENTING)
    (tmp_path / "bin" / "gh").chmod(0o755)
    made = shell(
        "git init -q -b main && AGE=2 karat run desk.json -t python:desk.py:answer --repeat 6 --results-dir before -q"
        " && karat baseline set @last --results-dir before && git add desk* .github && git commit -qm base",
        tmp_path,
    )
    assert made.returncode == 0, made.stderr
    return tmp_path


@pytest.mark.parametrize(("age", "code", "says"), [("2", 0, "| met |"), ("3", 1, "| BROKEN |")])
def test_the_steps_run_compare_comment_and_gate(repository: Path, age: str, code: int, says: str) -> None:
    jobs = yaml.safe_load((repository / ".github/workflows/evals.yml").read_text())["jobs"]
    steps = {step["name"]: step["run"] for step in jobs["evals"]["steps"] if "name" in step}
    ran = shell(steps["Run"], repository, AGE=age)
    assert ran.returncode == 0, ran.stderr
    assert shell(steps["Compare"], repository).returncode == code
    assert shell(steps["Comment"], repository, NUMBER="17", GH_TOKEN="none").returncode == 0
    said = (repository / "said.txt").read_text()
    assert said.startswith("pr comment 17 --body-file comment.md\n**")
    assert says in said
