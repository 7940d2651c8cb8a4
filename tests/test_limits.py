"""What `limits` promises, shown on a run of pytest that is a background job of a shell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from processes import running

SAMPLE = """
import pathlib, signal, subprocess, sys, time
import pytest

SLEEPS = [sys.executable, "-c", "import time; time.sleep(3600)"]

def noted(process):
    with pathlib.Path("started").open("a") as file:
        print(process.pid, file=file)

@pytest.mark.limit(0.5)
def test_waits_for_a_hung_child():
    with subprocess.Popen(SLEEPS) as child:
        noted(child)

@pytest.fixture
def slow():
    yield
    time.sleep(3600)

@pytest.mark.limit(0.5)
def test_hangs_in_teardown(slow):
    pass

@pytest.mark.limit(0.5)
async def test_hangs_in_a_loop():
    import asyncio
    await asyncio.sleep(3600)

def test_leaves_a_child_behind(monkeypatch):
    monkeypatch.setattr("limits.MOMENT", 0.1)
    noted(subprocess.Popen(SLEEPS))

def test_breaks_the_file_system_until_it_ends(monkeypatch):
    def broken(*_):
        raise RuntimeError
    monkeypatch.setattr("os.listdir", broken)
    monkeypatch.setattr("builtins.open", broken)
    monkeypatch.setattr("io.open", broken)

def test_uses_what_python_keeps_for_later():
    from multiprocessing import resource_tracker
    resource_tracker.ensure_running()

def test_is_heard():
    says = "import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(60)"
    assert subprocess.run([sys.executable, "-c", says], stderr=subprocess.DEVNULL).returncode == -signal.SIGINT

@pytest.mark.limit(60)
def test_is_in_time():
    subprocess.run([sys.executable, "-c", ""], check=True)
"""
TOLD = {
    "FAILED test_sample.py::test_waits_for_a_hung_child - Failed: it took longer than 0.5 s",
    "ERROR test_sample.py::test_hangs_in_teardown - Failed: it took longer than 0.5 s",
    "FAILED test_sample.py::test_hangs_in_a_loop - Failed: it took longer than 0.5 s",
    "ERROR test_sample.py::test_leaves_a_child_behind - Failed: left behind: ",
}


@pytest.fixture
def told(tmp_path: Path) -> str:
    (tmp_path / "test_sample.py").write_text(SAMPLE)
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n")
    options = "-q -rEf -p pytest_asyncio.plugin -p limits -p no:cacheprovider -W ignore::ResourceWarning"
    ran = subprocess.run(
        ["sh", "-c", f"trap '' INT; exec {sys.executable} -m pytest {options}"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parent),
            "COLUMNS": "200",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return ran.stdout


def test_no_test_waits_for_ever(told: str, tmp_path: Path) -> None:
    lines = told.splitlines()
    assert {line for line in TOLD if not any(other.startswith(line) for other in lines)} == set(), told
    assert "2 failed, 6 passed, 2 errors" in told
    assert "in test_waits_for_a_hung_child" in told, "its stack is shown"
    started = [*map(int, (tmp_path / "started").read_text().split())]
    assert (len(started), [*filter(running, started)]) == (2, [])
