"""What holds on systems that are not Linux, as far as Linux can show it: it is made to lack what they lack."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import carob
from carob.engine.processes import messages
from carob.evidence.logs import jsonl_tail
from carob.system import process_tree

SUITE = {"carob": 1, "cases": [{"id": "a", "prompt": "hi", "expected": {"must_say_any": ["hello"]}}]}
RULES = {"carob": 1, "rules": [{"id": "no-pay", "each": {"call": "pay"}, "at_most": 0}]}
CALL = {"id": "1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}
TALK = [
    {"role": "user", "content": "Pay → now."},
    {"role": "assistant", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "1", "content": "ok"},
    {"role": "assistant", "content": "Paid."},
]
WITHOUT_POSIX = Path(__file__).with_name("without_posix.py")
# Each command of those that start no process, its exit code, and words of its output.
COMMANDS = {
    "lint suite.json": (0, "no smell"),
    "rescore RUN": (0, "1 passed"),
    "report RUN -f html": (0, ".html"),
    "compare RUN RUN": (0, "1 case"),
    "check talk.jsonl --rules rules.json -o page.html -o broken.jsonl --workers 2": (1, "at most 0 allowed"),
    "convert suite.json": (0, "must_say_any"),
    "draft RUN": (0, "draft: true"),
    "audit RUN": (1, "answer: -> [hello"),
    "run suite.json -t python:agent:ask": (
        4,
        "carob: Windows cannot end a process with all that it started. Run this in WSL. [platform]\n",
    ),
}
IMPORT_ALL = """
import importlib, pkgutil, carob
for module in pkgutil.walk_packages(carob.__path__, "carob."):
    # The library of MCP loads fcntl wherever the system is not called Windows; a supervisor is started elsewhere alone.
    if not module.name.endswith(("__main__", "mcp.serving", ".supervise")):
        importlib.import_module(module.name)
"""
RUN_ALL = """
import contextlib, os, sys, threading, time, urllib.request
from carob.cli.main import run
from carob.cli.streams import patient_streams
patient_streams()
for line in LINES:
    sys.stderr.flush()
    sys.stdout.flush()
    code = run(line.split())
    print(f"\\n= {code}", flush=True)
sys.stdout = sys.stderr
view = ["view", "results", "--no-browser", "--port", PORT]
threading.Thread(target=run, args=(view,), daemon=True).start()
for _ in range(400):
    with contextlib.suppress(OSError):
        page = urllib.request.urlopen(f"http://127.0.0.1:{PORT}/", timeout=5).read()
        os._exit(0 if b"suite.json" in page else 1)
    time.sleep(0.05)
"""


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


def without_posix(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script where Python lacks what Windows lacks, and the console knows cp1252 alone."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", str(WITHOUT_POSIX)], input=script, capture_output=True, cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "cp1252:strict"}, encoding="cp1252", check=False,
    )  # fmt: skip


def test_windows_judges_reports_and_compares_what_was_recorded(tmp_path: Path) -> None:
    (tmp_path / "suite.json").write_text(json.dumps(SUITE), "utf-8")
    (tmp_path / "rules.json").write_text(json.dumps(RULES), "utf-8")
    (tmp_path / "talk.jsonl").write_text(json.dumps({"id": "c-1", "messages": TALK}) + "\n", "utf-8")
    run = carob.run(tmp_path / "suite.json", lambda prompt: "→ hello", workers=0, results_dir=tmp_path / "results")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    lines = [line.replace("RUN", run.journal.path) for line in COMMANDS]
    done = without_posix(f"LINES, PORT = {lines!r}, {port!r}\n{RUN_ALL}", tmp_path)
    parts = re.split(r"\n= (\d+)\n", done.stdout)
    found = dict(zip(COMMANDS, zip(map(int, parts[1::2]), parts[::2], strict=False), strict=True))
    assert {line: code for line, (code, _) in found.items()} == {line: code for line, (code, _) in COMMANDS.items()}
    assert [line for line, (_, words) in COMMANDS.items() if words not in found[line][1] + done.stderr] == []
    assert "Traceback" not in done.stderr
    assert done.returncode == 0, "the viewer does not show the run"


@pytest.mark.thorough
def test_every_module_can_be_imported_on_windows(tmp_path: Path) -> None:
    done = without_posix(IMPORT_ALL, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
