"""Histories: a strip for each case, when it broke first and at which commit, and what is flaky."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import carob
from carob.features.compare import library
from carob.journal.reader import Journal
from cli.support import Ran
from features.compare.runs import journal


def git(*arguments: str) -> str:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *who, *arguments], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    git("init", "-q", "-b", "main")
    (tmp_path / "agent.py").write_text("v1\n")
    git("add", "agent.py")
    git("commit", "-qm", "first")
    return tmp_path


def test_when_a_case_broke_first_and_what_is_flaky(project: Path, carob_line: Callable[..., Ran]) -> None:
    table = {"steady": "pp", "broke": "pp", "flaky": "pf"}
    first = git("rev-parse", "HEAD")
    journal(project, "carob-results", table)
    git("tag", "v1")
    git("commit", "-q", "--allow-empty", "-m", "second")
    (project / "agent.py").write_text("v2\n")
    bad = journal(project, "carob-results", {**table, "broke": "ff"})
    journal(project, "carob-results", {**table, "broke": "ff", "new": "pp"})
    history = library.history()
    cases = {case.id: case for case in history.cases}
    assert {name: case.strip for name, case in cases.items()} == {
        "steady": "PPP", "broke": "PFF", "flaky": "~~~", "new": "--P",
    }  # fmt: skip
    broke = cases["broke"].broke
    assert broke is not None
    assert (broke.path, broke.commit, broke.dirty) == (str(bad.relative_to(project)), git("rev-parse", "HEAD"), True)
    flake = cases["flaky"].flake
    assert flake is not None
    assert (flake.value, flake.low < 0.25, flake.high > 0.75) == (0.5, True, True)
    assert cases["steady"].flake is None
    assert history.runs[0].commit == first
    ran = carob_line("compare", "--history")
    assert "broke first in" in ran.out
    assert f"commit {broke.commit[:10]} with changes" in ran.out
    assert "FLAKY: fails 50% of its runs" in ran.out
    document = json.loads(carob_line("compare", "--history", "carob-results", "--flaky", "--format", "json").out)
    assert [case["id"] for case in document["cases"]] == ["flaky"]
    assert carob_line("compare", "--history", "--since", "2999-01-01").code == 4


def test_a_run_is_found_by_its_commit_and_its_tag(project: Path) -> None:
    git("tag", "v1.0")
    old = journal(project, "carob-results", {"a": "p", "b": "p"})
    (project / "agent.py").write_text("v2\n")
    git("commit", "-qam", "second")
    new = journal(project, "carob-results", {"a": "p", "b": "f"})
    for name in ("v1.0", git("rev-parse", "v1.0"), git("rev-parse", "--short=8", "v1.0")):
        assert carob.compare_runs(name, new).base.path == str(old.relative_to(project))
    header = carob.Journal(new).header
    assert header.project is not None
    assert (header.project.commit, header.project.dirty, header.project.tags) == (git("rev-parse", "HEAD"), False, ())


def test_a_case_that_asks_otherwise_begins_anew(project: Path) -> None:
    journal(project, "carob-results", {"a": "f"})
    journal(project, "carob-results", {"a": "p"}, a={"expected": {"must_say_any": ["ok"]}})
    (case,) = library.history().cases
    assert (case.strip, case.judged, case.broke, case.flake) == ("FP", 1, None, None)


def test_no_repository_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    header = carob.Journal(journal(tmp_path, "r", {"a": "p"})).header
    assert (header.project, header.suite_revision, header.target_version) == (None, None, "")


def test_a_run_is_read_once_for_as_long_as_its_journal_stays_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = [journal(tmp_path, "carob-results", {"a": letters, "b": "pf"}) for letters in ("pp", "fp", "ff")]
    fresh = library.history()
    opened: list[str] = []
    monkeypatch.setattr(
        "carob.features.compare.compared_cases.Journal", lambda path, **_: opened.append(str(path)) or Journal(path)
    )
    assert library.history() == fresh
    assert opened == []
    lines = paths[1].read_bytes().splitlines(keepends=True)
    paths[1].write_bytes(b"".join(lines[:-1]))
    assert [case.strip for case in library.history().cases] == [case.strip for case in fresh.cases]
    assert [Path(path).name for path in opened] == [paths[1].name]
    paths[0].write_bytes(lines[0] + b"{\n")
    assert "cannot be read" in "".join(library.history().unreadable)
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/nowhere")
    assert len(library.history().runs) == 2


def test_runs_against_another_target_or_with_other_settings_are_not_mixed_in(
    project: Path, carob_line: Callable[..., Ran]
) -> None:
    (project / "carob.toml").write_text(
        "[targets.a]\nuse = 'python:bot:answer'\nenv = { SAYS = 'ok' }\n[targets.b]\nuse = 'python:bot:answer'\n"
    )
    (project / "bot.py").write_text("import os\ndef answer(prompt):\n    return os.environ.get('SAYS', 'no')\n")
    cases = {"version": "0.3", "cases": [{"id": "one", "prompt": "x", "expected": {"must_say_any": ["ok"]}}]}
    for target in ("a", "b", "a"):
        carob.run(cases, target, results_dir="carob-results")
    (project / "carob.toml").write_text("[targets.a]\nuse = 'python:bot:answer'\nenv = { SAYS = 'yes, ok' }\n")
    carob.run(cases, "a", results_dir="carob-results")
    history = library.history()
    assert (len(history.runs), history.target, history.left_out, history.other_targets) == (1, "a", 3, ("a", "b"))
    assert [case.strip for case in library.history(target="b").cases] == ["F"]
    said = carob_line("compare", "--history").out
    assert "1 run of" in said
    assert "not shown: 3 runs of this suite against another target or with other settings; --target b" in said
