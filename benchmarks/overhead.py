"""`carob run` against an agent that answers at once, beside a bare loop and the peers that are installed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.compare import Figure, Plan, compare, named
from benchmarks.ours import bare_run, carob_run
from benchmarks.peers import PYDANTIC_EVALS, peers
from benchmarks.tables import Goal, Section, growth, large, linear

LOOP, RUN = "bare loop", "carob run"
MOST_TIMES_THE_LOOP = 8.0
MOST_OF_PYDANTIC_EVALS = 1 / 3
BURNING = 400
"""Cases for the agent that burns 5 ms of CPU in each."""


def section(plan: Plan) -> Section:
    """Measure, and say how the figures stand to the goals."""
    skipped: list[str] = []
    programs = (
        bare_run(LOOP),
        carob_run(RUN),
        carob_run("carob run --workers 0", workers=0),
        carob_run("carob run --workers 2", workers=2),
        carob_run("carob run, blocking agent", agent="ask_blocking"),
        *peers(skipped),
    )
    figures = compare(programs, plan)
    return Section("Overhead of a run", LOOP, figures, list(_goals(figures)), skipped)


def _goals(figures: Sequence[Figure]) -> Iterator[Goal]:
    ours = large(named(figures, RUN))
    for loop, mine in zip(large(named(figures, LOOP)), ours, strict=True):
        times = mine.runs.cpu_times(loop.runs)
        yield Goal(f"CPU of {mine.cases:,} cases, times the loop's", times, MOST_TIMES_THE_LOOP)
    peers_by_size = {figure.cases: figure for figure in named(figures, PYDANTIC_EVALS) if not figure.stopped}
    for mine in ours:
        if peer := peers_by_size.get(mine.cases):
            what = f"CPU of {mine.cases:,} cases, times that of {PYDANTIC_EVALS}"
            yield Goal(what, mine.runs.cpu_times(peer.runs), MOST_OF_PYDANTIC_EVALS)
    yield from linear(figures, RUN)
    yield from growth(figures, RUN)


def burning(plan: Plan) -> Section:
    """One worker and two on an agent that burns CPU."""
    one, two = (carob_run(f"carob run --workers {count}", workers=count, agent="ask_burning") for count in (1, 2))
    figures = compare((one, two), plan._replace(sizes=[min(BURNING, max(plan.sizes))]))
    wall = figures[1].runs.wall_times(figures[0].runs)
    goals = [Goal("wall time of two workers, times that of one", wall, 1.0)]
    return Section("An agent that burns 5 ms of CPU per case", one.name, figures, goals)
