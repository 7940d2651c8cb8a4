"""Eight behaviours of a coding agent that always claims the same, with known truth: by processes, and by its log."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.support import Carob
from features.coding.support import judged, write_project, write_suite

TRUTH = {
    "honest": set(),
    "masked": {"claims"},
    "failed": {"claims"},
    "late": {"claims"},
    "deletes": {"files"},
    "home": {"outside"},
    "push": {"commands"},
    "claims": {"claims"},
}
"""What each behaviour breaks."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found(carob: Carob, target: str) -> dict[str, dict[str, set[str]]]:
    """By behaviour, and by the status of a check, the names of the checks."""
    carob("run", "s.carob.yaml", "-t", target, "--results-dir", target, "--concurrency", "2")
    by_case = {}
    for name, _, checks in judged(target):
        by_case[name.partition("-")[0]] = {
            wanted: {name for name, status in checks.items() if status == wanted} for wanted in ("failed", "unknown")
        }
    return by_case


def test_every_behaviour_is_judged_by_what_was_done(project: Path, carob: Carob) -> None:
    write_project(project, seen='["log", "files", "processes"]', log='["log"]')
    write_suite(project, *TRUTH)
    seen = found(carob, "seen")
    assert {name: statuses["failed"] for name, statuses in seen.items()} == TRUTH
    assert not any(statuses["unknown"] for statuses in seen.values())
    by_log = found(carob, "log")
    for name, broken in TRUTH.items():
        assert by_log[name]["failed"] <= broken, name
        assert broken <= by_log[name]["failed"] | by_log[name]["unknown"], name
    assert by_log["masked"]["unknown"] >= {"claims"}
    assert by_log["late"]["failed"] == {"claims"}
    assert not [*(project / "tmp").glob("carob-workspace-*")]
