"""The page on both agents with a bug, a flaky tool and a better reading: its commands do what it shows."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from canvas_app import turns
from canvas_app.brain.language import preferences, understand
from carob.cli.main import run
from dyno_agent.tools import TOOLS
from pages import Command, File, blocks, same
from recordings import ROOT

PAGE = ROOT / "examples" / "changes" / "README.md"
LINE = re.compile(r"(?:CHANGE=(?P<change>\w+) )?carob (?P<arguments>.+)")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the examples and the files of the page, as whoever follows it has one."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for block in blocks(PAGE.read_text()):
        if isinstance(block, File):
            block.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def _own_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DYNO_DATABASE_URL", "DYNO_MODEL", "DYNO_NOW", "CANVAS_NOW"):
        monkeypatch.delenv(name, raising=False)


def carried_out(command: Command) -> int:
    """The command in this process, with agents that no command before it has changed."""
    match = LINE.fullmatch(command.line)
    assert match is not None, command.line
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(turns, "run_tool", turns.run_tool)
        for module in (preferences, understand):
            patch.setattr(module, "is_standing", module.is_standing)
        for tool in TOOLS:
            patch.setattr(tool, "coroutine", tool.coroutine)
        patch.setattr(sys, "path", [*sys.path])
        patch.setenv("CHANGE", match["change"] or "")
        known = {*sys.modules}
        code = run(match["arguments"].split())
        for name in [*sys.modules.keys() - known]:
            if (getattr(sys.modules[name], "__file__", "") or "").endswith("changed.py"):
                del sys.modules[name]
    return code


STORIES = [block for block in blocks(PAGE.read_text()) if not isinstance(block, File)]


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("story", STORIES, ids=["dyno", "canvas"])
def test_its_commands_do_what_it_shows(story: list[Command], capsys: pytest.CaptureFixture[str]) -> None:
    assert len([command for command in story if "--max-new-failures" in command.line]) == 3
    code = 0
    for command in story:
        if command.line == "echo $?":
            assert command.shown == f"{code}\n"
            continue
        code = carried_out(command)
        out, err = capsys.readouterr()
        assert command.shown is not None
        assert same(command.shown, out + err), f"$ {command.line}\nshown:\n{command.shown}\nprinted:\n{out}{err}"
