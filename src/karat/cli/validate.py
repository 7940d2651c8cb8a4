"""`karat validate`"""

from __future__ import annotations

import click

from karat.errors import Exit, SuiteError


@click.command(short_help="Check suite files without running anything.")
@click.argument("suites", nargs=-1, required=True, metavar="SUITE...")
def command(suites: tuple[str, ...]) -> int:
    """Check suite files without running anything. Every problem of every file is reported at once.

    \b
    Examples:
      karat validate evals/*.json
      karat validate evals/checkout.yaml
    """
    from karat.api import load_suite

    sound = True
    for name in suites:
        try:
            suite = load_suite(name)
        except SuiteError as error:
            sound = False
            click.echo(str(error), err=True)
            continue
        for warning in suite.warnings:
            click.echo(warning, err=True)
        checks = sum(len(case.checks) for case in suite.cases)
        click.echo(f"{name}: {suite.format} {suite.version}, {len(suite.cases)} cases, {checks} checks")
    return Exit.OK if sound else Exit.USAGE
