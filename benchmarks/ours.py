"""Karat and the bare loops as programs to be measured."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

from benchmarks.compare import Files, Program
from benchmarks.measure import REPOSITORY, environment
from benchmarks.workload import write_cases, write_recording, write_suite

PROGRAMS = REPOSITORY / "benchmarks" / "programs"
KARAT = str(Path(sysconfig.get_path("scripts")) / "karat")
AGENT = "python:benchmarks.programs.karat_agent"


def bare_run(name: str) -> Program:
    """A loop that awaits the agent, checks its answer and writes a line."""

    def command(files: Files, results: Path) -> list[str]:
        return [sys.executable, str(PROGRAMS / "bare_run.py"), str(cases(files)), str(results / "results.jsonl")]

    return Program(name, command)


def bare_judge(name: str) -> Program:
    """A loop that reads recorded answers, checks them and writes a line for each."""

    def command(files: Files, results: Path) -> list[str]:
        recording = files.file("recording.jsonl", lambda path: write_recording(path, files.cases))
        return [sys.executable, str(PROGRAMS / "bare_judge.py"), str(recording), str(results / "results.jsonl")]

    return Program(name, command)


def karat_run(name: str, *, workers: int | None = None, agent: str = "ask") -> Program:
    """`karat run`; without `workers`, as someone types it who gives none."""
    processes = [] if workers is None else ["--workers", str(workers)]

    def command(files: Files, results: Path) -> list[str]:
        target = ["--target", f"{AGENT}:{agent}"]
        return [KARAT, "run", str(suite(files)), *target, "--results-dir", str(results), *processes]

    return Program(name, command)


def karat_rescore(name: str) -> Program:
    """`karat rescore` of a journal that holds the same answers as the recording for the loop."""

    def command(files: Files, results: Path) -> list[str]:
        return [KARAT, "rescore", str(journal(files)), "--results-dir", str(results)]

    return Program(name, command)


def cases(files: Files) -> Path:
    return files.file("cases.json", lambda path: write_cases(path, files.cases))


def suite(files: Files) -> Path:
    return files.file("suite.json", lambda path: write_suite(path, files.cases))


def journal(files: Files) -> Path:
    """What `karat run` left of the workload."""
    return files.file("journal.jsonl", lambda path: _record(files, path))


def _record(files: Files, journal: Path) -> None:
    folder = files.folder / "recorded"
    command = karat_run("recording", workers=0).command(files, folder)
    # Its exit code says that the planted failures failed.
    subprocess.run(command, cwd=REPOSITORY, env=environment(folder, {}), stdout=subprocess.DEVNULL, check=False)
    (recorded,) = folder.glob("*.jsonl")
    recorded.rename(journal)
