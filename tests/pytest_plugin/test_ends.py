"""How a session ends that does not end well: kills, interrupts, hangs and crashes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import carob
from processes import below, running

if TYPE_CHECKING:
    from pytest_plugin.conftest import Desk

CASES = [f"case-{number}: prompt: say {number}, expected: {{ must_say_any: [said] }}" for number in range(4)]
SLEEP = "slow: prompt: sleep, expected: { must_say_any: [x] }"
DIE = "dead: prompt: die, expected: { must_say_any: [x] }"
QUIET = ("-p", "no:langsmith_plugin", "-p", "no:anyio", "-p", "no:hypothesispytest", "-p", "no:asyncio", "-v")


@pytest.fixture
def configured(desk: Desk) -> Desk:
    """The agent runs in a process of its own, as a named target does."""
    desk.write("conftest.py", "")
    desk.write("carob.toml", 'target = "python:agent:reply"\n')
    return desk


def start(desk: Desk, *args: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "pytest", *QUIET, *args]
    return subprocess.Popen(command, cwd=desk.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def wait_for_lines(desk: Desk, count: int) -> Path:
    """Wait until the journal has so many lines."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for path in (desk.path / "carob-results").glob("*.jsonl"):
            if path.read_bytes().count(b"\n") >= count:
                return path
        time.sleep(0.05)
    raise AssertionError("the journal did not get there")


def wait_for_end(processes: list[int]) -> None:
    until = time.monotonic() + 20
    while (left := [one for one in processes if running(one)]) and time.monotonic() < until:
        time.sleep(0.05)
    assert left == []


def test_interrupt(configured: Desk) -> None:
    configured.suite(*CASES, SLEEP, "never: prompt: hi, expected: { must_say_any: [hi] }")
    process = start(configured)
    path = wait_for_lines(configured, 5)
    started = [one for one, _ in below(process.pid)]
    assert started
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "desk.carob.yaml: INCOMPLETE: 4 of 6 cases finished (interrupted)" in output
    summary = carob.Journal(path).summary
    assert (summary.passed, summary.interrupted, summary.incomplete) == (4, True, "interrupted")
    wait_for_end(started)


def test_kill_leaves_a_journal_that_can_be_resumed_and_no_process(configured: Desk) -> None:
    configured.suite(*CASES, SLEEP)
    process = start(configured)
    path = wait_for_lines(configured, 5)
    started = [one for one, _ in below(process.pid)]
    process.kill()
    process.communicate(timeout=60)
    wait_for_end(started)
    summary = carob.Journal(path).summary
    assert (summary.passed, summary.incomplete) == (4, "the run did not end")
    configured.write("agent.py", "def reply(prompt): return 'I said x'")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(configured.path)
        resumed = carob.resume(path)
    assert [str(record.status) for record in resumed] == ["PASS"] * 5


def test_hang_and_crash_of_the_agent(configured: Desk) -> None:
    """As in a run, the process of the agent is ended, and the next case gets another."""
    configured.suite(CASES[0], SLEEP, CASES[1], DIE, CASES[2])
    before = {one for one, _ in below(os.getpid())}
    result = configured.run("--carob-timeout=1")
    assert result.parseoutcomes() == {"passed": 3, "errors": 2}
    found = {one.case.id: one.trace.error for one in configured.journal().records() if one.trace.error}
    assert {name: error.kind for name, error in found.items()} == {"slow": "timeout", "dead": "agent"}
    result.stdout.fnmatch_lines(["ERROR desk.carob.yaml::slow - ERROR: timeout: the case took longer than 1 s*"])
    wait_for_end([one for one, _ in below(os.getpid()) if one not in before])


def test_worker_of_xdist_that_dies(desk: Desk) -> None:
    """The agent is in the process of the worker here, and takes it with it: the case is an ERROR of the journal."""
    desk.suite(*CASES, DIE)
    result = desk.run_apart("-n2", "-v")
    assert result.parseoutcomes()["passed"] == 4
    journal = desk.journal()
    assert desk.statuses() == {**{f"case-{number}": "PASS" for number in range(4)}, "dead": "ERROR"}
    assert (journal.faults, journal.summary.incomplete) == ((), "")
    error = next(one.trace.error for one in journal.records() if one.case.id == "dead")
    assert error is not None
    assert "crashed while running 'desk.carob.yaml::dead'" in error.message
    result.stdout.fnmatch_lines(["desk.carob.yaml: 4 passed, 1 error", "ERROR desk.carob.yaml::dead*"])


def test_project_without_suites_loads_nothing_of_carob(desk: Desk) -> None:
    conftest = """
    import sys
    def pytest_unconfigure():
        print("loaded", sorted(name for name in sys.modules if name.partition(".")[0] in ("carob", "carob_pytest")))
    """
    desk.write("conftest.py", conftest)
    desk.write("test_plain.py", "def test_plain(): pass\ndef test_fails(): assert 1 == 2")
    result = desk.run_apart("-s")
    assert "loaded ['carob_pytest']" in str(result.stdout)
    assert "- carob -" not in str(result.stdout)
