"""Law 22: `carob guard install` touches no settings that it was not asked to, and takes everything out again."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from carob.features.guard.hook_protocol import BLOCK
from cli.support import Ran
from features.guard.policies import CALLS, write_policy

ODD = '{ "model":"m",\r\n\t"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "echo ü"}]}]} }'
"""As no program would format it."""
Carob = Callable[..., Ran]


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a home and a project, in which a person works."""
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_STATE_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    write_policy(tmp_path, CALLS)
    write_policy(tmp_path, CALLS, "other.carob.yaml")
    return tmp_path


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in sorted(folder.rglob("*"))}


def _write_settings(scratch: Path) -> None:
    for path in ("project/.claude/settings.local.json", "home/.claude/settings.json"):
        (scratch / path).parent.mkdir(exist_ok=True)
        (scratch / path).write_bytes(ODD.encode())


def _hooks(settings: Path, event: str) -> list[str]:
    hooks = json.loads(settings.read_text())["hooks"].get(event, [])
    return [hook["command"] for group in hooks for hook in group["hooks"]]


@pytest.mark.parametrize("options", [(), ("--user",), ("--settings", "s.json"), ("--host", "codex")])
@pytest.mark.parametrize("had_settings", [True, False])
def test_without_a_yes_nothing_changes_and_removal_leaves_nothing(
    options: tuple[str, ...], had_settings: bool, scratch: Path, carob: Carob
) -> None:
    if had_settings:
        _write_settings(scratch)
    before = _files(scratch)
    command = ("guard", "install", "../policy.carob.yaml", *options)
    refused = carob(*command)
    assert refused.code == 4
    assert "Add --yes" in refused.err
    assert '+  "hooks": {' in refused.out or '+    "PreToolUse": [' in refused.out, "the file is shown first"
    assert _files(scratch) == before
    assert carob(*command, "--yes").code == 0
    changed = {name for name, data in _files(scratch).items() if before.get(name) != data}
    assert any(name.startswith(str(scratch / "home" / ".claude")) for name in changed) is (options == ("--user",))
    assert carob(*command, "--yes").code == 0, "a second time"
    assert carob(*command, "--remove").code == 0
    assert _files(scratch) == before


@pytest.mark.parametrize("first", [0, 1])
def test_guards_for_two_policies_are_removed_in_any_order(first: int, scratch: Path, carob: Carob) -> None:
    _write_settings(scratch)
    before = _files(scratch)
    policies = ["../policy.carob.yaml", "../other.carob.yaml"]
    for policy in policies:
        assert carob("guard", "install", policy, "--yes").code == 0
    assert carob("guard", "install", policies[first], "--remove").code == 0
    [command] = _hooks(scratch / "project/.claude/settings.local.json", "PreToolUse")
    assert Path(shlex.split(command)[4]).exists()
    assert carob("guard", "install", policies[1 - first], "--remove").code == 0
    assert _files(scratch) == before


def test_what_a_person_changed_since_stays(scratch: Path, carob: Carob) -> None:
    _write_settings(scratch)
    settings = scratch / "project/.claude/settings.local.json"
    assert carob("guard", "install", "../policy.carob.yaml", "--yes").code == 0
    tree = json.loads(settings.read_text())
    settings.write_text(json.dumps({**tree, "model": "other"}))
    assert carob("guard", "install", "../policy.carob.yaml", "--remove").code == 0
    assert json.loads(settings.read_text()) == {**json.loads(ODD), "model": "other"}


def test_without_its_environment_the_hook_refuses_calls_and_prints_the_line_that_removes_it(
    scratch: Path, carob: Carob
) -> None:
    _write_settings(scratch)
    before = _files(scratch)
    assert carob("guard", "install", "../policy.carob.yaml", "--yes").code == 0
    settings = scratch / "project/.claude/settings.local.json"

    def run(event: str) -> subprocess.CompletedProcess[str]:
        [command] = (command for command in _hooks(settings, event) if "carob" in command)
        gone = command.replace(os.path.abspath(sys.executable), "/nonexistent/python", 1)
        return subprocess.run(["/bin/sh", "-c", gone], input="{}", capture_output=True, text=True)

    for event, code in (("PreToolUse", BLOCK), ("UserPromptSubmit", 1), ("SessionStart", 1), ("PostToolUse", 1)):
        done = run(event)
        assert done.returncode == code, event
        assert "To take it out: python3 -I " in done.stderr
    assert not list(scratch.rglob("store.sqlite")), "what it kept no longer holds all that happened"
    line = done.stderr.splitlines()[-1].partition("To take it out: ")[2]
    python = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
    subprocess.run([python, *shlex.split(line)[1:]], check=True, capture_output=True)
    assert _files(scratch) == before
