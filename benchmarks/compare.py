"""Programs and sizes turn about, so that what disturbs one run disturbs its neighbours too."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import Runs, Usage, complaint, measured
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
    """A program on a workload."""

    program: str
    cases: int
    runs: Runs

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
    """Measure every program on every size; those that were stopped are not tried again on it, nor on larger ones."""
    runs: dict[tuple[int, str], list[Usage]] = {}
    stopped: dict[str, int] = {}
    _warm_up(programs, plan)
    for turn in range(plan.repeat):
        for count in sorted(plan.sizes):
            for program in programs:
                if count >= stopped.get(program.name, count + 1):
                    continue
                usage = _once(program, Files(plan.scratch, count), plan, f"{turn + 1}/{plan.repeat}")
                runs.setdefault((count, program.name), []).append(usage)
                if usage.stopped:
                    stopped[program.name] = count
    return [Figure(name, count, Runs(found)) for (count, name), found in runs.items()]


def named(figures: Sequence[Figure], program: str) -> Iterator[Figure]:
    """The figures of one program, by size."""
    return (figure for figure in figures if figure.program == program)


def _warm_up(programs: Sequence[Program], plan: Plan) -> None:
    """One small run of each, so that compiled modules are there for all."""
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
