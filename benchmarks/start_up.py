"""What it costs to start: `carob --version` and `carob run --list` beside importing click."""

from __future__ import annotations

import sys

from benchmarks.compare import Files, Plan
from benchmarks.measure import turn_about
from benchmarks.ours import CAROB, suite
from benchmarks.tables import Commands, Goal

RUNS = 20
LISTED = 20
"""Cases in the suite that is listed."""
MOST_TIMES_CLICK = 1.5


def section(plan: Plan) -> Commands:
    """Measure each command many times, turn about."""
    listed = suite(Files(plan.scratch, LISTED))
    commands = {
        'python -c "import click"': (sys.executable, "-c", "import click"),
        "carob --version": (CAROB, "--version"),
        "carob run --list SUITE": (CAROB, "run", "--list", str(listed)),
    }
    rows = turn_about(commands, plan.scratch / "start", RUNS * plan.repeat)
    (_, click), *ours = rows.items()
    goals = [Goal(f"CPU of {name}, times click's", runs.cpu_times(click), MOST_TIMES_CLICK) for name, runs in ours]
    return Commands("Start-up", rows, goals)
