"""The golden sets can fail: the audit proves it, and the linter finds nothing suspect."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from golden_runs import DECISIONS, QA

import carob
from recordings import DYNO, ROOT, Recorded

CAROB = Path(sys.executable).parent / "carob"


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([CAROB, *arguments], capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("suite", DYNO, ids=lambda suite: Path(suite).stem)
def test_the_audit_proves_the_set(suite: str, recorded: Recorded, tmp_path: Path) -> None:
    ran = command("audit", shutil.copy(recorded(suite).path, tmp_path), "--min-kill", "0.95")
    assert ran.returncode == 0, ran.stdout
    audit = json.loads(next(tmp_path.glob("*.audit.json")).read_text())
    assert len(audit["cases"]) == len(carob.load_suite(ROOT / suite).cases)
    for unwanted in ("Brittle", "Not audited", "Controls that pass"):
        assert unwanted not in ran.stdout


def test_the_linter_finds_nothing() -> None:
    ran = command("lint", "--strict", DECISIONS, QA)
    assert ran.returncode == 0, ran.stdout
