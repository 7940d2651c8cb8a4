"""`karat rescore`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from karat.cli.loading import loading
from karat.cli.options import REPORT, RESULTS_DIR, allowances, loudness

if TYPE_CHECKING:
    from karat.reports.run_result import RunResult
    from karat.reports.terminal import Screen


@click.command(short_help="Judge recorded runs again, without an agent.")
@click.argument("journal")
@click.option("--suite", metavar="SUITE", help="Judge by the cases of this suite, not by those that were recorded.")
@RESULTS_DIR
@REPORT
@allowances
def command(
    journal: str,
    suite: str | None,
    results_dir: Path | None,
    reports: tuple[str, ...],
    quiet: bool,
    verbose: int,
    **allowed: bool | None,
) -> int:
    """Judge a recorded run again, without an agent, and write a new journal and reports.

    With --suite, recorded answers meet today's expectations: a case that was never recorded is an ERROR.

    \b
    Examples:
      karat rescore karat-results/checkout-20260101T090000Z.jsonl
      karat rescore karat-results/checkout-20260101T090000Z.jsonl --suite checkout.json
    """
    import os
    import sys

    with loading():
        from karat import api
        from karat.cli.ending import show_ending
        from karat.reports.terminal import Screen

    told = loudness(quiet, verbose)
    by = api.load_file(suite) if suite else None
    for warning in by.warnings if by else ():
        click.echo(warning, err=True)
    recorded = api.opened(journal)
    folder = results_dir or api.default_results_dir(by.file if by else recorded.header.suite)
    result = api.rescore(recorded, by, results_dir=folder, reports=reports, **allowed)
    if result.left_out:
        click.echo(f"karat: recorded but not in the suite, left out: {', '.join(result.left_out)}", err=True)
    screen = Screen.of(sys.stdout, os.environ, told)
    show_cases(result, screen)
    show_ending(result, screen)
    return result.exit_code


def show_cases(result: RunResult, screen: Screen) -> None:
    """A line for every case, unless those that passed are folded away; repeats come together at the end."""
    from karat.model.verdict import CaseStatus
    from karat.reports.facts import case_name
    from karat.reports.terminal import CaseLines

    if screen.folds or result.journal.header.repeat > 1:
        return
    lines = CaseLines(screen)
    for seen, record in result.journal.glimpses():
        if seen.verdict.status is CaseStatus.PASS:
            lines.one(seen.verdict.status, case_name(seen.case.id, seen.repeat), seen.case.category, seen.duration_ms)
        else:
            lines(record())
