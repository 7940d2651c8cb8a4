"""`carob manners`, and the same as a tool of `carob mcp`."""

from __future__ import annotations

import click

from carob_manners.loudness import loud_answers
from carob_manners.settings import read_manners


@click.command()
@click.argument("journal")
@click.option("--most", type=int, metavar="N", help="Exclamation marks that are allowed (default: of carob.toml).")
def command(journal: str, most: int | None) -> int:
    """Show the loudest answers of a run. Exits with 1 if there are any."""
    lines = _lines(journal, most)
    for line in lines:
        click.echo(line)
    return int(bool(lines))


def describe(journal: str = "") -> list[str]:
    """Show the answers of a run that have too many exclamation marks.

    journal: the journal of a run, relative to the project; without it, the last run.
    """
    return _lines(journal, None) or ["No answer is loud."]


def _lines(journal: str, most: int | None) -> list[str]:
    allowed = read_manners().most if most is None else most
    return [f"{loud.case}: {loud.marks} of {allowed} '!': {loud.answer!r}" for loud in loud_answers(journal, allowed)]
