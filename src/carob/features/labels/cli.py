"""`carob label`"""

from __future__ import annotations

from typing import Any

import click

from carob.errors import ExitCode


@click.command()
@click.argument("journals", nargs=-1, metavar="[JOURNAL...]")
@click.option("--by", metavar="NAME", help="Your name in the labels (default: your login name).")
@click.option(
    "--queue",
    type=click.Choice(("random", "doubtful")),
    default="random",
    help="Which answers: drawn at random, or those where the judge doubts or differs, which test no judge.",
)
@click.option("--status", is_flag=True, help="List criteria, labels, agreement and what a judge may decide.")
@click.option(
    "--reviews", is_flag=True, help="Print the reviews of checks as CSV; `carob view --label NAME` takes them."
)
@click.option("--yes", is_flag=True, help="Keep the evidence next to the labels without asking.")
def command(journals: tuple[str, ...], by: str | None, queue: Any, status: bool, reviews: bool, yes: bool) -> int:
    """Decide criteria that only a reader can judge: one key for each answer.

    JOURNAL is a recorded run; by default, the last one here. Labels are appended to labels/labels.jsonl, next to
    carob.toml or else to the suite, and hold for exactly the answers that were read. No opinion of a judge and no label
    of another person is shown before you answer.

    \b
    Examples:
      carob label
      carob label carob-results/checkout-20260101T090000Z.jsonl --by ana
      carob label --status
    """
    from carob.features.labels import work

    if reviews:
        click.echo(work.read_reviews_csv(journals), nl=False)
        return ExitCode.OK
    if status:
        for line in work.read_status(journals):
            click.echo(line)
        return ExitCode.OK
    return work.label_runs(journals, by, queue, yes)
