"""`carob lint`"""

from __future__ import annotations

from pathlib import Path

import click

from carob.cli.options import comma_list
from carob.errors import ExitCode, SuiteError, UsageError


@click.command()
@click.argument("suites", nargs=-1, required=True, metavar="SUITE...")
@click.option(
    "-t", "--target", help="Target whose ui_vocabulary and tools to use (default: the vocabularies of all targets)."
)
@click.option(
    "--ignore", multiple=True, callback=comma_list, metavar="SLUG,...", help="Turn off these kinds of smells."
)
@click.option("--strict", is_flag=True, help="Count a smell as a failure (exit 1).")
def command(suites: tuple[str, ...], target: str | None, ignore: list[str] | None, strict: bool) -> int:
    """Find smells: expectations that are valid, but probably prove less than they seem to.

    Each is shown with line, column and a slug; `carob help lint` explains every slug. Errors are reported as well.

    \b
    Examples:
      carob lint evals/*.json
      carob lint evals/checkout.json --target staging --strict
      carob lint evals/checkout.json --ignore duplicate-prompt,newer-field
    """
    from carob.cli.main import print_error
    from carob.features.lint import library
    from carob.text.wording import pluralize, visible

    look = library.linter(target, ignore=ignore or ())
    smells, readable = 0, True
    for file in suites:
        try:
            report = look(Path(file))
        except (SuiteError, UsageError) as error:
            readable = False
            print_error(str(error) if isinstance(error, SuiteError) else f"carob: {error}")
            continue
        smells += len(report.smells)
        for problem in report.smells:
            click.echo(visible(str(problem)))
        for problem in report.suggestions:
            click.echo(f"suggestion: {visible(str(problem))}")
        smell_count = pluralize(len(report.smells), "smell") if report.smells else "no smell"
        click.echo(f"{visible(file)}: {pluralize(len(report.suite.cases), 'case')}, {smell_count}")
    if smells:
        click.echo("`carob help lint` explains each slug. Turn one off with --ignore SLUG.", err=True)
    if not readable:
        return ExitCode.USAGE
    return ExitCode.FAILED if smells and strict else ExitCode.OK
