"""`scripts/run-min-evals.sh` against the real app, and what a run comes to whose app is killed."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from processes import below

from .support import EVALS, ROOT

SCRIPT = ROOT / "scripts" / "run-min-evals.sh"
CAROB = Path(sys.executable).with_name("carob")
UNPICTURED = ("--option", "screenshots=false")
SYNTHESIS = ".claude/evals/synthesis-eval-set.v0.2.json"


class Home(NamedTuple):
    """A project like this one, with results of its own."""

    folder: Path

    def run(self, *words: str | Path, **environ: str) -> subprocess.CompletedProcess[str]:
        clean = {name: value for name, value in os.environ.items() if name != "TELEMETRY_LOG_PATH"}
        return subprocess.run(
            list(map(str, words)),
            cwd=self.folder,
            env={**clean, **environ},
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    def report(self) -> dict[str, Any]:
        newest = max((self.folder / ".claude/evals/results").glob("minimum-eval-results-*.json"))
        found: dict[str, Any] = json.loads(newest.read_text("utf-8"))
        return found

    @property
    def journal(self) -> Path:
        return max((self.folder / ".claude/evals/results").glob("*.jsonl"))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    shutil.copytree(EVALS, tmp_path / ".claude" / "evals", ignore=shutil.ignore_patterns("results"))
    shutil.copy(ROOT / "carob.toml", tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return Home(tmp_path)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[str]:
    """The app, started by somebody else, with its log in the project's folder."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "examples"), "TELEMETRY_LOG_PATH": str(tmp_path / "app.jsonl")}
    command = [sys.executable, "-m", "canvas_app", "--port", "0"]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        match = re.search(r"http://\S+", running.stdout.readline())
        assert match is not None
        yield match[0]
        running.terminate()


def test_selected_cases_are_run_and_reported(home: Home) -> None:
    ran = home.run(SCRIPT, "--eval-file", SYNTHESIS, "--cases", "SYN1,SYN2")
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    assert re.findall(r"^PASS +(\S+)", ran.stdout, re.M) == ["SYN1", "SYN2"]
    report = home.report()
    assert report["target"] == "canvas"
    assert [(case["id"], case["status"]) for case in report["cases"]] == [("SYN1", "PASS"), ("SYN2", "PASS")]
    assert report["cases"][0]["response"].startswith("RISK_SCORE: 48")


def test_cases_are_listed(home: Home) -> None:
    ran = home.run(SCRIPT, "--eval-file", SYNTHESIS, "--list")
    lines = ran.stdout.splitlines()
    assert lines[7] == "SYN8\tunknown-source\tCompare GitHub and Jira for me."
    assert len(lines) == 12


def test_an_app_of_ones_own_with_its_space_session_and_log(home: Home, app: str) -> None:
    expected = {"outcome": "response_only", "must_say_any": ["Not yet: the risk is 73"], "tools_used": []}
    suite = {"version": "0.1", "cases": [{"id": "A", "prompt": "Are we ready to launch?", "expected": expected}]}
    (home.folder / "mine.json").write_text(json.dumps(suite))
    options = ["--space-url", f"{app}spaces/launch-week", "--session", "probe-1", "--wait-ms", "30000"]
    given = [SCRIPT, "--eval-file", "mine.json", "--app-url", app, *options]
    ran = home.run(*given, TELEMETRY_LOG_PATH="app.jsonl")
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    assert "PASS     A" in ran.stdout
    lines = [json.loads(line) for line in (home.folder / "app.jsonl").read_text("utf-8").splitlines()]
    assert {line["correlation_id"] for line in lines} == {"probe-1"}
    told = ["--target", "canvas", "--option", f"app_url={app}", "--option", "session=probe-2", "--concurrency", "2"]
    unlogged = home.run(CAROB, "run", "mine.json", *told, *UNPICTURED, "--option", "space_url=/spaces/launch-week")
    assert "PARTIAL  A" in unlogged.stdout, "without its log nobody knows which tools were used"
    assert "no telemetry log is configured" in unlogged.stdout
    assert unlogged.stderr == "carob: one case at a time: all cases share the session that was given\n"


def test_an_answer_that_does_not_come_in_time_is_an_error(home: Home, app: str) -> None:
    ran = home.run(SCRIPT, "--app-url", app, "--cases", "B1", "--wait-ms", "1", TELEMETRY_LOG_PATH="app.jsonl")
    assert ran.returncode == 1
    assert re.search(r"^ERROR +B1", ran.stdout, re.M)
    assert "within 1 ms" in ran.stdout


@pytest.mark.parametrize(
    ("start", "message"),
    [
        pytest.param("{python} -c 'print(1/0)'", "ZeroDivisionError: division by zero", id="ends-at-once"),
        pytest.param("no-such-program", "No such file or directory", id="no-program", marks=pytest.mark.thorough),
    ],
)
def test_an_app_that_does_not_start_is_told_and_nothing_is_run(home: Home, start: str, message: str) -> None:
    ran = home.run(CAROB, "run", SYNTHESIS, "--target", "canvas", "--option", f"start={start}")
    assert ran.returncode == 4
    assert message in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1
    assert not (home.folder / ".claude/evals/results").exists()


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_an_app_that_is_killed_spoils_its_own_cases_and_the_run_can_be_finished(home: Home) -> None:
    log = home.folder / "app.jsonl"
    slow = f"{{python}} {Path(__file__).with_name('slow.py')} --port {{port}}"
    given = ["--target", "canvas", "--cases", "B1,E2", "--option", f"telemetry_log={log}", *UNPICTURED]
    command = [CAROB, "run", ".claude/evals/minimum-eval-set.v0.1.json", *given, "--option", f"start={slow}"]
    with subprocess.Popen(command, cwd=home.folder, stdout=subprocess.PIPE, text=True) as running:
        while not log.exists() or log.read_text("utf-8").count('"event": "start"') < 1:
            assert running.poll() is None
            time.sleep(0.02)
        (app,) = [found for found, line in below(running.pid) if b"/slow.py\0" in line]
        os.kill(app, signal.SIGKILL)
        printed, _ = running.communicate(timeout=180)
    assert running.returncode == 1, printed
    statuses = {case["id"]: case["status"] for case in home.report()["cases"]}
    assert statuses == {"E2": "ERROR", "B1": "PASS"}
    error = home.report()["cases"][0]["error"]
    assert error["kind"] == "gone"
    assert error["message"].startswith("the app ended by signal 9. It printed: Canvas listens on http://127.0.0.1:")
    again = home.run(CAROB, "rerun", home.journal, "--status", "error")
    assert again.returncode == 0, again.stdout
    assert [case["status"] for case in home.report()["cases"]] == ["PASS"] * 2
