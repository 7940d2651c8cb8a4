"""`python -m benchmarks.pytest_plugin`: what the pytest plugin costs where it is not used, and where it is.

A project without suites beside the same project without the plugin; a suite beside as many parametrized tests; the run
of a suite in pytest beside `carob run` and as many empty tests. `--cases` says how many, 10,000 by default.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.measure import Runs, turn_about
from benchmarks.ours import CAROB
from benchmarks.tables import Commands, Goal, goals_table

PLAIN = 2_000
PER_FILE = 50
PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q")
# Other plugins are not loaded (see `environment` of benchmarks.measure), so that ours is asked for by name.
WITH = ("-p", "carob_pytest")
MOST_PLAIN, MOST_COLLECTING, MOST_RUNNING = 1.1, 3.0, 1.25


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args(arguments)
    scratch = Path(tempfile.mkdtemp(prefix="carob-bench-"))
    try:
        sections = [section(scratch, given.cases, given.repeat) for section in (unused, collecting, running)]
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    for section in sections:
        print(section.markdown(), flush=True)
    print(goals_table([goal for section in sections for goal in section.goals]))
    return 0


def unused(scratch: Path, cases: int, repeat: int) -> Commands:
    """A project of plain tests: start and collect it without the plugin and with it."""
    folder = scratch / "plain"
    folder.mkdir()
    for number in range(PLAIN // PER_FILE):
        tests = "".join(f"def test_{one}(): pass\n" for one in range(PER_FILE))
        (folder / f"test_{number}.py").write_text(tests)
    commands = {
        "import pytest": (sys.executable, "-c", "import pytest"),
        "import pytest, carob_pytest": (sys.executable, "-c", "import pytest, carob_pytest"),
        f"collect {PLAIN:,} tests without the plugin": (*PYTEST, "--collect-only", str(folder)),
        f"collect {PLAIN:,} tests with it": (*PYTEST, *WITH, "--collect-only", str(folder)),
    }
    rows = _measured(commands, scratch, repeat)
    bare, ours, without, with_it = rows.values()
    goals = [
        Goal("CPU of importing the entry, times importing pytest alone", ours.cpu_times(bare), MOST_PLAIN),
        Goal("CPU of collecting plain tests with the plugin, times without", with_it.cpu_times(without), MOST_PLAIN),
    ]
    return Commands("Plugin in a project without suites", rows, goals)


def collecting(scratch: Path, cases: int, repeat: int) -> Commands:
    """A suite beside as many parametrized tests."""
    commands = {
        f"collect {cases:,} parametrized tests": (*PYTEST, "--collect-only", str(_parametrized(scratch, cases))),
        f"collect {cases:,} cases, JSON": (*PYTEST, *WITH, "--collect-only", str(_suite(scratch, cases, "json"))),
        f"collect {cases:,} cases, YAML": (*PYTEST, *WITH, "--collect-only", str(_suite(scratch, cases, "yaml"))),
    }
    rows = _measured(commands, scratch, repeat)
    tests, *suites = rows.items()
    goals = [
        Goal(f"CPU of {name}, times that of tests", runs.cpu_times(tests[1]), MOST_COLLECTING) for name, runs in suites
    ]
    return Commands("Collecting", rows, goals)


def running(scratch: Path, cases: int, repeat: int) -> Commands:
    """A suite in pytest beside `carob run` and as many empty tests."""
    suite, target = str(_suite(scratch, cases, "json")), "python:benchmarks.programs.echo:reply"
    ours_with = ("--carob-target", target, "--carob-record", "results")
    commands = {
        f"carob run of {cases:,} cases": (CAROB, "run", suite, "--target", target, "--results-dir", "results", "-q"),
        f"run {cases:,} empty tests": (*PYTEST, str(_parametrized(scratch, cases))),
        f"run {cases:,} cases in pytest": (*PYTEST, *WITH, suite, *ours_with),
    }
    rows = _measured(commands, scratch, repeat)
    run, tests, ours = rows.values()
    walls = min(one.wall / (other.wall + third.wall) for one, other, third in zip(ours, run, tests, strict=True))
    goals = [
        Goal("CPU of cases in pytest, times carob run and empty tests", ours.cpu_times(run, tests), MOST_RUNNING),
        Goal("wall time of cases in pytest, times both (least of the turns)", walls, MOST_RUNNING),
    ]
    return Commands("Running", rows, goals)


def _measured(commands: Mapping[str, Sequence[str]], scratch: Path, repeat: int) -> dict[str, Runs]:
    return turn_about(commands, scratch / "run", repeat)


def _parametrized(scratch: Path, cases: int) -> Path:
    file = scratch / "test_many.py"
    text = "import pytest\n@pytest.mark.parametrize('number', range(%d))\ndef test_it(number): pass\n"
    file.write_text(text % cases)
    return file


def _suite(scratch: Path, cases: int, kind: str) -> Path:
    """Cases that the echo passes, as one line each: JSON is YAML too."""
    file = scratch / f"many.carob.{kind}"
    expected = {"must_say_any": ["said"], "must_not_say": ["sorry"]}
    entries = [{"id": f"case-{n}", "prompt": f"say {n}", "tags": ["all"], "expected": expected} for n in range(cases)]
    if kind == "json":
        file.write_text(json.dumps({"carob": 1, "cases": entries}, indent=1))
    else:
        file.write_text("carob: 1\ncases:\n" + "".join(f"  - {json.dumps(entry)}\n" for entry in entries))
    return file


if __name__ == "__main__":
    sys.exit(main())
