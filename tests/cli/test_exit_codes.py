"""SPEC §5 as a table: the exit code is a function of the printed verdict, nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import carob as library
from carob.cli import main
from carob.cli.run import worst_exit_code
from carob.errors import ExitCode
from carob.model.run import Summary
from cli.support import SCRIPT, Carob, case, eval_set, journal_of, traces, write

LENIENT = {"scoring": {"soft_score": {"threshold": 0.1}}}
UNSEEN = {"telemetry": ["tool.x start"]}
ASKS = eval_set(
    case("PASS"),
    case("PARTIAL", expected=UNSEEN),
    case("FAIL"),
    case("ERROR"),
    case("ALSO"),
    case("SOFT", expected={"must_say_any": ["hello"], **LENIENT}),
    case("BOTH", expected={"must_say_any": ["hello"], **UNSEEN, **LENIENT}),
)
ANSWERS: dict[str, Any] = {
    "PASS": "hello",
    "PARTIAL": "hello",
    "FAIL": "good day",
    "ERROR": {"error": "the model is down"},
    "ALSO": "hello",
    "SOFT": "good day",
    "BOTH": "good day",
}
MOODY = """\
import asyncio, signal


async def ask(prompt):
    if "second" in prompt:
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(600)
    return "no"
"""
ALL = ("run", "suite.json", "-t", "replay:traces.jsonl")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        pytest.param([*ALL, "--cases", "PASS,ALSO"], 0, "2 passed in", id="0-all-passed"),
        *(
            pytest.param([*ALL, "--cases", cases, *flags], code, says, id=f"{code}-{cases}{''.join(flags)}")
            for cases, says, let in (
                ("SOFT", "0 passed, 1 partial in", {"--allow-partial"}),
                ("PARTIAL", "0 passed, 1 partial (1 unknown) in", {"--allow-unknown"}),
                ("BOTH", "partial (1 with a failed check, 1 unknown)", {"--allow-partial", "--allow-unknown"}),
                ("PASS,SOFT,PARTIAL", "2 partial (1 with a failed", {"--allow-partial", "--allow-unknown"}),
            )
            for flags in ([], ["--allow-partial"], ["--allow-unknown"], ["--allow-partial", "--allow-unknown"])
            for code in [0 if let <= set(flags) else 1]
        ),
        pytest.param([*ALL, "--cases", "PASS,FAIL", "--allow-partial", "--allow-unknown"], 1, "1 failed", id="1-let"),
        pytest.param([*ALL, "--cases", "ERROR", "--allow-partial", "--allow-unknown"], 1, "1 error", id="1-error-let"),
        pytest.param([*ALL, "--strict"], 4, "No such option", id="4-strict"),
        pytest.param([*ALL, "--cases", "PASS,FAIL"], 1, "1 passed, 1 failed in", id="1-failed"),
        pytest.param([*ALL, "--cases", "PASS,ERROR"], 1, "1 passed, 1 error in", id="1-error"),
        pytest.param(
            ALL, 1, "2 passed, 1 failed, 3 partial (2 with a failed check, 2 unknown), 1 error in", id="1-all-kinds"
        ),
        pytest.param([*ALL, "--fail-fast"], 1, "INCOMPLETE: 3 of 7 cases", id="1-fail-fast"),
        pytest.param(
            ["run", "suite.json", "-t", "python:agent.py:hang", "--run-timeout", "0.5", "--workers", "0"],
            2,
            "INCOMPLETE: 0 of 7 cases finished (the run took longer than 0.5 s)",
            id="2-deadline-of-the-run",
        ),
        pytest.param([*ALL, "--results-dir", "suite.json"], 3, "suite.json: cannot be written", id="3-no-folder"),
        pytest.param(["rescore", "J", "--results-dir", "suite.json"], 3, "cannot be written", id="3-rescore"),
        pytest.param(["run", "suite.json"], 4, "no target was given", id="4-no-target"),
        pytest.param(["run", "gone.json", "-t", "x:y"], 4, "gone.json: no such file", id="4-missing-suite"),
        pytest.param(["run", "bad.json", "-t", "x:y"], 4, "bad.json:1:1: not JSON", id="4-bad-suite"),
        pytest.param(["run", "suite.json", "-t", "x:y"], 4, "no kind of target 'x'", id="4-unknown-kind"),
        pytest.param([*ALL, "--fail-fast", "--max-failures", "3"], 4, "Keep one of the two", id="4-two-limits"),
        pytest.param([*ALL, "--rate", ""], 4, "'' is not a rate", id="4-no-rate"),
        pytest.param([*ALL, "--repeat", "5000000000"], 4, "at most 1,000,000, not 5000000000", id="4-repeat"),
        pytest.param([*ALL, "--concurrency", "9" * 23], 4, "`concurrency` must be at most 10,000", id="4-concurrency"),
        pytest.param([*ALL, "--ray-address", "auto"], 4, "nothing runs there", id="4-nothing-on-ray"),
        pytest.param([*ALL, "--cases", "PASSS"], 4, "Did you mean 'PASS'?", id="4-unknown-case"),
        pytest.param(["rescore", "suite.json"], 4, "not a journal", id="4-no-journal"),
        pytest.param(["lint", "--errors-only", "suite.json", "bad.json"], 4, "bad.json:1:1: not JSON", id="4-validate"),
        pytest.param(["run", "--list", "bad.json"], 4, "bad.json:1:1: not JSON", id="4-list"),
        pytest.param(["frobnicate"], 4, "No such command 'frobnicate'", id="4-unknown-command"),
        pytest.param([], 4, "Usage: carob", id="4-no-command"),
        pytest.param([*ALL, "--category", "none"], 5, "no case is selected", id="5-category"),
        pytest.param([*ALL, "--cases", " , "], 5, "no case is selected", id="5-no-names"),
        pytest.param(
            ["lint", "--errors-only", "suite.json"], 0, "suite.json: eval-set 0.3, 7 cases, 15 checks", id="0-validate"
        ),
        pytest.param(["audit", "--self"], 0, "SELF-TEST PASS", id="0-self-test"),
        pytest.param(["--version"], 0, f"carob {library.__version__} (", id="0-version"),
        pytest.param(["--help"], 0, "Exit codes:", id="0-help"),
    ],
)
def test_exit_codes(carob: Carob, arguments: list[str], code: int, says: str) -> None:
    write("suite.json", ASKS)
    write("bad.json", "hello")
    traces(**ANSWERS)
    if "J" in arguments:
        carob(*ALL, "--results-dir", "before")
        arguments = [str(journal_of("before")) if word == "J" else word for word in arguments]
    ran = carob(*arguments)
    assert ran.code == code
    assert says in (ran.out if code in (0, 1, 2) else ran.err)


@pytest.mark.parametrize(
    ("flags", "file", "code"),
    [
        pytest.param([], "", 1, id="told-nothing"),
        pytest.param(["--allow-unknown"], "", 0, id="told"),
        pytest.param(["--allow-partial"], "", 1, id="told-something-else"),
        pytest.param([], "allow_unknown = true\n", 0, id="carob.toml"),
        pytest.param([], "allow_partial = true\n", 1, id="carob.toml-something-else"),
        pytest.param([], "allow_unknown = 1\n", 4, id="carob.toml-no-boolean"),
    ],
)
def test_every_command_has_the_same_codes(carob: Carob, flags: list[str], file: str, code: int) -> None:
    write("suite.json", ASKS)
    traces(**ANSWERS)
    carob(*ALL, "--cases", "PASS,PARTIAL")
    journal = str(journal_of())
    write("carob.toml", file)
    again = ("--results-dir", "again")
    assert [
        carob(*ALL, "--cases", "PASS,PARTIAL", *again, *flags).code,
        carob("run", "--resume", journal, *again, *flags).code,
        carob("run", "--failed", journal, *again, *flags).code,
        carob("rescore", journal, *again, *flags).code,
    ] == [code] * 4


@pytest.mark.parametrize("repeat", [1, pytest.param(3, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("partial", [None, False, True])
@pytest.mark.parametrize("unknown", [None, False, True])
@pytest.mark.parametrize("cases", [["SOFT"], ["PARTIAL"], ["BOTH"], ["PASS"], ["PASS", "FAIL"]], ids=" ".join)
def test_the_library_says_ok_when_the_code_is_0(
    carob: Carob, cases: list[str], partial: bool | None, unknown: bool | None, repeat: int
) -> None:
    write("suite.json", ASKS)
    traces(**ANSWERS)
    options = {"cases": cases, "repeat": repeat, "allow_partial": partial, "allow_unknown": unknown}
    result = library.run("suite.json", "replay:traces.jsonl", **options)  # type: ignore[arg-type]
    flags = [*["--allow-partial"] * (partial is True), *["--allow-unknown"] * (unknown is True)]
    ran = carob(*ALL, "--cases", ",".join(cases), "--repeat", str(repeat), *flags)
    assert (result.exit_code, result.ok) == (ran.code, ran.code == 0)


@pytest.mark.parametrize(
    ("summary", "code"),
    [
        pytest.param(Summary(passed=1), 0, id="passed"),
        pytest.param(Summary(), 5, id="nothing"),
        pytest.param(Summary(passed=1, failed=1), 1, id="failed"),
        pytest.param(Summary(passed=1, error=1), 1, id="error"),
        pytest.param(Summary(passed=1, incomplete="lines are missing"), 1, id="incomplete"),
        pytest.param(Summary(passed=1, incomplete="no worker", broken=True), 3, id="broken"),
        pytest.param(Summary(failed=1, incomplete="interrupted", interrupted=True), 2, id="interrupted"),
        pytest.param(Summary(interrupted=True, broken=True), 2, id="interrupted-and-broken"),
    ],
)
@pytest.mark.parametrize("allowed", [False, True])
def test_codes_of_summaries(summary: Summary, code: int, allowed: bool) -> None:
    assert summary.exit_code(allow_partial=allowed, allow_unknown=allowed) == code


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("unknown", [False, True])
def test_a_partial_of_which_nobody_knows_why_needs_both_allowances(partial: bool, unknown: bool) -> None:
    exit_code = Summary(passed=1, partial=1).exit_code(allow_partial=partial, allow_unknown=unknown)
    assert exit_code == (0 if partial and unknown else 1)


@pytest.mark.limit(40)
def test_a_failed_suite_and_an_interrupted_one(carob: Carob) -> None:
    write("moody.py", MOODY)
    suites = [write(f"{name}.json", eval_set(case(name))) for name in ("first", "second", "third")]
    ran = carob("run", *suites, "-t", "python:moody.py:ask")
    assert (ran.code, ran.statuses) == (2, {"first": "FAIL"})
    assert "0 passed, 1 failed in" in ran.out
    assert "INCOMPLETE: 0 of 1 cases finished (interrupted)" in ran.out
    assert "carob: interrupted; not run: third.json\n" in ran.err


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        ([0, 0], 0),
        ([0, 5], 5),
        ([5, 1, 0], 1),
        ([1, 4], 4),
        ([0, 4], 4),
        ([4, 3], 3),
        ([3, 2, 1], 2),
        *(([code], code) for code in ExitCode),
    ],
)
def test_of_several_suites_the_worst_counts(codes: list[int], code: int) -> None:
    assert worst_exit_code(codes) == code


class NotLetIn(BaseHTTPRequestHandler):
    """A service that lets nobody in, or speaks no protocol that is known."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(401 if self.path == "/chat" else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def not_let_in() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), NotLetIn) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("kind", "path", "told"),
    [
        ("", "/chat", "POST {url}/chat answered 401 Unauthorized: access denied. Check `headers`"),
        ("a2a:", "/", "the answer is not JSON-RPC of A2A: check the address and the kind in `use`"),
    ],
)
def test_a_service_that_cannot_be_used_as_it_is_configured(
    carob: Carob, not_let_in: str, kind: str, path: str, told: str
) -> None:
    body = "" if kind else 'body = { message = "{prompt}" }\n'
    write("carob.toml", f'[targets.bot]\nuse = "{kind}{not_let_in}{path}"\n{body}')
    ran = carob("run", write("suite.json", eval_set(case("A"), case("B"))), "-t", "bot")
    where = f"no case can be run: {Path.cwd() / 'carob.toml'}:2: {told.format(url=not_let_in)}"
    assert (ran.code, ran.out.splitlines()[0]) == (4, f"INCOMPLETE: 0 of 2 cases finished ({where})")


