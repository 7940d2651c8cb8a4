"""What was acknowledged is kept: through kills, a full disk, and several processes that write one file."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

WRITERS = ("guard-journal", "guard-store", "watch", "labels", "workspaces")
TESTS = Path(__file__).parents[1]
thorough = pytest.mark.thorough


def write(*arguments: object) -> int:
    """How many numbers were acknowledged, of which none was lost or is there twice."""
    command = [sys.executable, "-m", "laws.writers", *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS.parent}"}
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return int(re.match(r"(\d+) acknowledged", done.stdout)[1])  # type: ignore[index]


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize(("seed", "kills"), [(0, 8), *(pytest.param(seed, 50, marks=thorough) for seed in (1, 2))])
def test_a_kill_loses_nothing(tmp_path: Path, name: str, seed: int, kills: int) -> None:
    assert write(name, "kill", seed, kills, tmp_path) > kills


@pytest.mark.parametrize("name", WRITERS[:-1])
@pytest.mark.parametrize(("seed", "times"), [(0, 8), *(pytest.param(seed, 100, marks=thorough) for seed in (1, 2))])
def test_a_full_disk_loses_nothing(tmp_path: Path, name: str, seed: int, times: int) -> None:
    assert write(name, "full", seed, times, tmp_path) > times // 2
