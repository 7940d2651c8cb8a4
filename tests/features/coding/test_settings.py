"""What carob.toml says of a workspace, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from carob.features.coding.workspaces.wrapper import name_path
from cli.support import Carob
from features.coding.support import CODER, write_project, write_suite

REFUSED = {
    "no folder": ('use = "command:{coder}"\nworkspace = "none"', 4, "does not exist"),
    "no process": ('use = "python:agent:answer"\nworkspace = "calc"', 4, "starts no process for each case"),
    "unknown key": ('use = "command:{coder}"\nworkspace = {{ folder = "calc", maximum = 1 }}', 4, "maximum"),
    "unknown evidence": ('use = "command:{coder}"\nworkspace = "calc"\nevidence = ["luck"]', 4, "luck"),
    "too large": ('use = "command:{coder}"\nworkspace = {{ folder = "calc", max_files = 1 }}', 1, "more than 1 files"),
    "set-up fails": (
        'use = "command:{coder}"\nworkspace = {{ folder = "calc", setup = ["exit 3"] }}',
        1,
        "exit status 3",
    ),
}


@pytest.mark.parametrize(("table", "code", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, carob: Carob, table: str, code: int, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_project(tmp_path)
    write_suite(tmp_path, "honest")
    (tmp_path / "agent.py").write_text("def answer(prompt):\n    return prompt\n")
    (tmp_path / "carob.toml").write_text(f"[targets.a]\n{table.format(coder=CODER)}\n")
    ran = carob("run", "s.carob.yaml", "-t", "a")
    assert ran.code == code
    assert words in ran.out + ran.err
    assert "Traceback" not in ran.out + ran.err


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("/somewhere/copy/a.py", "a.py"),
        ("/somewhere/copy/__pycache__", ""),
        ("/somewhere/copy/dist/a", ""),
        ("/w/home/.profile", "~/.profile"),
        ("/w/tmp/a", ""),
        ("/etc/hosts", "/etc/hosts"),
        ("/etc/dist/a", "/etc/dist/a"),
        ("/usr/lib/python3/x/__pycache__/x.cpython-311.pyc.140", ""),
        ("/proc/self/x", ""),
    ],
)
def test_caches_of_tools_count_nowhere(path: str, named: str) -> None:
    places = (("/somewhere/copy", "./"), ("/w/home", "~/"), ("/w/tmp", ""))
    assert name_path(places, ("**/__pycache__/**", "**/dist/**"), path) == named
