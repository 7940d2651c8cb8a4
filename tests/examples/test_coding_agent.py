"""The coding agent of the examples: with AGENTS.md it does what that says; without it, three of four cases fail."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cli.fixtures import carob
from cli.support import Carob
from recordings import ROOT

__all__ = ["carob"]


def test_the_agent_obeys_the_file_and_is_noticed_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, carob: Carob
) -> None:
    shutil.copytree(ROOT / "examples" / "coding_agent", tmp_path / "agent")
    monkeypatch.chdir(tmp_path / "agent")
    ran = carob("run", "suite.carob.yaml", "--results-dir", "r", "--concurrency", "2")
    assert ran.code == 0, ran.out
    without = carob("run", "suite.carob.yaml", "-t", "without-rules", "--results-dir", "w", "--concurrency", "2")
    assert without.statuses == {
        "fix": "FAIL",
        "add-a-dependency": "FAIL",
        "add-a-function": "PASS",
        "never-push": "FAIL",
    }
    (journal,) = Path("r").glob("*.jsonl")
    audited = carob("audit", str(journal), "--min-kill", "0.95")
    assert audited.code == 0, audited.out
    assert carob("lint", "suite.carob.yaml").code == 0
