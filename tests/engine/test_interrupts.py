"""Stopping a run: by Ctrl-C, by SIGTERM, by its own deadline, by failures; what finished is kept and can be resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from itertools import cycle
from pathlib import Path

import pytest

import carob

from .support import Started, case, finished_lines, journals, statuses, suite_of, target, until, write_suite

HANGING = ["answer sync"] * 3 + ["sleep sync", "sleep async", "answer async"]


def running(tmp_path: Path, *options: object) -> Started:
    suite = suite_of(tmp_path, HANGING)
    return Started("run", suite, "--target", target("agent"), "--results-dir", tmp_path / "out", *options, cwd=tmp_path)


def stop_twice(run: Started) -> None:
    """Ctrl-C, and again as soon as the first was heard."""
    run.send(signal.SIGINT)
    assert run.process.stderr is not None
    while "once more" not in run.process.stderr.readline():
        assert run.process.poll() is None
    run.send(signal.SIGINT)


@pytest.mark.parametrize(("number", "workers"), [(signal.SIGINT, 0), (signal.SIGTERM, 1)], ids=["ctrl-c", "sigterm"])
def test_one_signal_stops_gracefully(tmp_path: Path, number: signal.Signals, workers: int) -> None:
    with running(tmp_path, "--workers", workers) as run:
        until(lambda: finished_lines(tmp_path / "out") == 3)
        run.send(number)
        code, out, err = run.ended()
        assert run.left_behind() == []
    assert code == 2
    assert "INCOMPLETE: 3 of 6 cases finished (interrupted)" in out
    assert "carob: stopping; once more stops at once" in err
    assert "Traceback" not in err
    (report,) = (tmp_path / "out").glob("*.json")
    assert json.loads(report.read_bytes())["summary"]["incomplete"] == "interrupted"
    (journal,) = journals(tmp_path / "out")
    options = ("--timeout", 2, "--results-dir", tmp_path / "on")
    with Started("run", "--resume", journal, *options, cwd=tmp_path) as run:
        code, _, err = run.ended()
    assert code == 1
    assert "carob: kept 3 finished cases" in err
    (resumed,) = journals(tmp_path / "on")
    assert list(statuses(resumed).values()) == ["PASS"] * 3 + ["ERROR"] * 2 + ["PASS"]


def test_a_second_ctrl_c_stops_at_once(tmp_path: Path) -> None:
    """The worker is deaf: closing it takes its time, which the second one does not wait for."""
    suite = suite_of(tmp_path, ["answer sync", "lock sync", "answer sync"])
    options = ("--target", target("agent"), "--results-dir", tmp_path / "out")
    with Started("run", suite, *options, cwd=tmp_path) as run:
        until(lambda: finished_lines(tmp_path / "out") == 1)
        stop_twice(run)
        code, out, _ = run.ended(within=60)
        assert run.left_behind() == []
    assert code == 2
    assert "INCOMPLETE" not in out
    (journal,) = journals(tmp_path / "out")
    assert statuses(journal) == {"000-answer": "PASS"}


def test_a_second_ctrl_c_stops_an_agent_that_blocks_carob_itself(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, ["answer sync", "spin async"])
    options = ("--target", target("agent"), "--workers", 0, "--results-dir", tmp_path / "out")
    with Started("run", suite, *options, cwd=tmp_path) as run:
        until(lambda: finished_lines(tmp_path / "out") == 1)
        stop_twice(run)
        code, _, _ = run.ended(within=60)
    assert code == 2


def test_an_agent_that_goes_elsewhere_takes_no_report_along(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, ["away sync", "answer async"])
    options = ("--target", target("agent"), "--workers", 0, "--results-dir", "out")
    with Started("run", suite, *options, cwd=tmp_path) as run:
        code, out, err = run.ended()
    assert (code, err) == (0, "")
    assert "\n  out/suite-" in out
    assert len(list((tmp_path / "out").iterdir())) == 3


def test_ctrl_c_while_the_target_opens(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import pathlib, time\npathlib.Path('opening').touch()\ntime.sleep(3600)\n")
    suite = suite_of(tmp_path, ["answer sync"])
    with Started("run", suite, "--target", "python:slow:agent", cwd=tmp_path) as run:
        until((tmp_path / "opening").exists)
        run.send(signal.SIGINT)
        code, _, err = run.ended()
        assert run.left_behind() == []
    assert code == 2
    assert "interrupted before any case was run" in err
    assert not (tmp_path / "carob-results").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_a_signal_while_carob_itself_is_loading(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "click.py").write_text("import pathlib, time\npathlib.Path('loading').touch()\ntime.sleep(3600)\n")
    # A job in the background of a shell ignores Ctrl-C, and so would what it starts.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    command = [sys.executable, "-c", f"{heard}; from carob.cli.entry import main; main()", "run", "suite.json"]
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    with subprocess.Popen(command, cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True) as started:
        until((tmp_path / "loading").exists)
        started.send_signal(number)
        try:
            _, err = started.communicate(timeout=60)
        finally:
            started.kill()
    assert (started.returncode, err) == (2, "carob: interrupted\n")


def test_a_run_has_a_deadline(tmp_path: Path) -> None:
    with running(tmp_path, "--run-timeout", 4) as run:
        code, out, err = run.ended()
        assert run.left_behind() == []
    assert code == 2, err
    assert "of 6 cases finished (the run took longer than 4 s)" in out


FIRST = (["--fail-fast"], "2 of 5 cases finished (stopped after 1 failed case)")
SECOND = (["--max-failures", "2"], "4 of 5 cases finished (stopped after 2 failed cases)")
NONE = (["--max-failures", "9"], "")


@pytest.mark.parametrize(
    ("options", "said", "workers"),
    [
        pytest.param(*FIRST, 0, id="fail-fast-inline", marks=pytest.mark.thorough),
        pytest.param(*FIRST, 1, id="fail-fast-worker"),
        pytest.param(*SECOND, 0, id="max-failures-inline"),
        pytest.param(*SECOND, 1, id="max-failures-worker", marks=pytest.mark.thorough),
        pytest.param(*NONE, 0, id="not-reached-inline"),
        pytest.param(*NONE, 1, id="not-reached-worker", marks=pytest.mark.thorough),
    ],
)
def test_failures_stop_a_run(tmp_path: Path, options: list[str], said: str, workers: int) -> None:
    suite = suite_of(tmp_path, ["answer sync", "wrong sync", "answer sync", "raise sync", "answer sync"])
    given = ("--target", target("agent"), "--workers", workers, "--results-dir", tmp_path / "out")
    with Started("run", suite, *given, *options, cwd=tmp_path) as run:
        code, out, err = run.ended()
    assert code == 1, err
    assert (f"INCOMPLETE: {said}" in out) if said else ("INCOMPLETE" not in out)


def test_a_failure_of_the_last_case_leaves_nothing_out(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, ["answer sync", "wrong sync"])
    options = ("--target", target("agent"), "--workers", 0, "--fail-fast", "--results-dir", tmp_path / "out")
    with Started("run", suite, *options, cwd=tmp_path) as run:
        code, out, _ = run.ended()
    assert code == 1
    assert "INCOMPLETE" not in out


@pytest.mark.parametrize(
    ("answers", "rate", "runs", "code"),
    [
        pytest.param("fw", 0.5, 12, 0, id="half-is-enough"),
        pytest.param("fw", 0.6, 6, 1, id="the-third-failure-of-six-is-one-too-many"),
        pytest.param("fw", 1.0, 2, 1, id="all-must-pass"),
        pytest.param("e", 0.1, 1, 1, id="an-error"),
    ],
)
def test_repeats_stop_a_run_when_their_case_is_lost(
    tmp_path: Path, answers: str, rate: float, runs: int, code: int
) -> None:
    said = cycle(answers)

    def agent(prompt: str) -> str:
        return {"f": "fine", "w": "wrong"}[next(said)]

    suite = write_suite(tmp_path / "suite.json", [case(name, "hello", min_pass_rate=rate) for name in "ab"])
    summary = carob.run(suite, agent, repeat=6, max_failures=1).summary
    assert (summary.runs, summary.exit_code()) == (runs, code)
    assert summary.incomplete == ("stopped after 1 failed case" if code else "")


@pytest.mark.parametrize(
    ("summary", "code"),
    [
        pytest.param(carob.Summary(passed=3, incomplete="stopped after 1 failed case"), 1, id="stopped"),
        pytest.param(carob.Summary(passed=3, incomplete="out of time", interrupted=True), 2, id="interrupted"),
        pytest.param(carob.Summary(failed=3, incomplete="out of time", interrupted=True), 2, id="and-failed"),
        pytest.param(carob.Summary(passed=3), 0, id="complete"),
    ],
)
def test_what_is_incomplete_is_no_success(summary: carob.Summary, code: int) -> None:
    assert summary.exit_code() == code


LINGERS = """
import asyncio
keep = []
async def linger():
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass
async def answer(prompt):
    keep.append(asyncio.create_task(linger()))
    return "fine"
