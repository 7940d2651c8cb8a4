"""`carob report`"""

from __future__ import annotations

import click

from carob.cli.options import RUNS


@click.command()
@RUNS
@click.option("-f", "--format", "name", required=True, metavar="F",
              help="html, junit, github, github-summary, gitlab, csv, jsonl, json, markdown, or your own.")  # fmt: skip
@click.option("-o", "--output", "output", metavar="PATH",
              help="A file, a folder, or - for stdout (default: next to each journal).")  # fmt: skip
def command(runs: tuple[str, ...], name: str, output: str | None) -> None:
    """Write a report of recorded runs.

    RUN is a journal, a folder of them, @last (the default), @last-5 or @last-green.

    junit, github, gitlab, csv and jsonl hold several runs in one file; others have a file for each.

    \b
    Examples:
      carob report carob-results/checkout-20260101T090000Z.jsonl --format junit -o junit.xml
      carob report carob-results --format csv -o all.csv
    """
    import sys

    from carob import api
    from carob.text.wording import visible

    project = api.find_project()
    opened = [journal for source in runs for journal in api.find_journals(source, project)]
    for journal in opened:
        if journal.torn:
            click.echo(f"carob: {visible(journal.path)}: the last line is incomplete and was ignored", err=True)
    for path in api.report(opened, name, sys.stdout.buffer if output == "-" else output):
        click.echo(visible(str(path)))
