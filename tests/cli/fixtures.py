"""A folder of its own for each test, and the command line in this process."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from carob.cli.main import run
from cli.support import AGENT, Ran

DOUBLED_STOP = re.compile(r"[^.\s/][.?!…]\.(?:\s|$)(?<!\.\.\.\s)")
"""What no message may hold, whatever it quotes. Three full stops are an ellipsis."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test stands in a folder of its own, with an agent in it; what is of the process is put back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("NO_COLOR", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "agent.py").write_text(AGENT)


@pytest.fixture
def carob(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run a command line in this process; `run` itself runs its cases here too."""

    def command(*arguments: str) -> Ran:
        here = ("--workers", "0") if arguments[:1] == ("run",) else ()
        code = run([*arguments, *(() if "--workers" in arguments else here)])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err, out + err
        assert not DOUBLED_STOP.search(out + err), out + err
        return Ran(code, out, err)

    return command
