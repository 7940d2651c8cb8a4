"""`karat rescore`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from karat.cli.loading import loading
from karat.cli.options import REPORT, RESULTS_DIR, allowances

if TYPE_CHECKING:
    from karat.reports.run_result import RunResult


@click.command(short_help="Judge recorded runs again, without an agent.")
@click.argument("journal")
@click.option("--suite", metavar="SUITE", help="Judge by the cases of this suite, not by those that were recorded.")
@RESULTS_DIR
@REPORT
@allowances
def command(
    journal: str, suite: str | None, results_dir: Path | None, reports: tuple[str, ...], **allowed: bool | None
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
        from karat.cli.main import complain
        from karat.reports.terminal import show_summary, wants_colour

    by = api.load_file(suite) if suite else None
    for warning in by.warnings if by else ():
        click.echo(warning, err=True)
    recorded = api.opened(journal)
    folder = results_dir or api.default_results_dir(by.file if by else recorded.header.suite)
    result = api.rescore(recorded, by, results_dir=folder, reports=reports, **allowed)
    if result.left_out:
        click.echo(f"karat: recorded but not in the suite, left out: {', '.join(result.left_out)}", err=True)
    colour = wants_colour(sys.stdout, os.environ)
    show(result, sys.stdout, colour=colour)
    show_summary(result.journal, result.artifacts, sys.stdout, colour=colour)
    for failure in result.failures:
        complain(f"karat: {failure}")
    return result.exit_code


def show(result: RunResult, out: TextIO, *, colour: bool) -> None:
    """Every case; one that passed without reading all of its record."""
    from karat.model.verdict import CaseStatus
    from karat.reports.facts import case_name
    from karat.reports.terminal import CaseLines, show_cases

    journal, folder = result.journal, str(Path(result.journal.path).parent)
    if journal.header.repeat > 1:
        show_cases(journal, out, folder=folder, colour=colour)
        return
    lines = CaseLines(out, colour=colour)
    lines.folder = folder
    for seen, record in journal.glimpses():
        if seen.verdict.status is CaseStatus.PASS:
            lines.passed(case_name(seen.case.id, seen.repeat), seen.case.category, seen.duration_ms)
        else:
            lines(record())
