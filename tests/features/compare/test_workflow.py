"""The two commands of the docs for a pull request: run by a shell as a CI server would, in a repository of our own."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from cli.support import SCRIPT
from pages import File, blocks

PAGE = Path(__file__).parents[3] / "docs" / "comparing.md"
RUN, COMPARE = re.findall(r"^carob (?:run|compare) .*--results-dir results .*$", PAGE.read_text(), re.MULTILINE)


def shell(line: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    who = {f"GIT_{role}_{part}": "t@example.org" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    environ = {**os.environ, **who, "PATH": f"{SCRIPT.parent}:{os.environ['PATH']}", **more}
    return subprocess.run(["bash", "-ec", line], cwd=folder, env=environ, capture_output=True, text=True, check=False)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for block in blocks(PAGE.read_text()):
        if isinstance(block, File):
            block.write(tmp_path)
    made = shell(
        "git init -q -b main && AGE=2 carob run desk.yaml -t python:desk.py:answer --repeat 6 --results-dir before -q"
        " && carob compare --save @last --results-dir before && git add desk* && git commit -qm base",
        tmp_path,
    )
    assert made.returncode == 0, made.stderr
    return tmp_path


@pytest.mark.parametrize(("age", "code", "says"), [("2", 0, "| met |"), ("3", 1, "| BROKEN |")])
def test_the_commands_run_compare_and_gate(repository: Path, age: str, code: int, says: str) -> None:
    ran = shell(RUN, repository, AGE=age)
    assert ran.returncode == 0, ran.stderr
    assert shell(COMPARE, repository).returncode == code
    assert says in (repository / "comment.md").read_text()
