"""`carob rerun`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from carob.cli.options import LAST, comma_list, resume_options
from carob.cli.resume import go_on

if TYPE_CHECKING:
    from carob.api import StatusName

STATUSES = ("pass", "fail", "partial", "error", "skip", "xfail")


def statuses(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> list[str]:
    names = [name.lower() for name in comma_list(ctx, param, value) or []]
    unknown = [name for name in names if name not in STATUSES]
    if unknown or not names:
        raise click.BadParameter(f"use one or more of {', '.join(STATUSES)}.")
    return names


@click.command()
@click.argument("journal", required=False)
@LAST
@click.option("--status", multiple=True, default=("error,fail",), callback=statuses, metavar="S,...",
              help=f"Which cases to run again: {', '.join(STATUSES)}.")  # fmt: skip
@click.option("--suite", metavar="SUITE", help="The suite, if it is no longer where it was.")
@click.option("-t", "--target", help="The target, if its name has changed.")
@resume_options
def command(journal: str | None, status: list[StatusName], **options: Any) -> int:
    """Run the cases with one of these statuses again, and keep the results of the others.

    \b
    Examples:
      carob rerun --last
      carob rerun carob-results/checkout-20260101T090000Z.jsonl
      carob rerun carob-results/checkout-20260101T090000Z.jsonl --status error,partial
    """
    return go_on(journal, status, **options)
