"""Recorded runs: `carob compare` beside a loop that decodes both, `carob rescore` with one worker and with two."""

from __future__ import annotations

import sys
from shutil import copyfile

from benchmarks.compare import Files, Plan
from benchmarks.measure import turn_about
from benchmarks.ours import CAROB, journal
from benchmarks.tables import Commands, Goal

LOOP, COMPARE = "a loop that decodes both", "carob compare"
MOST_TIMES_THE_LOOP = 3.0
MOST_OF_ONE_WORKER = 0.6
DECODE = "import sys, msgspec; [[msgspec.json.decode(line) and None for line in open(p, 'rb')] for p in sys.argv[1:]]"
DECIDED = (0, 1)
"""Exit codes of a comparison or of a rescore that came to its end."""


def section(plan: Plan) -> Commands:
    """The largest run beside a copy of itself."""
    files = Files(plan.scratch, max(plan.sizes))
    base = journal(files)
    new = files.file("copy.jsonl", lambda path: copyfile(base, path))
    commands = {
        LOOP: (sys.executable, "-c", DECODE, str(base), str(new)),
        COMPARE: (CAROB, "compare", str(base), str(new)),
    }
    rows = turn_about(commands, plan.scratch / "weigh", plan.repeat, DECIDED)
    times = rows[COMPARE].cpu_times(rows[LOOP])
    goals = [Goal("CPU of a comparison, times the loop's", times, MOST_TIMES_THE_LOOP)]
    return Commands(f"Comparing two runs of {files.cases:,} cases", rows, goals)


def workers(plan: Plan) -> Commands:
    """The wall time of judging on one core and on two."""
    files = Files(plan.scratch, max(plan.sizes))
    rescore = (CAROB, "rescore", str(journal(files)), "--results-dir", "results")
    commands = {f"carob rescore --workers {count}": (*rescore, "--workers", str(count)) for count in (1, 2)}
    rows = turn_about(commands, plan.scratch / "judge", plan.repeat, DECIDED)
    one, two = rows.values()
    times = two.wall_times(one)
    goals = [Goal("wall time of two workers that rescore, times that of one", times, MOST_OF_ONE_WORKER)]
    return Commands(f"Judging {files.cases:,} cases on two cores", rows, goals)
