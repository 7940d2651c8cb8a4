"""What an agent does to its workspace stays there, and ends with it."""

from __future__ import annotations

import hashlib
import resource
import time
from pathlib import Path

import pytest

from carob.features.coding.workspaces.case_workspace import PREFIX, CaseWorkspace, remove_left_over
from carob.features.coding.workspaces.snapshot import copy_folder, take_snapshot
from carob.targets.workspace_settings import WorkspaceSettings
from cli.support import Carob
from features.coding.support import judged, left_over, survivors, write_project, write_suite

BOUNDS = ", max_mb = 16, max_processes = 64"
HOSTILE = ("kill", "fork", "fill", "link {elsewhere}", "ruin")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("tmp", "elsewhere"):
        (tmp_path / name).mkdir()
    (tmp_path / "elsewhere" / "note").write_text("kept\n")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.chdir(tmp_path)
    write_project(tmp_path, settings=BOUNDS, seen='["log", "files", "processes"]')
    return tmp_path


def digest(folder: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return hashlib.sha256(b"".join(path.read_bytes() + bytes(path) for path in files)).hexdigest()


def run_hostile(project: Path, carob: Carob, repeat: int, concurrency: int, *more: str) -> dict[str, dict[str, str]]:
    prompts = [prompt.format(elsewhere=project / "elsewhere") for prompt in (*HOSTILE, *more)]
    write_suite(project, *prompts, repeat=repeat)
    before, home = digest(project / "calc"), take_snapshot(Path.home() / ".config")
    carob("run", "s.carob.yaml", "-t", "seen", "--concurrency", str(concurrency), "--results-dir", "r")
    assert digest(project / "calc") == before
    assert take_snapshot(Path.home() / ".config") == home
    assert survivors(str(project)) == []
    assert left_over(project / "tmp") == []
    return {name: {**checks, "status": status} for name, status, checks in judged("r")}


def test_hostile_agents_change_nothing_else_and_leave_nothing(project: Path, carob: Carob) -> None:
    cases = run_hostile(project, carob, 1, 2)
    assert cases["fill-0"]["status"] == cases["kill-0"]["status"] == "ERROR"
    assert cases["fork-0"]["status"] == "PASS", cases["fork-0"]
    assert cases["link-0"]["outside"] == "failed"
    assert (project / "elsewhere" / "note").read_text() == "kept\nmore\n"
    assert cases["ruin-0"]["claims"] == "passed"


@pytest.mark.thorough
@pytest.mark.limit(1800)
def test_two_hundred_hostile_cases_at_once(project: Path, carob: Carob) -> None:
    began = time.monotonic()
    cases = run_hostile(project, carob, 34, 8, "many")
    assert len(cases) >= 200
    for name, found in cases.items():
        assert (found["status"] == "ERROR") is name.startswith(("fill", "kill", "many")), name
        assert found.get("outside") == "failed" if name.startswith("link") else True
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"{len(cases)} cases in {time.monotonic() - began:.0f} s, {memory} MB in this process")
    assert memory < 1_500


def test_workspaces_of_a_killed_run_are_removed_by_the_next(project: Path) -> None:
    workspace = CaseWorkspace(WorkspaceSettings(folder="calc"))
    assert remove_left_over() == 0, "it is in use"
    (project / "tmp" / f"{PREFIX}link").symlink_to(project / "elsewhere")
    workspace._let_go()  # what the system does when the process that holds it is gone
    assert remove_left_over() == 1
    assert (project / "elsewhere" / "note").exists()


def test_a_failed_workspace_is_kept_on_request(project: Path, carob: Carob) -> None:
    write_suite(project, "failed", "honest")
    ran = carob("run", "s.carob.yaml", "-t", "seen", "--keep-workspaces", "--results-dir", "r")
    (kept,) = left_over(project / "tmp")
    assert "failed-0" in ran.err + ran.out
    assert str(kept.resolve()) in ran.err + ran.out
    assert "a * b" in (kept / "work" / "calc.py").read_text()


@pytest.mark.parametrize(
    ("link", "to", "slug"),
    [
        ("inside", "calc.py", ""),
        ("file", "/etc/hostname", ""),
        ("folder", "/etc", "link-outside"),
        ("x", "/no", "link-outside"),
    ],
)
def test_links_of_a_fixture(tmp_path: Path, link: str, to: str, slug: str) -> None:
    source, copy = tmp_path / "source", tmp_path / "copy"
    source.mkdir()
    (source / "calc.py").write_text("1\n")
    (source / link).symlink_to(to)
    if slug:
        with pytest.raises(Exception, match="leads out"):
            copy_folder(source, copy, 100, 1 << 20)
        return
    copy_folder(source, copy, 100, 1 << 20)
    assert (copy / link).is_symlink() is (link == "inside")
    (copy / link).write_text("2\n")
    assert (source / "calc.py").read_text() == "1\n"
