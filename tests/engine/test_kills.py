"""The runner killed at random moments: every case ends up in the report once, and no finished case is run again."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from carob.engine.rescoring import last_journal
from carob.errors import JournalError
from carob.journal.reader import Journal
from carob.model.run import Header
from carob.plugins.project import find_project
from carob.targets.config import read_config

from .support import Started, finished_lines, journals, records, suite_of, target, until

CASES = 300
KILLS = [(0, 4), *(pytest.param(seed, 10, marks=pytest.mark.thorough) for seed in range(5))]
"""Seeds of runs, and at how many moments each is killed: fifty in all where there is time."""


def resumable(folder: Path) -> Path | None:
    """The newest journal, if there is one."""
    found = journals(folder)
    return found[-1] if found else None


def calls(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def started(tmp_path: Path, journal: Path | None) -> Started:
    options = ("--workers", 1, "--concurrency", 2, "--results-dir", tmp_path / "out")
    env = {"CALLS": str(tmp_path / "calls")}
    if journal is None:
        return Started("run", tmp_path / "suite.json", "--target", target("agent"), *options, cwd=tmp_path, env=env)
    return Started("run", "--resume", journal, *options, cwd=tmp_path, env=env)


def kill_at_a_moment(run: Started, folder: Path, chance: random.Random) -> None:
    """After some cases of this leg, or at any time of its beginning."""
    before = len(journals(folder))
    if chance.random() < 0.3:
        time.sleep(chance.uniform(0.1, 2.0))
    else:
        wanted = chance.randint(0, 50)
        already = finished_lines(folder)
        until(
            lambda: (
                run.process.poll() is not None
                or (len(journals(folder)) > before and finished_lines(folder) >= min(already + wanted, CASES - 1))
            )
        )
        time.sleep(chance.uniform(0.0, 0.03))
    run.process.kill()
    run.process.wait()


@pytest.mark.parametrize(("seed", "kills"), KILLS)
def test_a_killed_run_loses_only_what_was_in_flight(tmp_path: Path, seed: int, kills: int) -> None:
    chance = random.Random(seed)
    folder, log = tmp_path / "out", tmp_path / "calls"
    suite_of(tmp_path, [f"wait {chance.choice(['sync', 'async'])}" for _ in range(CASES)])
    finished: set[str] = set()
    for _ in range(kills):
        made = len(calls(log))
        with started(tmp_path, resumable(folder)) as run:
            kill_at_a_moment(run, folder, chance)
            assert run.left_behind() == []
        again = finished & set(calls(log)[made:])
        assert again == set(), "a finished case was run again"
        newest = resumable(folder)
        if newest is not None:
            now_finished = set(records(newest))
            assert finished <= now_finished, "a finished case was lost"
            finished = now_finished
    made = len(calls(log))
    with started(tmp_path, resumable(folder)) as run:
        code, out, err = run.ended()
    assert code == 0, err
    assert f"{CASES} passed" in out
    assert finished & set(calls(log)[made:]) == set()
    (*_, last) = journals(folder)
    assert len(records(last)) == CASES
    # A case is called once, and once more for each time that it was killed in flight or just before its line.
    assert set(calls(log)) == set(records(last))
    assert Counter(calls(log)).most_common(1)[0][1] <= kills + 1


def test_a_journal_that_was_never_written_to_is_no_place_to_resume_from(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(JournalError, match="the journal is empty"):
        Journal(tmp_path / "empty.jsonl")


def test_the_last_run_is_not_one_that_was_killed_as_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    results = tmp_path / "carob-results"
    results.mkdir()
    header = Header(run_id="1", suite="s", suite_format="f", suite_sha256="0", target="t", started_at="1", total=1)
    (results / "shop-1.jsonl").write_bytes(msgspec.json.encode(header))
    (results / "shop-2.jsonl").touch()
    assert last_journal(read_config(find_project())).name == "shop-1.jsonl"


@pytest.mark.parametrize("prompt", ["sleep async", "spin async", "regex sync", "sleep sync"])
def test_a_worker_ends_with_its_runner(tmp_path: Path, prompt: str) -> None:
    """Whether or not it can hear that the runner is gone."""
    suite_of(tmp_path, [prompt])
    env = {"CALLS": str(tmp_path / "calls")}
    with Started("run", "suite.json", "--target", target("agent"), cwd=tmp_path, env=env) as run:
        until((tmp_path / "calls").exists)
        run.send(signal.SIGKILL)
        assert run.left_behind() == []


def test_the_programs_of_an_agent_end_with_the_runner(tmp_path: Path) -> None:
    """A runner that is killed can do nothing any more: the supervisor of its worker does."""
    program = tmp_path / "agent.sh"
    program.write_text(
        f"#!/bin/sh\necho $$ >> {tmp_path}/pids\nsetsid sleep 3600 &\necho $! >> {tmp_path}/pids\nsleep 3600\n"
    )
    program.chmod(0o755)
    suite_of(tmp_path, ["answer"])
    with Started("run", "suite.json", "--target", "command:./agent.sh", cwd=tmp_path) as run:
        pids = tmp_path / "pids"
        until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
        run.send(signal.SIGKILL)
        assert run.left_behind() == []
    assert [pid for pid in pids.read_text().split() if os.path.exists(f"/proc/{pid}")] == []
