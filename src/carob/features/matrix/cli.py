"""`carob compare --side-by-side`"""

from __future__ import annotations

from pathlib import Path

import click

from carob.cli.options import PATH, format_options


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@format_options
@click.option("--results-dir", type=PATH, metavar="D", help="Folder to look for @last, commits and tags in.")
def command(runs: tuple[str, ...], form: str, output: Path | None, results_dir: Path | None) -> int:
    """Show recorded runs of one suite side by side, such as those of several models.

    RUN is a journal, a folder of them, @last, or a commit or tag that was run. A run that is not whole is shown and not
    compared. `carob run SUITE -t A -t B` and `carob run SUITE --matrix MODEL=small,large` run the columns one after the
    other and write the page at the end.

    \b
    Examples:
      carob compare --side-by-side small.jsonl large.jsonl
      carob compare --side-by-side small.jsonl large.jsonl --format html --output models.html
    """
    from carob.features.matrix import library
    from carob.features.matrix.terminal import show_matrix

    show_matrix(library.matrix(runs, results_dir=results_dir), form, output)
    return 0
