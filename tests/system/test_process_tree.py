"""Ending a process with all that it started, whether it listens or not."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from carob.system import process_tree

CHILD = "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
PROGRAMS = {
    "listens": "time.sleep(600)",
    "is-deaf": "signal.signal(signal.SIGTERM, signal.SIG_IGN); ready(); time.sleep(600)",
    "has-ended": "os._exit(3)",
}


def program(body: str) -> str:
    ready = "ready = lambda: print(child.pid, flush=True)"
    return "\n".join(["import os, signal, subprocess, sys, time", CHILD, ready, *body.split("; ")])


@pytest.fixture
def started(request: pytest.FixtureRequest) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A process that has started another, whose id it printed."""
    body = PROGRAMS[request.param]
    body = body if "ready()" in body else f"ready(); {body}"
    command = [sys.executable, "-c", program(body)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())
        process.kill()


def alive(pid: int) -> bool:
    """Whether a process goes on; one that nobody has reaped yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
@pytest.mark.parametrize(
    ("started", "grace", "code"),
    [
        pytest.param("listens", 60.0, -signal.SIGTERM, id="listens"),
        pytest.param("is-deaf", 0.2, -signal.SIGKILL, id="is-deaf"),
        pytest.param("has-ended", 60.0, 3, id="has-ended"),
    ],
    indirect=["started"],
)
def test_a_process_is_ended_with_its_children(
    started: tuple[subprocess.Popen[bytes], int], grace: float, code: int
) -> None:
    process, child = started
    if code > 0:
        process.wait(60)
    assert alive(child)
    process_tree.end(process, grace)
    until = time.monotonic() + 10
    while alive(child) and time.monotonic() < until:
        time.sleep(0.01)
    assert (process.returncode, alive(child)) == (code, False)


def test_who_is_gone_already_is_left_in_peace() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""], start_new_session=True)
    process.wait(60)
    process_tree.ask(process.pid)
    process_tree.kill_group(process.pid)
    process_tree.end(process, 0)
    assert process.returncode == 0
