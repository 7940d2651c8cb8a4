"""An environment holds what was asked for, and is made anew where that changes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from counterparts import environments


def version(python: Path, name: str) -> str:
    code = f"import importlib.metadata as m; print(m.version({name!r}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_an_environment_has_what_was_asked_for_and_nothing_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "FOLDER", tmp_path)
    python = environments.python_with("tiny", "iniconfig==2.0.0")
    assert version(python, "iniconfig") == "2.0.0"
    with pytest.raises(subprocess.CalledProcessError):
        version(python, "carob")
    assert version(environments.python_with("tiny", "iniconfig==2.1.0"), "iniconfig") == "2.1.0"
