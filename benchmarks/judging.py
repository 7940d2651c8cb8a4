"""`karat rescore` of recorded cases beside a bare loop over the same answers and checks."""

from __future__ import annotations

from benchmarks.compare import Plan, compare, named
from benchmarks.ours import bare_judge, karat_rescore
from benchmarks.tables import Goal, Section, growth, large, linear

LOOP, RESCORE = "bare loop", "karat rescore"
MOST_TIMES_THE_LOOP = 5.0
MOST_MB = 200.0


def section(plan: Plan) -> Section:
    """Measure, and say how the figures stand to the goals."""
    figures = compare((bare_judge(LOOP), karat_rescore(RESCORE)), plan)
    goals = [
        Goal(f"CPU of {ours.cases:,} cases, times the loop's", ours.cpu / loop.cpu, MOST_TIMES_THE_LOOP)
        for loop, ours in zip(large(named(figures, LOOP)), large(named(figures, RESCORE)), strict=True)
    ]
    goals += [*linear(figures, RESCORE), *growth(figures, RESCORE)]
    goals.append(Goal("peak memory in MB", max(figure.rss_mb for figure in named(figures, RESCORE)), MOST_MB))
    return Section("Judging recorded cases", LOOP, figures, goals)
