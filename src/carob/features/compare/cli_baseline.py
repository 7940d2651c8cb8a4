"""`carob baseline`"""

from __future__ import annotations

from pathlib import Path

import click

from carob.cli.options import PATH


@click.group()
def command() -> None:
    """Save the results of a run in a small file next to its suite: one line per case, to be reviewed and committed.

    \b
    Examples:
      carob baseline set @last-5
      carob baseline show suite.json
      carob compare @baseline @last
    """


@command.command("set", short_help="Make a run the baseline of its suite.")
@click.argument("run", default="@last")
@click.option(
    "--file", type=PATH, metavar="FILE", help="File to write (default: SUITE.baseline.jsonl next to the suite)."
)
@click.option("--results-dir", type=PATH, metavar="D", help="Folder to look for @last in.")
def set_baseline(run: str, file: Path | None, results_dir: Path | None) -> int:
    """Make a run (a journal, @last, a commit or tag), or several (@last-5), the baseline of its suite."""
    from carob.features.compare import library
    from carob.features.compare.terminal import show_set_baseline

    show_set_baseline(library.set_baseline(run, file=file, results_dir=results_dir))
    return 0


@command.command("show", short_help="Show the baseline of a suite.")
@click.argument("file", type=PATH)
def show(file: Path) -> int:
    """Show the baseline of a suite, or a baseline file: which run it was, and the cases that did not pass."""
    from carob.features.compare import library
    from carob.features.compare.terminal import show_baseline

    show_baseline(library.load_baseline(file))
    return 0
