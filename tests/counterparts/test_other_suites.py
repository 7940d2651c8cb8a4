"""The same expectations and answers through other tools and through Carob: every difference has a name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from counterparts.environments import ROOT, python_with

PACKAGES = {"agentevals": "agentevals==0.0.9", "deepeval": "deepeval==4.3.1", "pydantic": "pydantic-evals==2.62.0"}


@pytest.mark.parametrize("name", PACKAGES)
def test_evaluators_of_other_tools_agree(name: str) -> None:
    python = str(python_with(f"suites-{name}", PACKAGES[name]))
    command = [sys.executable, "-m", "benchmarks.published", "peers", f"--{name}", python, "--count", "300"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "300 verdicts" in done.stdout, done.stderr
    assert done.returncode == 0, done.stdout  # 1 where a difference has no name