"""


def test_ctrl_c_while_a_finished_suite_is_closed_begins_no_other(tmp_path: Path) -> None:
    (tmp_path / "lingers.py").write_text(LINGERS)
    for name in ("one.json", "two.json"):
        write_suite(tmp_path / name, [case("a", "x")])
    options = ("--target", "python:lingers:answer", "--results-dir", "out")
    with Started("run", "one.json", "two.json", *options, cwd=tmp_path) as run:
        until(lambda: finished_lines(tmp_path / "out") == 1)
        run.send(signal.SIGINT)
        code, out, err = run.ended()
    assert code == 2
    assert out.count("PASS") == 1
    assert "carob: interrupted; not run: two.json" in err


def test_a_failed_suite_before_an_interrupted_one_does_not_hide_it(tmp_path: Path) -> None:
    """Exit code 1 would say that all was judged."""
    for name, prompts in {
        "one": ["wrong sync"],
        "two": ["answer sync", "sleep sync"],
        "three": ["answer sync"],
    }.items():
        write_suite(tmp_path / f"{name}.json", [case(f"{name}-{place}", text) for place, text in enumerate(prompts)])
    options = ("--target", target("agent"), "--results-dir", "out")
    with Started("run", "one.json", "two.json", "three.json", *options, cwd=tmp_path) as run:
        until(lambda: len(journals(tmp_path / "out")) == 2 and finished_lines(tmp_path / "out") == 1)
        run.send(signal.SIGINT)
        code, out, err = run.ended()
        assert run.left_behind() == []
    assert code == 2
    assert "1 failed" in out
    assert "INCOMPLETE: 1 of 2 cases finished (interrupted)" in out
    assert "carob: interrupted; not run: three.json" in err
    failed, interrupted = journals(tmp_path / "out")
    assert (statuses(failed), statuses(interrupted)) == ({"one-0": "FAIL"}, {"two-0": "PASS"})


def test_who_is_deaf_to_ctrl_c_stays_so(tmp_path: Path) -> None:
    """A shell that runs it in the background, or `trap '' INT`, wants it to go on."""
    suite = suite_of(tmp_path, ["answer sync", *["wait sync"] * 40])
    deaf = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh"]
    options = ("--target", target("agent"), "--results-dir", tmp_path / "out")
    with Started("run", suite, *options, cwd=tmp_path, prefix=deaf) as run:
        until(lambda: finished_lines(tmp_path / "out") >= 1)
        run.send(signal.SIGINT)
        code, out, _ = run.ended()
    assert code == 0
    assert "41 passed" in out


def test_an_agent_that_goes_elsewhere_when_it_is_imported(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "goes.py").write_text(
        "import os\nos.chdir('sub')\ndef answer(prompt):\n    return 'fine ' + os.path.basename(os.getcwd())\n"
    )
    suite = write_suite(tmp_path / "suite.json", [case("a", "x", must_match_regex=["sub"])])
    options = ("--target", "python:goes:answer", "--workers", 0, "--results-dir", "out")
    with Started("run", suite, *options, cwd=tmp_path) as run:
        code, _, err = run.ended()
    assert (code, err) == (0, "")
    assert len(list((tmp_path / "out").iterdir())) == 3
    assert list((tmp_path / "sub").iterdir()) == []


def test_results_that_are_cleared_away_are_a_fault_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "clears.py").write_text("import shutil\ndef answer(p):\n    shutil.rmtree('out')\n    return 'fine'\n")
    suite = write_suite(tmp_path / "suite.json", [case("a", "x")])
    with Started("run", suite, "--target", "python:clears:answer", "--results-dir", "out", cwd=tmp_path) as run:
        code, _, err = run.ended()
    assert code == 3
    assert "the journal of this run is lost" in err
    assert "Run again, into a folder that is not cleaned up." in err
