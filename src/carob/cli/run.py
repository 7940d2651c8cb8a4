"""`carob run`"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from glob import escape, glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from carob.cli.options import most_failures, read_verbosity, run_options, selection
from carob.errors import ExitCode
from carob.system.gc_pause import gc_frozen

if TYPE_CHECKING:
    from carob.api import Config, PlannedColumn, RunResult
    from carob.model.suite import Suite
    from carob.terminal.screen import Verbosity


@click.command()
@click.argument("suites", nargs=-1, metavar="[SUITE]...")
@click.option(
    "-t",
    "--target",
    "target",
    multiple=True,
    help="The agent: a spec such as python:module:function, or the name of a target in carob.toml. "
    "Several are run one after the other, and shown side by side.",
)
@click.option(
    "--matrix",
    multiple=True,
    metavar="KEY=A,B",
    help="Run once with each value of an environment variable (in capitals) or of an option of the target, and show "
    "the runs side by side.",
)
@click.option(
    "--list",
    "only_list",
    is_flag=True,
    help="Run nothing; list the selected cases: id, category and prompt, separated by tabs.",
)
@click.option("--judge", is_flag=True, help="Then ask the judge of carob.toml about the criteria, and judge again.")
@click.option("--labels-from", metavar="REV", default="", help="Let only the labels of this revision of git decide.")
@selection
@run_options
def command(
    suites: tuple[str, ...],
    target: tuple[str, ...],
    matrix: tuple[str, ...],
    only_list: bool,
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
    labels_from: str,
    **how: object,
) -> int:
    """Run suites against an agent, judge every case, and write a journal and reports.

    Without SUITE, those that `suites` of carob.toml names are run, or the only *.carob.yaml here.

    \b
    Targets:
      python:module:function    a function, sync or async, that takes a prompt
      langgraph:module:graph    a LangGraph graph, or a function that makes one
      openai-agents:; pydantic-ai:; adk:; langchain:; crewai:; llama-index:; haystack:; agno:;
      dspy:; strands:; smolagents:; autogen:; agent-framework:; chatkit:   module:agent, by framework
      http://host/chat          a service that answers JSON or a stream; https:// too
      openai:http://host/v1     a service that speaks OpenAI's protocol
      ag-ui:http://host/agent; a2a:http://host   an AG-UI or A2A agent
      ai-sdk:http://host/chat   a Vercel AI SDK route
      langgraph-server:http://host   a LangGraph Server
      browser:http://host/      a web app with a chat, in a real browser
      command:./agent --flag    a program: JSON on stdin, JSON lines on stdout
      claude-code:; codex:; gemini:; opencode:; mini-swe-agent:   coding agents in a workspace
      replay:traces.jsonl       recorded traces, or a journal
      NAME                      [targets.NAME] of carob.toml

    \b
    Examples:
      carob run suite.json --target python:my_agent:answer
      carob run suite.json --target command:"./agent --json" --cases 'G*'
      carob run suite.json --target staging -k 'G1 or (G2 and not slow)'
      carob run suite.json --target staging --workers 2 --concurrency 8 --timeout 60
      carob run suite.json --target staging --repeat auto --min-pass-rate 0.9
      carob run suite.json --target staging --target canary --repeat 5
      carob run suite.json --target staging --matrix MODEL=small,large --repeat 3
    """
    suites = suites or _suites_of_project()
    if only_list:
        return _list_cases(suites, cases=cases, categories=categories, tags=tags, keyword=keyword)
    selection, targets = (cases, categories, tags, keyword), (target, matrix)
    chosen, columns, config = _prepare(suites, selection, targets, labels_from, reports, bool(how["judge"]))
    how |= {"categories": categories, "tags": tags, "keyword": keyword, "reports": reports}
    how["cases_named"], most = cases is not None, most_failures(fail_fast, max_failures)
    return _run_all(chosen, columns, config, most, results_dir, read_verbosity(quiet, verbose), how)


def _suites_of_project() -> tuple[str, ...]:
    """The suites that carob.toml names, or the one that is there."""
    from carob import api
    from carob.errors import UsageError

    config = api.find_config()
    folder = escape(str(config.file.parent)) if config.file else ""
    named = [path for name in config.suites for path in sorted(glob(os.path.join(folder, name), recursive=True))]
    found = named or sorted(path for end in ("yaml", "yml", "json") for path in glob(f"*.carob.{end}"))
    if named or len(found) == 1:
        return tuple(os.path.relpath(path) for path in found)
    fix = 'Write it as `carob run SUITE...`, or name them in carob.toml: suites = ["evals/*.yaml"].'
    there = f"there is more than one here: {', '.join(found)}" if found else "there is none here"
    what = f"`suites` of carob.toml matches no file: {', '.join(config.suites)}" if config.suites else there
    raise UsageError(f"no suite is given, and {what}.", fix=fix, slug="no-suite")


def _prepare(
    suites: Sequence[str],
    selection: tuple[Any, ...],
    targets: tuple[Sequence[str], Sequence[str]],
    labels_from: str,
    reports: Sequence[str],
    asks_judge: bool,
) -> tuple[list[Suite], Sequence[PlannedColumn], Config]:
    """What is to be run where. Raises the error that would end it, before the first case is paid for."""
    with gc_frozen():
        from msgspec import structs  # `run --list` starts without it

        from carob import api
        from carob.plugins.features import find_service

        project = structs.replace(api.find_project(), labels_from=labels_from)
        chosen = api.select_each([api.load_file(suite, project) for suite in suites], api.Selection(*selection))
        config = api.read_config(project)
        columns = api.plan_columns(*targets, config)
        if len(chosen) * len(columns) > 1:
            api.refuse_one_file(reports, project)
        if asks_judge:
            find_service("check_judge")(project)
    return chosen, columns, config


def _list_cases(suites: tuple[str, ...], **selected: Any) -> int:
    from carob.cli.list import show_cases

    return show_cases(suites, **selected)


INTERRUPTED = "interrupted"
EXIT_PRIORITY = (
    ExitCode.INTERRUPTED, ExitCode.INTERNAL, ExitCode.USAGE, ExitCode.FAILED, ExitCode.NOTHING_SELECTED, ExitCode.OK,
)  # fmt: skip


def _run_all(
    suites: Sequence[Suite],
    columns: Sequence[PlannedColumn],
    config: Config,
    most: int | None,
    results_dir: Path | None,
    verbosity: Verbosity,
    how: dict[str, Any],
) -> int:
    """Run one suite after the other in every column, until one says that nothing more is to be run."""
    from carob import api
    from carob.terminal.live_run import run_with_progress

    codes: list[int] = []
    selected, judge = how.pop("cases_named"), how.pop("judge")
    planned = [(suite, column) for suite in suites for column in columns]
    failures = [0] * len(columns)
    results: list[RunResult] = []
    for number, (suite, column) in enumerate(planned, 1):
        place = columns.index(column)
        folder = results_dir or api.default_results_dir(suite.file, config)
        options: dict[str, Any] = {
            **how,
            "cases": [case.id for case in suite.cases] if selected else None,
            "max_failures": None if most is None else most - failures[place],
            "results_dir": folder,
            **({"target": column.target} if column.target else {}),
            **({"matrix": column.matrix} if column.matrix else {}),
        }
        if len(columns) > 1 and verbosity > verbosity.QUIET:
            click.echo(f"{'' if number == 1 else chr(10)}{column.label} ({place + 1} of {len(columns)})")
        shown = verbosity if len(columns) == 1 or verbosity else type(verbosity).QUIET
        result, stopped = run_with_progress(suite, partial(api.arun_by, config, suite, **options), shown)
        if judge and not stopped:
            result = _judge_again(result, shown, folder)
        results.append(result)
        codes.append(result.exit_code)
        failures[place] += result.summary.failed + result.summary.error
        why = _why_stop(result, stopped, most, failures[place], is_only=len(columns) == 1)
        if why == INTERRUPTED:
            codes.append(ExitCode.INTERRUPTED)
        if len(columns) > 1 and (why or place + 1 == len(columns)):
            _write_matrix(results, folder)
            results = []
        if why and number < len(planned):
            left = [" ".join((suite.file, column.label) if len(columns) > 1 else (suite.file,))
                    for suite, column in planned[number:]]  # fmt: skip
            click.echo(f"carob: {why}; not run: {', '.join(left)}", err=True)
            break
    return worst_exit_code(codes)


def _judge_again(result: RunResult, verbosity: Verbosity, folder: Path) -> RunResult:
    """Ask the judge about a run that has just ended, and judge it again."""
    import os
    import sys

    from carob import api
    from carob.terminal.ending import show_ending
    from carob.terminal.screen import Screen

    result = api.rescore(result, results_dir=folder, judge=show_asking)
    show_ending(result, Screen.of(sys.stdout, os.environ, verbosity))
    return result


def show_asking(words: str) -> None:
    """What there is to say of asking a judge."""
    from carob.text.wording import visible

    click.echo(f"carob: {visible(words)}", err=True)


def _why_stop(result: RunResult, stopped: bool, most: int | None, failures: int, *, is_only: bool) -> str:
    """Why nothing more is to be run. A column that failed often enough ends alone: the others are still of use."""
    if stopped:
        return result.summary.incomplete or INTERRUPTED
    if not is_only:
        return ""
    enough = most is not None and failures >= most
    return f"stopped after {failures} failed case{'s' * (failures > 1)}" if enough else result.summary.incomplete


def _write_matrix(results: Sequence[RunResult], folder: Path) -> None:
    """The runs of one suite side by side: in the terminal, and as a page next to their journals."""
    if len(results) < 2:
        return
    from carob.plugins.features import find_service

    find_service("side_by_side")(results, folder)


def worst_exit_code(codes: Sequence[int]) -> int:
    """One exit code for several suites: an interruption before what broke before a failure before a success."""
    return min(codes, key=EXIT_PRIORITY.index)
