"""`carob run` against a service on loopback, beside a bare loop of httpx2 over the same server with the same checks."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.compare import Files, Plan, Program, compare, named
from benchmarks.measure import REPOSITORY
from benchmarks.ours import CAROB, PROGRAMS, cases, suite
from benchmarks.tables import Goal, Section, large

LOOP, RUN = "bare httpx2 loop", "carob run over HTTP"
MOST_TIMES_THE_LOOP = 2.0
TABLE = """[targets.depot]
use = "{url}"
body = {{ message = "{{prompt}}" }}
answer = "$.text"
tool_calls = {{ at = "$.tool_calls[*]", name = "$.name", arguments = "$.arguments", result = "$.result" }}
"""


def section(plan: Plan) -> Section:
    """Measure, and say how the figures stand to the goal."""
    with _served() as url:
        figures = compare((_loop(url), _run(url)), plan)
    pairs = zip(large(named(figures, LOOP)), large(named(figures, RUN)), strict=True)
    goals = [
        Goal(
            f"CPU of {run.cases:,} cases over HTTP, times the loop's",
            run.runs.cpu_times(loop.runs),
            MOST_TIMES_THE_LOOP,
        )
        for loop, run in pairs
    ]
    return Section("Cases over loopback HTTP", LOOP, figures, goals)


@contextmanager
def _served() -> Iterator[str]:
    """The address of the server, which is no part of what is measured."""
    command = [sys.executable, "-m", "benchmarks.programs.depot_server"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=REPOSITORY, stdin=pipe, stdout=pipe, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}/chat"
        server.stdin.close()


def _loop(url: str) -> Program:
    def command(files: Files, results: Path) -> list[str]:
        return [sys.executable, str(PROGRAMS / "bare_http.py"), url, str(cases(files)), str(results / "results.jsonl")]

    return Program(LOOP, command)


def _run(url: str) -> Program:
    def command(files: Files, results: Path) -> list[str]:
        results.mkdir(parents=True, exist_ok=True)
        (results / "carob.toml").write_text(TABLE.format(url=url), encoding="utf-8")
        return [CAROB, "run", str(suite(files)), "--target", "depot", "--results-dir", str(results)]

    return Program(RUN, command)
