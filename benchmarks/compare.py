"""Programs on the same work, turn about, so that what disturbs one run disturbs its neighbours too."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import Usage, complaint, measured
from benchmarks.workload import planted


class Files(NamedTuple):
    """The workload of one size in every form that a program may want. A file is there once it was asked for."""

    folder: Path
    cases: int

    def file(self, name: str, write: Callable[[Path], object]) -> Path:
        path = self.folder / f"{self.cases}-{name}"
        if not path.exists():
            write(path)
        return path


class Program(NamedTuple):
    """A program to be measured: the command that carries out a workload and leaves its results in a folder."""

    name: str
    command: Callable[[Files, Path], Sequence[str]]
    environment: Callable[[Files], Mapping[str, str]] = lambda files: {}
    tally: Callable[[Path], tuple[int, int] | None] | None = None
    """How many cases passed and failed, from the folder of results; by default from what it prints last."""


class Figure(NamedTuple):
    """A program on a workload: the least CPU and wall time and the most memory of all its runs."""

    program: str
    cases: int
    runs: tuple[Usage, ...]

    @property
    def cpu(self) -> float:
        return min(run.cpu for run in self.runs)

    @property
    def wall(self) -> float:
        return min(run.wall for run in self.runs)

    @property
    def rss_mb(self) -> float:
        return max(run.rss_mb for run in self.runs)

    @property
    def stopped(self) -> bool:
        return any(run.stopped for run in self.runs)

    @property
    def judged(self) -> bool:
        """Whether every run found exactly the planted failures."""
        failures = planted(self.cases)
        return all(run.tally == (self.cases - failures, failures) for run in self.runs)


class Plan(NamedTuple):
    """How to measure: sizes, repeats, seconds for one run, and where to write."""

    sizes: Sequence[int]
    repeat: int
    limit: float
    scratch: Path


def compare(programs: Sequence[Program], plan: Plan) -> list[Figure]:
    """Measure every program on every size; those that were stopped are not tried on larger ones."""
    figures: list[Figure] = []
    left = list(programs)
    for count in sorted(plan.sizes):
        files = Files(plan.scratch, count)
        runs: dict[str, list[Usage]] = {program.name: [] for program in left}
        _warm_up(left, plan)
        for turn in range(plan.repeat):
            for program in left:
                if not any(run.stopped for run in runs[program.name]):
                    runs[program.name].append(_once(program, files, plan, f"{turn + 1}/{plan.repeat}"))
        found = [Figure(program.name, count, tuple(runs[program.name])) for program in left]
        figures += found
        stopped = {figure.program for figure in found if figure.stopped}
        left = [program for program in left if program.name not in stopped]
    return figures


def named(figures: Sequence[Figure], program: str) -> Iterator[Figure]:
    """The figures of one program, by size."""
    return (figure for figure in figures if figure.program == program)


def _warm_up(programs: Sequence[Program], plan: Plan) -> None:
    """One small run of each, so that compiled modules are there for all; done once, with the first size."""
    done = plan.scratch / "warm"
    if not done.exists():
        for program in programs:
            _once(program, Files(plan.scratch, min(plan.sizes)), plan, "warm-up")
        done.touch()


def _once(program: Program, files: Files, plan: Plan, turn: str) -> Usage:
    folder = plan.scratch / "run"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    usage = measured(program.command(files, folder), folder, program.environment(files), plan.limit)
    if program.tally is not None:
        usage = usage._replace(tally=program.tally(folder))
    note = "" if usage.tally else f"  {complaint(folder / 'console.txt')}"
    line = f"{program.name}, {files.cases:,} cases, {turn}: {usage.cpu:.2f} s CPU, {usage.wall:.2f} s wall{note}"
    print(line, file=sys.stderr, flush=True)
    return usage