def test_interrupted() -> None:
    write("suite.json", eval_set())
    command = [str(SCRIPT), "run", "suite.json", "-t", "python:agent.py:block"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        for _ in range(1200):
            if Path("started").exists() or running.poll() is not None:
                break
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert running.returncode == 2
    assert "INCOMPLETE: 0 of 1 cases finished (interrupted)" in out
    assert "carob: stopping" in err
    assert "Traceback" not in err


def test_a_bug_of_our_own_is_3_with_its_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from carob.suites import listing

    def broken(path: str) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(listing, "rows", broken)
    assert main.run(["run", "--list", write("suite.json", eval_set())]) == 3
    err = capsys.readouterr().err
    assert "ZeroDivisionError: ours" in err
    assert err.endswith("carob: this is a bug in Carob; please report it with the lines above\n")


@pytest.mark.parametrize("place", ["results", "here"])
def test_path_that_is_not_utf8_is_rejected_with_workers(tmp_path: Path, place: str) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/y\xff"))
    odd.mkdir()
    write("suite.json", eval_set())
    options = ["--target", f"python:{Path('agent.py').absolute()}:greet", "--results-dir", str(odd / "out")]
    if place == "here":
        options[-1] = "out"
    command = [str(SCRIPT), "run", str(Path("suite.json").absolute()), *options]
    ran = subprocess.run(
        command, cwd=odd if place == "here" else None, capture_output=True, text=True, check=False, timeout=60
    )
    assert ran.returncode == 4
    assert "is not UTF-8, so workers cannot use it. Rename it, or use --workers 0." in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    script = f"mkdir {gone} && cd {gone} && rmdir {gone} && {SCRIPT} run suite.json -t python:a:b"
    ran = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert (ran.returncode, ran.stdout) == (4, "")
    assert ran.stderr == "carob: the current folder no longer exists. Change to another one.\n"
