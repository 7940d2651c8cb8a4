"""`carob rescore` of recorded cases beside a bare loop over the same answers and checks: six a case, and twenty."""

from __future__ import annotations

from pathlib import Path

from benchmarks import orders
from benchmarks.compare import Files, Plan, Program, compare, named
from benchmarks.ours import bare_judge, carob_rescore, journal, record, recording
from benchmarks.tables import Goal, Section, growth, large, linear

LOOP, RESCORE = "bare loop", "carob rescore"
MOST_TIMES_THE_LOOP = 5.0
MOST_TIMES_THE_LOOP_OF_TWENTY = 15.0
"""Each tells its evidence, and grounding alone reads every number of the answer and of the results."""
MOST_MB = 200.0
DESK = "python:benchmarks.programs.order_desk:ask"


def section(plan: Plan) -> Section:
    """Two phrases that must be there, one that must not, two regexes, a tool."""
    programs = bare_judge(LOOP, "bare_judge.py", recording), carob_rescore(RESCORE, journal)
    return _section("Judging recorded cases", "", programs, plan, MOST_TIMES_THE_LOOP)


def twenty(plan: Plan) -> Section:
    """Calls with matchers, their order, budgets, a JSON Schema, JSONPath, words and grounded numbers."""
    programs = bare_judge(LOOP, "bare_orders.py", _orders_recording), carob_rescore(RESCORE, _orders_journal)
    return _section(
        "Judging recorded cases, twenty checks each",
        " with twenty checks",
        programs,
        plan,
        MOST_TIMES_THE_LOOP_OF_TWENTY,
    )


def _section(title: str, of: str, programs: tuple[Program, ...], plan: Plan, most: float) -> Section:
    figures = compare(programs, plan)
    goals = [
        Goal(f"CPU of {ours.cases:,} cases{of}, times the loop's", ours.runs.cpu_times(loop.runs), most)
        for loop, ours in zip(large(named(figures, LOOP)), large(named(figures, RESCORE)), strict=True)
    ]
    goals += [*linear(figures, RESCORE), *growth(figures, RESCORE)]
    goals.append(Goal("peak memory in MB", max(figure.runs.rss_mb for figure in named(figures, RESCORE)), MOST_MB))
    return Section(title, LOOP, figures, goals)


def _orders_recording(files: Files) -> Path:
    return files.file("orders.jsonl", lambda path: orders.write_recording(path, files.cases))


def _orders_journal(files: Files) -> Path:
    suite = files.file("orders.json", lambda path: orders.write_suite(path, files.cases))
    return files.file("orders-journal.jsonl", lambda path: record(suite, DESK, path))
