"""`karat rescore`"""

from __future__ import annotations

from pathlib import Path

import click

from karat.cli.loading import loading
from karat.cli.options import REPORT, RESULTS_DIR, STRICT


@click.command(short_help="Judge recorded runs again, without an agent.")
@click.argument("journal")
@click.option("--suite", metavar="SUITE", help="Judge by the cases of this suite, not by those that were recorded.")
@RESULTS_DIR
@REPORT
@STRICT
def command(journal: str, suite: str | None, results_dir: Path | None, reports: tuple[str, ...], strict: bool) -> int:
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
        from karat.cli.rescoring import rescore_journal

    return rescore_journal(journal, suite, results_dir, reports, sys.stdout, os.environ).exit_code(strict=strict)
