"""`carob compare --save` and `--show`"""

from __future__ import annotations

from pathlib import Path

import click

from carob.cli.options import PATH


@click.command()
@click.argument("run", default="@last")
@click.option(
    "--file", type=PATH, metavar="FILE", help="File to write (default: SUITE.baseline.jsonl next to the suite)."
)
@click.option("--results-dir", type=PATH, metavar="D", help="Folder to look for @last in.")
def save(run: str, file: Path | None, results_dir: Path | None) -> int:
    """Save the results of a run in a small file next to its suite: one line per case, to be reviewed and committed.

    RUN is a journal, @last, a commit or tag that was run, or several runs (@last-5).

    \b
    Examples:
      carob compare --save @last-5
      carob compare @baseline @last
    """
    from carob.features.compare import library
    from carob.features.compare.terminal import show_set_baseline

    show_set_baseline(library.set_baseline(run, file=file, results_dir=results_dir))
    return 0


@click.command()
@click.argument("file", required=False, type=PATH)
def show(file: Path | None) -> int:
    """Show a baseline: which run it was, and the cases that did not pass.

    FILE is a suite or a baseline file; by default, the suite of the last run.

    \b
    Example:
      carob compare --show suite.json
    """
    from carob.features.compare import library
    from carob.features.compare.terminal import show_baseline

    show_baseline(library.load_baseline(file or library.last_suite()))
    return 0
