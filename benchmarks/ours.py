"""Carob and the bare loops as programs to be measured."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

from benchmarks.compare import Files, Program
from benchmarks.measure import REPOSITORY, environment
from benchmarks.workload import write_cases, write_recording, write_suite

PROGRAMS = REPOSITORY / "benchmarks" / "programs"
CAROB = str(Path(sysconfig.get_path("scripts")) / "carob")
AGENT = "python:benchmarks.programs.carob_agent"


def bare_run(name: str) -> Program:
    """A loop that awaits the agent, checks its answer and writes a line."""

    def command(files: Files, results: Path) -> list[str]:
        return [sys.executable, str(PROGRAMS / "bare_run.py"), str(cases(files)), str(results / "results.jsonl")]

    return Program(name, command)


def bare_judge(name: str, program: str, recording: Callable[[Files], Path]) -> Program:
    """A loop that reads recorded answers, checks them and writes a line for each."""

    def command(files: Files, results: Path) -> list[str]:
        return [sys.executable, str(PROGRAMS / program), str(recording(files)), str(results / "results.jsonl")]

    return Program(name, command)


def carob_run(name: str, *, workers: int | None = None, agent: str = "ask") -> Program:
    """`carob run`; without `workers`, as someone types it who gives none."""
    processes = [] if workers is None else ["--workers", str(workers)]

    def command(files: Files, results: Path) -> list[str]:
        target = ["--target", f"{AGENT}:{agent}"]
        return [CAROB, "run", str(suite(files)), *target, "--results-dir", str(results), *processes]

    return Program(name, command)


def carob_rescore(name: str, journal: Callable[[Files], Path]) -> Program:
    """`carob rescore` of a journal that holds the same answers as the recording for the loop."""

    def command(files: Files, results: Path) -> list[str]:
        return [CAROB, "rescore", str(journal(files)), "--results-dir", str(results)]

    return Program(name, command)


def cases(files: Files) -> Path:
    return files.file("cases.json", lambda path: write_cases(path, files.cases))


def suite(files: Files) -> Path:
    return files.file("suite.json", lambda path: write_suite(path, files.cases))


def recording(files: Files) -> Path:
    return files.file("recording.jsonl", lambda path: write_recording(path, files.cases))


def journal(files: Files) -> Path:
    """What `carob run` left of the workload."""
    return files.file("journal.jsonl", lambda path: record(suite(files), f"{AGENT}:ask", path))


def record(suite: Path, agent: str, journal: Path) -> None:
    """Leave the journal of a run there."""
    folder = journal.with_suffix(".run")
    command = [CAROB, "run", str(suite), "--target", agent, "--results-dir", str(folder), "--workers", "0"]
    # Its exit code says that the planted failures failed.
    subprocess.run(command, cwd=REPOSITORY, env=environment(folder, {}), stdout=subprocess.DEVNULL, check=False)
    (recorded,) = folder.glob("*.jsonl")
    recorded.rename(journal)
