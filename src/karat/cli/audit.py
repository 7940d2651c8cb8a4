"""`karat audit`"""

from __future__ import annotations

from pathlib import Path

import click

from karat.cli.options import PATH


@click.command(short_help="Measure how many wrong answers a suite would catch. Runs no agent.")
@click.argument("journal")
@click.option(
    "--min-kill",
    type=click.FloatRange(0, 1),
    default=0.9,
    metavar="R",
    help="Exit with 1 if the suite catches a smaller share of wrong traces.",
)
@click.option("--seed", type=int, default=0, help="Seed for random choices.")
@click.option("--suite", metavar="SUITE", help="Refuse the journal unless it belongs to this suite, unchanged.")
@click.option("--results-dir", type=PATH, metavar="D", help="Folder for the reports (default: next to the journal).")
def command(journal: str, min_kill: float, seed: int, suite: str | None, results_dir: Path | None) -> int:
    """Measure how much a suite catches: make recorded traces wrong, one change at a time, and judge them again.

    Wrong traces that still pass are survivors; each is shown with the field that would catch it. Agents that do
    nothing, repeat the prompt or answer another case must not pass. Changes that leave a trace right must still pass.

    \b
    Examples:
      karat audit karat-results/checkout-20260101T090000Z.jsonl
      karat audit karat-results/checkout-20260101T090000Z.jsonl --min-kill 0.95 --seed 7
    """
    from karat import api
    from karat.analysis.audit.terminal import show_audit

    auditor = api.auditor(journal, api.load_file(suite, api.find_project()) if suite else None, seed=seed)
    return show_audit(auditor, (results_dir or Path(journal).parent) / Path(journal).stem, min_kill)
