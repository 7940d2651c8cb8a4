"""`scripts/run-min-evals.sh`, the runner of eval sets, with all of its options."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from cli.support import SCRIPT, report_of, write

ROOT = Path(__file__).parents[2]
RUNNER = ROOT / "scripts" / "run-min-evals.sh"
DATA = Path(__file__).parent / "data"
DEFAULT = ".claude/evals/minimum-eval-set.v0.1.json"
NAMED = "synthesis-eval-set.v0.3.json"
ECHO = '#!/bin/sh\nfor word in "$@"; do printf "%s\\n" "$word"; done\n'


def run(*arguments: str, runner: Path = RUNNER, **environ: str) -> subprocess.CompletedProcess[str]:
    path = f"{SCRIPT.parent}:{os.environ['PATH']}"
    kept = {name: value for name, value in os.environ.items() if name not in ("CAROB_TARGET", "TELEMETRY_LOG_PATH")}
    env = {**kept, "PATH": path, **environ}
    return subprocess.run([runner, *arguments], env=env, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def world() -> None:
    """The default suite where the runner looks for it, another beside it, and recordings."""
    for name in (Path(DEFAULT).name, NAMED):
        write(f".claude/evals/{name}", (DATA / name).read_text())
    for name in ("passing", "failing"):
        write(f"{name}.jsonl", (DATA / f"{name}.jsonl").read_text())


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        pytest.param(
            ["--list"],
            ["G1\tgithub\tShow my GitHub activity on the canvas.", "G2\tgithub\tFilter issues by label."],
            id="default-suite",
        ),
        pytest.param(
            ["--eval-file", f".claude/evals/{NAMED}", "--list"],
            [
                "MB1\tmorning_brief\tGive me my morning brief.",
                "MB2\tmorning_brief\tGive me my morning brief, in your own words.",
            ],
            id="eval-file",
        ),
    ],
)
def test_list(arguments: list[str], lines: list[str]) -> None:
    ran = run(*arguments)
    assert (ran.returncode, ran.stdout.splitlines(), ran.stderr) == (0, lines, "")


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize(
    ("arguments", "recording", "code", "statuses"),
    [
        pytest.param([], "passing", 0, {"G1": "PASS", "G2": "PASS"}, id="all-cases"),
        pytest.param([], "failing", 1, {"G1": "FAIL", "G2": "FAIL"}, id="failing"),
        pytest.param(["--cases", "G2"], "passing", 0, {"G2": "PASS"}, id="cases"),
        pytest.param(
            ["--eval-file", f".claude/evals/{NAMED}", "--cases", "MB2,MB1"],
            "passing",
            0,
            {"MB1": "PASS", "MB2": "PASS"},
            id="eval-file-and-cases",
        ),
    ],
)
def test_run(arguments: list[str], recording: str, code: int, statuses: dict[str, str]) -> None:
    ran = run(*arguments, CAROB_TARGET=f"replay:{recording}.jsonl")
    assert (ran.returncode, ran.stderr) == (code, "")
    entries = report_of(".claude/evals/results")["cases"]
    assert {entry["id"]: entry["status"] for entry in entries} == statuses
    assert ".claude/evals/results/minimum-eval-results-" in ran.stdout


def test_self_test() -> None:
    ran = run("--self-test")
    assert (ran.returncode, ran.stdout.splitlines()[-1], ran.stderr) == (0, "SELF-TEST PASS", "")


def test_help_names_every_option() -> None:
    ran = run("--help")
    assert ran.returncode == 0
    for option in (
        "--eval-file",
        "--list",
        "--cases",
        "--self-test",
        "--app-url",
        "--space-url",
        "--wait-ms",
        "--session",
    ):
        assert f"\n  {option} " in ran.stdout
    assert "TELEMETRY_LOG_PATH" in ran.stdout


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        pytest.param(["--lst"], 4, "run-min-evals.sh: unknown option --lst (see --help)", id="unknown-option"),
        pytest.param(["extra"], 4, "unknown option extra", id="argument"),
        pytest.param(["--cases"], 4, "--cases needs a value", id="no-value"),
        pytest.param(["--eval-file", ""], 4, "--eval-file needs a value", id="empty-value"),
        pytest.param(["--wait-ms"], 4, "--wait-ms needs a value", id="no-number"),
        pytest.param(["--eval-file", "gone.json"], 4, "gone.json: no such file", id="missing-suite"),
        pytest.param(["--cases", "G9"], 4, "no case has the id 'G9'", id="unknown-case"),
        pytest.param(["--cases", ","], 5, "no case is selected", id="no-case"),
        pytest.param(
            ["--app-url", "http://x"], 4, "unknown option 'app_url' of a target of kind 'replay'", id="no-app"
        ),
    ],
)
def test_misuse(arguments: list[str], code: int, says: str) -> None:
    ran = run(*arguments, CAROB_TARGET="replay:passing.jsonl")
    assert (ran.returncode, ran.stdout) == (code, "")
    assert says in ran.stderr
    assert not Path(".claude/evals/results").exists()


@pytest.fixture
def echoing() -> Path:
    """The runner in a project whose `carob` says what it was given."""
    write(".venv/bin/carob", ECHO)
    Path(".venv/bin/carob").chmod(0o755)
    write("scripts/run-min-evals.sh", RUNNER.read_text())
    Path("scripts/run-min-evals.sh").chmod(0o755)
    return Path("scripts/run-min-evals.sh")


PLAIN = ["run", DEFAULT, "--target", "canvas"]


@pytest.mark.parametrize(
    ("arguments", "environ", "given"),
    [
        pytest.param([], {}, PLAIN, id="nothing"),
        pytest.param([], {"CAROB_TARGET": "staging"}, [*PLAIN[:3], "staging"], id="another-target"),
        pytest.param(["--cases", "A,B"], {}, [*PLAIN, "--cases", "A,B"], id="cases"),
        pytest.param(
            ["--app-url", "http://a b/?x=1&y", "--space-url", "http://a/s/2", "--wait-ms", "900", "--session", "s 1"],
            {"TELEMETRY_LOG_PATH": "/var/log/app 1.jsonl"},
            [
                *PLAIN,
                *("--option", "app_url=http://a b/?x=1&y"),
                *("--option", "space_url=http://a/s/2"),
                *("--option", "wait_ms=900"),
                *("--option", "session=s 1"),
                *("--option", "telemetry_log=/var/log/app 1.jsonl"),
            ],
            id="options-of-the-app",
        ),
        pytest.param(["--eval-file", "my suite.json", "--list"], {}, ["run", "--list", "my suite.json"], id="list"),
        pytest.param(["--self-test", "--cases", "A"], {}, ["audit", "--self"], id="self-test"),
    ],
)
def test_what_carob_is_given(echoing: Path, arguments: list[str], environ: dict[str, str], given: list[str]) -> None:
    ran = run(*arguments, runner=echoing, **environ)
    assert (ran.returncode, ran.stdout.splitlines(), ran.stderr) == (0, given, "")
