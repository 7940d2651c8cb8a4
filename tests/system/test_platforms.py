"""What holds on systems that are not Linux, as far as Linux can show it: the code that decides, given another name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import carob
from carob.engine.processes import messages
from carob.evidence.logs import jsonl_tail
from carob.system import process_tree

SUITE = {"carob": 1, "cases": [{"id": "a", "prompt": "hi", "expected": {"must_say_any": ["hello"]}}]}


@pytest.fixture
def on_macos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(process_tree, "_libc", None)


@pytest.mark.usefixtures("on_macos")
def test_macos_runs_cases_without_what_only_linux_has(tmp_path: Path) -> None:
    assert list(process_tree._children()) == []
    assert jsonl_tail._watch_folder(tmp_path) is None
    process_tree.adopt_orphans()
    fd = messages.new_file(2)
    assert messages.tokens_in(fd) == set()
    os.close(fd)
    assert carob.run(SUITE, lambda prompt: "hello", workers=0).ok


def test_windows_is_refused_in_one_line() -> None:
    script = "import os; os.name = 'nt'; from carob.cli.entry import main; main()"
    done = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True, check=False,
                          env={"PYTHONPATH": str(Path(carob.__file__).parents[1])})  # fmt: skip
    assert done.returncode == 4
    assert done.stderr == "carob: Carob runs on Linux and macOS. On Windows, run it in WSL. [platform]\n"
