"""A recording is read and judged in Carob's own process; a worker is started where code of others may hang."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evidence.exports.sources import FILES

from .support import CAROB, case

SCRIPT = """
import json, sys
started = []

def note(event, args):
    if event in ("subprocess.Popen", "os.fork", "os.posix_spawn") and args[:1] != ("git",):  # the state of the checkout
        started.append(event)

sys.addaudithook(note)
import carob

def statuses(cases, target, **how):
    started.clear()
    result = carob.run({"carob": 1, "cases": cases}, target, results_dir="out", **how)
    return [[str(record.verdict.status) for record in result.journal.records()], len(started)]

jobs = json.load(sys.stdin)
ways = ({}, {"workers": 1})
print(json.dumps({job["name"]: [statuses(job["cases"], job["target"], **way) for way in ways] for job in jobs}))
"""
SPAN = {
    "traceId": "0" * 31 + "1",
    "spanId": "0" * 15 + "1",
    "name": "turn",
    "startTimeUnixNano": "1",
    "endTimeUnixNano": "2",
    "attributes": [{"key": "carob.case", "value": {"stringValue": "a"}}],
}
SPANS = {"resourceSpans": [{"scopeSpans": [{"spans": [SPAN]}]}]}
PROJECT = """
[targets.plain]
use = "replay:short.jsonl"
[targets.hooked]
use = "replay:short.jsonl"
setup = "hooks.py:ready"
"""
CASES = [case("a", "Hi"), case("b", "Hi", tool_calls_none=["pay"]), case("absent", "Hi")]
EXPORTED = [{"id": "s-2", "prompt": "Compare A-3 and A-4.", "expected": {"must_say_any": ["open"]}}]


def write_recordings(folder: Path) -> None:
    short = [
        {"case_id": "a", "final_message": "fine"},
        {"case_id": "b", "final_message": "fine", "tool_calls": [{"name": "pay", "arguments": {}, "success": True}]},
    ]
    (folder / "short.jsonl").write_text("".join(json.dumps(line) + "\n" for line in short))
    (folder / "spans.jsonl").write_text(json.dumps(SPANS) + "\n")
    (folder / "carob.toml").write_text(PROJECT)
    (folder / "hooks.py").write_text("def ready(case):\n    return 1\n")
    (folder / "export").mkdir()
    (folder / "export" / "langsmith.jsonl").write_bytes((FILES / "langsmith.jsonl").read_bytes())


JOBS = {
    "lines": ("replay:short.jsonl", CASES),
    "spans": ("replay:spans.jsonl", CASES),
    "configured": ("plain", CASES),
    "export": ("replay:export/langsmith.jsonl", EXPORTED),
    "folder": ("replay:export", EXPORTED),
    "hooked": ("hooked", CASES),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[list[str], int]]]:
    """For each source: statuses and processes started, by default and with one worker."""
    folder = tmp_path_factory.mktemp("recordings")
    write_recordings(folder)
    jobs = [{"name": name, "target": target, "cases": cases} for name, (target, cases) in JOBS.items()]
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, input=json.dumps(jobs), cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", JOBS)
def test_only_code_of_others_has_a_worker_and_verdicts_are_the_same(
    name: str, results: dict[str, list[tuple[list[str], int]]]
) -> None:
    (by_default, processes), (in_a_worker, workers) = results[name]
    assert by_default == in_a_worker
    assert by_default == ["PASS"] if JOBS[name][1] is EXPORTED else "ERROR" in by_default
    assert workers > 0
    assert (processes > 0) == (name == "hooked")


def test_checks_of_the_project_have_a_worker_which_ends_them(tmp_path: Path) -> None:
    write_recordings(tmp_path)
    (tmp_path / "carob.toml").write_text('[checks]\nstuck = "python:checks.py:stuck"\n')
    (tmp_path / "checks.py").write_text("def stuck(trace, value):\n    while True:\n        pass\n")
    (tmp_path / "suite.json").write_text(json.dumps({"carob": 1, "cases": [case("a", "Hi", stuck=1)]}))
    command = [*CAROB, "run", "suite.json", "--target", "replay:short.jsonl", "--timeout", "0.5"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert "the case took longer than 0.5 s" in done.stdout


def test_a_recording_that_does_not_come_is_given_up_with_the_run(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "suite.json").write_text(json.dumps({"carob": 1, "cases": [case("a", "Hi")]}))
    command = [*CAROB, "run", "suite.json", "--target", "replay:pipe", "--run-timeout", "0.5"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert "the target did not open within the 0.5 s of the run. [run-timeout]" in done.stderr


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    (tmp_path / "suite.json").write_text(json.dumps({"carob": 1, "cases": [case("a", "Hi")]}))
    command = [*CAROB, "run", "suite.json", "--target", "replay:/dev/stdin"]
    done = subprocess.run(command, input="{}\n", cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert (
        done.stderr.splitlines()[-1]
        == "carob: /dev/stdin: a pipe cannot be replayed. Save it to a file first. [config]"
    )


def test_a_long_replay_ends_with_the_time_of_the_run(tmp_path: Path) -> None:
    names = [f"case-{number}" for number in range(100)]
    (tmp_path / "long.jsonl").write_text(
        "".join(json.dumps({"case_id": n, "final_message": "fine"}) + "\n" for n in names)
    )
    (tmp_path / "suite.json").write_text(json.dumps({"carob": 1, "cases": [case(name, "Hi") for name in names]}))
    command = [
        *CAROB,
        "run",
        "suite.json",
        "--target",
        "replay:long.jsonl",
        "--repeat",
        "1000",
        "--run-timeout",
        "0.3",
        "-q",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert "the run took longer than 0.3 s" in done.stdout + done.stderr
