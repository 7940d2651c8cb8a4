"""The benchmarks run at tiny sizes, and no program can claim to have judged what it did not judge. Nothing is timed."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks import orders
from benchmarks.__main__ import SECTIONS, main
from benchmarks.compare import Files, Plan, Program, compare
from benchmarks.measure import Runs, Usage, measured, tally
from benchmarks.ours import bare_run, carob_run
from benchmarks.peers import peers
from benchmarks.programs.canned import TOOL_CALLS, judged, text_for
from benchmarks.programs.order_desk import judged as order_checks
from benchmarks.programs.order_desk import turn
from benchmarks.tables import Goal, Section
from benchmarks.workload import PLANTED, cases, planted

CASES = 24


def plan(tmp_path: Path, limit: float = 120) -> Plan:
    return Plan([CASES], 1, limit, tmp_path)


def printing(*lines: str) -> Program:
    """A program that judges nothing and says this."""
    code = f"print({chr(10).join(lines)!r})"
    return Program("liar", lambda files, results: [sys.executable, "-c", code])


def broken_checks(case: dict[str, Any]) -> list[int]:
    checks = judged(case, text_for(case["input"]), [str(call["name"]) for call in TOOL_CALLS])
    return [index for index, check in enumerate(checks) if not check["passed"]]


@pytest.mark.parametrize("count", [1, 5, 12, 13, 24, 1000])
def test_the_planted_failures_are_the_only_ones(count: int) -> None:
    broken = [broken for case in cases(count) if (broken := broken_checks(case))]
    assert len(broken) == planted(count)
    assert all(len(checks) == 1 for checks in broken)


def test_the_planted_failures_of_orders_break_one_of_twenty_checks_each() -> None:
    broken = []
    for case in orders.cases(100):
        answer, calls = turn(case["input"])
        outcomes = order_checks(case["checks"], answer, calls, lambda text: True)
        assert len(outcomes) == 20
        broken += [name for name, holds in outcomes.items() if not holds]
    assert broken == [*orders.BROKEN]


def test_every_check_is_broken_by_some_case() -> None:
    broken = Counter(index for case in cases(1000) for index in broken_checks(case))
    assert broken == dict.fromkeys(range(6), PLANTED // 6)


def test_answers_are_distinct_and_of_the_size_that_the_goals_speak_of() -> None:
    texts = [text_for(case["input"]) for case in cases(100)]
    assert len(set(texts)) == 100
    assert all(550 <= len(text) <= 650 for text in texts)


def test_judging_finds_the_planted_failures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = tmp_path / "runs.json"
    assert main(["--only", "judging", "--sizes", str(CASES), "--repeat", "1", "--json", str(runs)]) == 0
    printed = capsys.readouterr().out
    assert re.search(rf"^\| bare loop \| {CASES} \| .* \| yes \|$", printed, re.MULTILINE)
    assert re.search(rf"^\| carob rescore \| {CASES} \| .* \| yes \|$", printed, re.MULTILINE)
    tallies = [run["tally"] for section in json.loads(runs.read_text()) for f in section for run in f["runs"]]
    assert tallies == [[CASES - PLANTED, PLANTED]] * 4, "six checks each, then twenty"


def test_a_run_finds_the_planted_failures(tmp_path: Path) -> None:
    loop, run = compare((bare_run("loop"), carob_run("carob")), plan(tmp_path))
    assert loop.judged
    assert run.judged
    assert run.runs.cpu > 0
    assert run.runs.rss_mb > 1


def test_a_ratio_is_that_of_neighbours_whatever_the_speed_of_the_machine() -> None:
    speeds = (1.0, 2.0, 9.0)
    ours, loop = (Runs(Usage(cpu * speed, cpu * speed, 1, 0, None) for speed in speeds) for cpu in (4.0, 1.0))
    disturbed = Runs([*loop[:2], loop[2]._replace(cpu=1.0, wall=1.0)])
    assert (ours.cpu_times(loop), ours.cpu_times(disturbed), ours.cpu_times(loop, loop)) == (4, 4, 2)
    assert (ours.wall_times(disturbed), ours.cpu, ours.wall) == (4, 4, 4)


def test_sizes_take_turns_too(tmp_path: Path) -> None:
    seen: list[int] = []

    def command(files: Files, results: Path) -> list[str]:
        seen.append(files.cases)
        return [sys.executable, "-c", ""]

    figures = compare([Program("quiet", command)], Plan([2, 1], 2, 60, tmp_path))
    assert seen == [1, 1, 2, 1, 2]
    assert [(figure.cases, len(figure.runs)) for figure in figures] == [(1, 2), (2, 2)]


def test_the_cpu_of_children_counts(tmp_path: Path) -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}])"
    assert measured([sys.executable, "-c", code], tmp_path).cpu >= 0.3


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([f"{CASES} passed, 0 failed"], id="nothing-failed"),
        pytest.param([f"{CASES - PLANTED} passed, {PLANTED - 2} failed"], id="one-kind-of-check-was-skipped"),
        pytest.param(["done"], id="no-tally"),
    ],
)
def test_a_program_that_did_not_judge_fails_the_benchmark(
    lines: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    section = Section("Lies", "liar", compare([printing(*lines)], plan(tmp_path)), [])
    assert not section.judged
    monkeypatch.setitem(SECTIONS, "judging", (lambda plan: section,))
    assert main(["--only", "judging", "--sizes", str(CASES)]) == 1


def test_a_goal_that_was_missed_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = printing(f"{CASES - PLANTED} passed, {PLANTED} failed")
    section = Section("Slow", "liar", compare([honest], plan(tmp_path)), [Goal("time", 9.0, 1.0)])
    monkeypatch.setitem(SECTIONS, "judging", (lambda plan: section,))
    assert main(["--only", "judging", "--sizes", str(CASES)]) == 0


def test_a_program_that_hangs_is_stopped_and_not_tried_again(tmp_path: Path) -> None:
    hanging = Program("hanging", lambda files, results: [sys.executable, "-c", "import time; time.sleep(600)"])
    figures = compare([hanging], Plan([1, 2], 3, 0.2, tmp_path))
    assert [(figure.cases, figure.stopped, len(figure.runs)) for figure in figures] == [(1, True, 1)]


@pytest.mark.parametrize(
    ("printed", "counted"),
    [
        pytest.param("9988 passed, 12 failed in 3.1s, avg soft score 0.9994\n  a.json\n", (9988, 12), id="carob"),
        pytest.param("=== 12 failed, 9,988 passed in 20.01s ===\n", (9988, 12), id="thousands"),
        pytest.param("\x1b[31m12 failed\x1b[0m, \x1b[32m9988 passed\x1b[0m in 2s\n", (9988, 12), id="colours"),
        pytest.param("1 passed\nResults:\n  ✓ 7 passed (70%)\n  ✗ 3 failed (30%)\n", (7, 3), id="the-last-counts"),
        pytest.param("24 passed in 1s\n", (24, 0), id="none-failed"),
        pytest.param("Traceback\n", None, id="no-tally"),
    ],
)
def test_tallies(printed: str, counted: tuple[int, int] | None, tmp_path: Path) -> None:
    console = tmp_path / "console.txt"
    console.write_text(printed)
    assert tally(console) == counted


def test_peers_that_are_not_installed_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BENCH_ENVS", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("benchmarks.peers.find_spec", lambda module: None)
    skipped: list[str] = []
    assert list(peers(skipped)) == []
    assert [line.partition(":")[0] for line in skipped] == ["pytest", "pydantic-evals", "promptfoo"]


def test_plain_pytest_is_a_peer_where_it_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENCH_ENVS", raising=False)
    (plain,) = [peer for peer in peers([]) if peer.name == "pytest"]
    (figure,) = compare([plain], plan(tmp_path))
    assert figure.judged


def test_workloads_are_written_once(tmp_path: Path) -> None:
    written: list[Path] = []

    def write(path: Path) -> None:
        written.append(path)
        path.touch()

    files = Files(tmp_path, CASES)
    assert files.file("a.json", write) == files.file("a.json", write)
    assert len(written) == 1
