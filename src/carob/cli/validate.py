"""`carob lint --errors-only`"""

from __future__ import annotations

from collections import Counter

import click

from carob.errors import CarobError, ExitCode, SuiteError


@click.command()
@click.argument("suites", nargs=-1, required=True, metavar="SUITE...")
def command(suites: tuple[str, ...]) -> int:
    """Check suite files without running anything. Every problem of every file is reported at once.

    \b
    Examples:
      carob lint --errors-only evals/*.json
      carob lint --errors-only evals/checkout.yaml
    """
    from carob.api import find_project, load_file
    from carob.cli.main import print_error
    from carob.model.suite import MEETS, UNJUDGED
    from carob.text.wording import pluralize, visible

    sound, project = True, find_project()
    for name in suites:
        try:
            suite = load_file(name, project)
        except CarobError as error:
            sound = False
            print_error(str(error) if isinstance(error, SuiteError) else f"carob: {error}")
            continue
        for warning in suite.warnings:
            print_error(warning)
        names = Counter(spec.name for case in suite.cases for _, spec in case.all_checks)
        unjudged, criteria = names.pop(UNJUDGED, 0), names.pop(MEETS, 0)
        size = f"{pluralize(len(suite.cases), 'case')}, {pluralize(names.total(), 'check')}"
        size += f", {criteria} {'criterion' if criteria == 1 else 'criteria'} for people" if criteria else ""
        size += f", {pluralize(unjudged, 'expectation')} not judged" if unjudged else ""
        size += f", {pluralize(len(suite.rules), 'rule')}" if suite.rules else ""
        click.echo(f"{visible(name)}: {visible(f'{suite.format} {suite.version}'.rstrip())}, {size}")
    return ExitCode.OK if sound else ExitCode.USAGE
