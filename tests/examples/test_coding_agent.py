"""The coding agent of the examples: with AGENTS.md it does what that says; without it, three of four cases fail."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cli.fixtures import karat
from cli.support import Karat
from recordings import ROOT

__all__ = ["karat"]


def test_the_agent_obeys_the_file_and_is_noticed_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, karat: Karat
) -> None:
    shutil.copytree(ROOT / "examples" / "coding_agent", tmp_path / "agent")
    monkeypatch.chdir(tmp_path / "agent")
    ran = karat("run", "suite.karat.yaml", "--results-dir", "r", "--concurrency", "2")
    assert ran.code == 0, ran.out
    without = karat("run", "suite.karat.yaml", "-t", "without-rules", "--results-dir", "w", "--concurrency", "2")
    assert without.statuses == {
        "fix": "FAIL",
        "add-a-dependency": "FAIL",
        "add-a-function": "PASS",
        "never-push": "FAIL",
    }
    (journal,) = Path("r").glob("*.jsonl")
    audited = karat("audit", str(journal), "--min-kill", "0.95")
    assert audited.code == 0, audited.out
    assert karat("lint", "suite.karat.yaml").code == 0
