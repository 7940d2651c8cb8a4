"""`karat resume`"""

from __future__ import annotations

from typing import Any

import click

from karat.cli.options import resume_options


@click.command(short_help="Finish a run that was interrupted or killed.")
@click.argument("journal")
@click.option("--suite", metavar="SUITE", help="The suite, if it is no longer where it was.")
@click.option("-t", "--target", help="The target, if it has another name now.")
@resume_options
def command(journal: str, **given: Any) -> int:
    """Finish a run that was interrupted or killed: only what is missing is run.

    Finished cases are kept if neither the case nor the target's options changed. The result is a new, complete
    journal; the old one is left as it is.

    \b
    Examples:
      karat resume karat-results/checkout-20260101T090000Z.jsonl
      karat resume /full/disk/run.jsonl --results-dir /other/disk
    """
    from karat.cli.resuming import go_on

    return go_on(journal, frozenset(), given)
