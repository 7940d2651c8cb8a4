"""What it costs to start: `karat --version` and `karat list` beside importing click."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.compare import Files, Plan
from benchmarks.measure import measured
from benchmarks.ours import KARAT, suite
from benchmarks.tables import Goal, table

RUNS = 20
LISTED = 20
"""Cases in the suite that is listed."""
MOST_TIMES_CLICK = 1.5


class StartUp(NamedTuple):
    """Commands with the least CPU seconds that each took, and the goals."""

    rows: list[tuple[str, float]]
    goals: list[Goal]

    @property
    def judged(self) -> bool:
        return True

    def markdown(self) -> str:
        click = self.rows[0][1]
        rows = [(name, f"{cpu * 1000:.1f}", f"{cpu / click:.2f}") for name, cpu in self.rows]
        return table("Start-up", ("command", "CPU ms", "times click"), rows)

    def as_json(self) -> list[dict[str, object]]:
        return [{"command": name, "cpu": cpu} for name, cpu in self.rows]


def section(plan: Plan) -> StartUp:
    """Measure each command many times, turn about."""
    listed = suite(Files(plan.scratch, LISTED))
    commands: dict[str, Sequence[str]] = {
        'python -c "import click"': (sys.executable, "-c", "import click"),
        "karat --version": (KARAT, "--version"),
        "karat list SUITE": (KARAT, "list", str(listed)),
    }
    best = dict.fromkeys(commands, float("inf"))
    for _ in range(RUNS * plan.repeat + 1):
        for name, command in commands.items():
            usage = measured(command, plan.scratch / "start")
            if usage.exit_code:
                raise RuntimeError(f"{name} ended with exit code {usage.exit_code}")
            best[name] = min(best[name], usage.cpu)
    rows = list(best.items())
    goals = [Goal(f"CPU of {name}, times click's", cpu / rows[0][1], MOST_TIMES_CLICK) for name, cpu in rows[1:]]
    return StartUp(rows, goals)
