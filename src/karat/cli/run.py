"""`karat run`"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from karat.cli.options import most_failures, read_verbosity, run_options, selection
from karat.errors import ExitCode
from karat.system.gc_pause import gc_frozen

if TYPE_CHECKING:
    from karat.api import Config
    from karat.model.suite import Suite
    from karat.terminal.screen import Verbosity


@click.command(short_help="Run suites against an agent and judge every case.")
@click.argument("suites", nargs=-1, required=True, metavar="SUITE...")
@click.option(
    "-t", "--target", help="The agent: a spec such as python:module:function, or the name of a target in karat.toml."
)
@selection
@run_options
def command(
    suites: tuple[str, ...],
    cases: list[str] | None,
    categories: list[str] | None,
    tags: list[str] | None,
    keyword: str | None,
    fail_fast: bool,
    max_failures: int | None,
    results_dir: Path | None,
    reports: tuple[str, ...],
    quiet: bool,
    verbose: int,
    **how: object,
) -> int:
    """Run suites against an agent, judge every case, and write a journal and reports.

    \b
    Targets:
      python:module:function    a function, sync or async, that takes a prompt
      langgraph:module:graph    a LangGraph graph, or a function that makes one
      http://host/chat          a service that answers JSON or a stream; https:// too
      openai:http://host/v1     a service that speaks OpenAI's protocol
      ag-ui:http://host/agent   an AG-UI agent
      ai-sdk:http://host/chat   a Vercel AI SDK route
      a2a:http://host           an A2A agent
      langgraph-server:http://host   a LangGraph Server
      browser:http://host/      a web app with a chat, in a real browser
      command:./agent --flag    a program: JSON on stdin, JSON lines on stdout
      replay:traces.jsonl       recorded traces, or a journal
      NAME                      [targets.NAME] of karat.toml

    \b
    Examples:
      karat run suite.json --target python:my_agent:answer
      karat run suite.json --target command:"./agent --json" --cases 'G*'
      karat run suite.json --target staging -k 'G1 or (G2 and not slow)'
      karat run suite.json --target staging --workers 2 --concurrency 8 --timeout 60
      karat run suite.json --target staging --repeat 5 --shuffle 1
      karat run suite.json --target staging --repeat auto --min-pass-rate 0.9
    """
    most = most_failures(fail_fast, max_failures)
    with gc_frozen():
        from karat import api

        project = api.find_project()
        loaded = [api.load_file(suite, project) for suite in suites]
        chosen = api.select_each(loaded, api.Selection(cases, categories, tags, keyword))
    if len(chosen) > 1:
        api.refuse_one_file(reports, project)
    how |= {"categories": categories, "tags": tags, "keyword": keyword, "reports": reports}
    verbosity = read_verbosity(quiet, verbose)
    return _run_all(chosen, api.read_config(project), most, results_dir, verbosity, selected=cases is not None, how=how)


EXIT_PRIORITY = (
    ExitCode.INTERRUPTED, ExitCode.INTERNAL, ExitCode.USAGE, ExitCode.FAILED, ExitCode.NOTHING_SELECTED, ExitCode.OK,
)  # fmt: skip


def _run_all(
    suites: Sequence[Suite],
    config: Config,
    most: int | None,
    results_dir: Path | None,
    verbosity: Verbosity,
    *,
    selected: bool,
    how: dict[str, Any],
) -> int:
    """Run one suite after the other, until one says that nothing more is to be run."""
    from karat import api
    from karat.terminal.live_run import run_with_progress

    codes: list[int] = []
    failures = 0
    for number, suite in enumerate(suites, 1):
        options: dict[str, Any] = {
            **how,
            "cases": [case.id for case in suite.cases] if selected else None,
            "max_failures": None if most is None else most - failures,
            "results_dir": results_dir or api.default_results_dir(suite.file, config),
        }
        result, stopped = run_with_progress(suite, partial(api.arun_by, config, suite, **options), verbosity)
        codes.append(result.exit_code)
        failures += result.summary.failed + result.summary.error
        enough = most is not None and failures >= most
        why = f"stopped after {failures} failed case{'s' * (failures > 1)}" if enough else result.summary.incomplete
        if number == len(suites):
            break
        if stopped and not why:
            why = "interrupted"
            codes.append(ExitCode.INTERRUPTED)
        if why:
            click.echo(f"karat: {why}; not run: {', '.join(suite.file for suite in suites[number:])}", err=True)
            break
    return worst_exit_code(codes)


def worst_exit_code(codes: Sequence[int]) -> int:
    """One exit code for several suites: an interruption before what broke before a failure before a success."""
    return min(codes, key=EXIT_PRIORITY.index)
