from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.support import AGENT, Ran
from karat.cli.main import run

Karat = Callable[..., Ran]


@pytest.fixture
def karat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Karat:
    """Run a command line in this process, in a folder of its own with an agent in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "agent.py").write_text(AGENT)

    def command(*arguments: str) -> Ran:
        code = run(list(arguments))
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err, out + err
        return Ran(code, out, err)

    return command
