"""`carob coverage`"""

from __future__ import annotations

from pathlib import Path

import click

from carob.cli.options import PATH, Share, format_options
from carob.errors import UsageError


@click.command()
@click.argument("suite")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option(
    "--min-asserted",
    type=Share(),
    metavar="R",
    help="Gate: exit with 1 if cases require calls of a smaller share of the tools.",
)
@click.option(
    "--against",
    multiple=True,
    metavar="RUN",
    help="Also list the kinds of conversations in this recording or export that no case resembles. Repeatable.",
)
@click.option(
    "--offered",
    multiple=True,
    metavar="TOOLS",
    help="What the agent is offered: an answer to tools/list, definitions, an OpenAPI document, or tools.py:TOOLS."
    " Repeatable.",
)
@click.option("--unlike", type=PATH, metavar="FILE", help="Write some of each of these there, for `carob draft FILE`.")
@format_options
def command(
    suite: str,
    runs: tuple[str, ...],
    min_asserted: float | None,
    against: tuple[str, ...],
    offered: tuple[str, ...],
    unlike: Path | None,
    form: str,
    output: Path | None,
) -> int:
    """Show what a suite and its runs reach of what is declared: tools, arguments, effects, rules, faults, keys.

    RUN is a journal, a recording that `replay:` reads, or a folder of these. First come the tools that were called
    and that no case asserts, and those that were offered and never called, each with the line to add. What was not
    observed is not covered.

    \b
    Examples:
      carob coverage evals/checkout.yaml carob-results/
      carob coverage evals/checkout.yaml carob-results/ --min-asserted 0.8
      carob coverage evals/checkout.yaml carob-results/ --format html --output coverage.html
      carob coverage evals/checkout.yaml carob-results/ --offered openapi.yaml
      carob coverage evals/checkout.yaml --against production.jsonl --unlike unlike.jsonl
    """
    from carob.features.coverage import library
    from carob.features.coverage.terminal import show_coverage

    if unlike is not None and not against:
        fix = "Name recorded conversations with --against."
        raise UsageError("--unlike: there is nothing to compare the suite with.", fix=fix, slug="bad-option")
    coverage = library.coverage(suite, runs, against=against, offered=offered, unlike=unlike)
    show_coverage(coverage, form, output, min_asserted)
    return coverage.exit_code(min_asserted)
