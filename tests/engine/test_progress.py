"""Progress: a live bar with counts and what is running now on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time
from pathlib import Path

import pytest

from .support import CAROB, Started, suite_of, target

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_a_terminal(arguments: list[str], cwd: Path) -> tuple[int, str]:
    """Everything that is written to a terminal of 100 columns."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "24"}
    with subprocess.Popen(
        [*CAROB, *arguments], cwd=cwd, env=env, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        written = bytearray()
        while True:
            try:
                data = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not data:
                break
            written += data
    os.close(ours)
    return process.returncode, written.decode()


def test_a_terminal_gets_a_bar_and_then_what_did_not_pass(tmp_path: Path) -> None:
    suite_of(tmp_path, ["wait sync"] * 30 + ["wrong sync"])
    arguments = ["run", "suite.json", "--target", target("agent"), "--workers", "1", "--concurrency", "5"]
    code, written = on_a_terminal(arguments, tmp_path)
    assert code == 1
    assert "\x1b[?25l" in written
    assert written.rindex("\x1b[?25h") > written.rindex("\x1b[?25l"), "the cursor is shown again"
    shown = CONTROL.sub("", written)
    frames = re.findall(r"0:00:\d\d (\d+)/31 +(?:(\d+) PASS)?([^\r\n]*)", shown)
    assert len({int(done) for done, _, _ in frames}) > 1, "the bar moves"
    assert any("-wait, " in running and "and 2 more" in running for _, _, running in frames), "it says what is running"
    assert all(int(passed or 0) in (int(done), int(done) - 1) for done, passed, _ in frames), "it counts"
    assert any(re.search(r"~\ds left", running) for _, _, running in frames), "it says how long that will take"
    lines = shown[shown.rindex("/31") :]
    assert re.findall(r"(PASS|FAIL) +(\d{3})-", lines) == [("FAIL", "030")], "what passed is folded away"
    assert "30 passed, 1 failed" in lines


def test_elsewhere_there_is_a_line_per_case_as_it_finishes(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, ["answer sync", "wrong async", "raise sync"])
    with Started("run", suite, "--target", target("agent"), cwd=tmp_path) as run:
        code, out, err = run.ended()
    assert code == 1
    assert err == ""
    assert "\x1b" not in out
    failed = [["FAIL", "001-wrong"], ["ERROR", "002-raise"]]
    heads = [line.split()[:2] for line in out.splitlines() if re.match("[A-Z]", line)]
    assert heads == [["PASS", "000-answer"], *failed, *failed], "as they finish, and then in full"


def test_repeats_are_told_one_by_one_and_then_by_case(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, ["answer sync", "wrong sync"])
    options = ("--target", target("agent"), "--workers", 0, "--repeat", 2)
    with Started("run", suite, *options, cwd=tmp_path) as run:
        _, out, _ = run.ended()
    firsts = [" ".join(line.split()[:3]) for line in out.splitlines() if re.match("PASS|FAIL", line)]
    assert [first for first in firsts if "#" in first] == [
        "PASS 000-answer #1",
        "PASS 000-answer #2",
        "FAIL 001-wrong #1",
        "FAIL 001-wrong #2",
    ]
    assert "2 of 2 passed (95% Clopper-Pearson interval 0.16 to 1.00)" in out
    assert "0 of 2 passed (95% Clopper-Pearson interval 0.00 to 0.84)" in out
    assert "50.0% of cases passed each time (pass^2), 50.0% at least once (pass@2), 0 flaky" in out


def test_a_retry_is_told(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, ["fail 1 0"])
    env = {"COUNT": str(tmp_path / "count")}
    options = ("--target", target("unreliable"), "--workers", 0, "--retries", 1)
    with Started("run", suite, *options, cwd=tmp_path, env=env) as run:
        code, out, _ = run.ended()
    assert code == 0
    assert re.search(r"RETRY +000-fail  agent, again in \d\.\ds", out)


@pytest.mark.parametrize(
    ("function", "prompts", "expected"),
    [
        pytest.param("agent", [*["answer sync"] * 3, "sleep async"], ["PASS"] * 3, id="a-case-that-goes-on"),
        pytest.param("unreliable", ["fail 1 250"], ["RETRY"], id="a-retry-that-waits"),
    ],
)
def test_lines_are_not_held_back(tmp_path: Path, function: str, prompts: list[str], expected: list[str]) -> None:
    suite = suite_of(tmp_path, prompts)
    env = {"COUNT": str(tmp_path / "count")}
    with Started("run", suite, "--target", target(function), "--retries", 1, cwd=tmp_path, env=env) as run:
        assert run.process.stdout is not None
        written = b""
        deadline = time.monotonic() + 30
        while written.count(b"\n") < len(expected) and time.monotonic() < deadline:
            if select.select([run.process.stdout], [], [], 1)[0]:
                written += os.read(run.process.stdout.fileno(), 65536)
    assert [line.split()[0] for line in written.decode().splitlines()] == expected


def test_a_rerun_counts_what_it_keeps_and_leaves_nothing_of_the_bar(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, ["answer sync", "wrong sync"])
    with Started("run", suite, "--target", target("agent"), "--workers", 0, "--results-dir", "r", cwd=tmp_path) as run:
        run.ended()
    (journal,) = (tmp_path / "r").glob("*.jsonl")
    code, written = on_a_terminal(["run", "--failed", str(journal), "--workers", "0"], tmp_path)
    assert code == 1
    assert re.search(r"\b[12]/2  1 kept", CONTROL.sub("", written))
    assert re.search(r"\x1b\[2K(\x1b\[[0-9;]*m)*carob: kept 1 finished case", written), "the bar makes room"
    after = written.rpartition("\x1b[2K")[2]
    assert "━" not in after
    assert "1 passed, 1 failed" in after
