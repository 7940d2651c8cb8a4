"""`karat baseline`"""

from __future__ import annotations

from pathlib import Path

import click

LISTED = 20


@click.group(short_help="Keep a run as the one that others are compared with.")
def command() -> None:
    """Keep what a run came to in a small file beside its suite: one line per case, to be reviewed and committed.

    \b
    Examples:
      karat baseline set @last-green
      karat baseline show suite.json
      karat compare @baseline @last
    """


@command.command("set", short_help="Make a run the baseline of its suite.")
@click.argument("run", default="@last")
@click.option(
    "--file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where to keep it (default: SUITE.baseline.jsonl beside the suite).",
)
@click.option("--results-dir", type=click.Path(path_type=Path), metavar="D", help="Where @last is looked for.")
def set_baseline(run: str, file: Path | None, results_dir: Path | None) -> int:
    """Make a run (a journal, @last, @last-green, a commit or tag; default @last) the baseline of its suite."""
    from karat import api

    kept = api.set_baseline(run, file=file, results_dir=results_dir)
    _told(kept.header.run.cases, kept.header.run.errors, str(kept.path))
    return 0


@command.command("show", short_help="Show the baseline of a suite.")
@click.argument("file", type=click.Path(path_type=Path))
def show(file: Path) -> int:
    """Show the baseline of a suite, or a baseline file: which run it was, and the cases that did not pass."""
    from karat import api
    from karat.reports.compare.words import side
    from karat.reports.inert import terminal

    kept = api.load_baseline(file)
    click.echo(terminal(side("baseline", kept.header.run)))
    red = [standing for standing in kept if standing.passed < standing.judged or standing.errors]
    for standing in red[:LISTED]:
        lacks = f": {', '.join(standing.lacks)}" if standing.lacks else ""
        click.echo(f"  {terminal(standing.id, 60)}  {standing}{terminal(lacks, 200)}")
    if len(red) > LISTED:
        click.echo(f"  and {len(red) - LISTED} more")
    click.echo(f"{kept.header.run.cases - len(red)} of {kept.header.run.cases} cases passed each time")
    return 0


def _told(cases: int, errors: int, path: str) -> None:
    from karat.reports.inert import terminal
    from karat.text.wording import counted

    erred = f", {counted(errors, 'run')} erred" if errors else ""
    click.echo(f"{counted(cases, 'case')} kept{erred}\n  {terminal(path)}")
