"""`karat run`"""

from __future__ import annotations

from typing import Any

import click

from karat.cli.loading import loading
from karat.cli.options import comma_list, run_options


@click.command(short_help="Run suites against an agent and judge every case.")
@click.argument("suites", nargs=-1, required=True, metavar="SUITE...")
@click.option("-t", "--target", help="The agent: a spec such as python:module:function, or a name of karat.toml.")
@click.option("--cases", multiple=True, callback=comma_list, metavar="A,B", help="Run only the cases with these ids.")
@click.option(
    "--category", multiple=True, callback=comma_list, metavar="C,D", help="Run only the cases of these categories."
)
@run_options
def command(suites: tuple[str, ...], **given: Any) -> int:
    """Run suites against an agent, judge every case, and write a journal and reports.

    \b
    Targets:
      python:module:function   a function, sync or async, that takes a prompt
      langgraph:module:graph   a LangGraph graph, or a function that makes one
      browser:http://host/     a web app with a chat, in a real browser
      command:./agent --flag   a program: JSON on stdin, JSON lines on stdout
      replay:traces.jsonl      recorded traces, or a journal
      NAME                     [targets.NAME] of karat.toml

    \b
    Examples:
      karat run suite.json --target python:my_agent:answer
      karat run suite.json --target command:"./agent --json" --cases G1,G2
      karat run suite.json --target staging --workers 2 --concurrency 8 --timeout 60
      karat run suite.json --target staging --repeat 5 --shuffle 1
    """
    with loading():
        from karat.cli.running import run_suites

    return run_suites(suites, given)
