"""`carob compare --history`"""

from __future__ import annotations

from pathlib import Path

import click

from carob.cli.options import AT_LEAST_ONE, PATH


@click.command()
@click.argument("folder", required=False, type=PATH)
@click.option("--suite", metavar="SUITE", help="Runs of this suite (default: the one that was run last).")
@click.option("-t", "--target", metavar="T", help="Runs against this target (default: that of the last run).")
@click.option("--runs", type=AT_LEAST_ONE, default=20, help="Maximum number of runs.")
@click.option("--since", metavar="DATE", help="Only runs since this date, such as 2026-11-01.")
@click.option("--flaky", is_flag=True, help="Only flaky cases.")
@click.option("--format", "form", type=click.Choice(["terminal", "json"]), default="terminal")
def command(
    folder: Path | None, suite: str | None, target: str | None, runs: int, since: str | None, flaky: bool, form: str
) -> int:
    """Show the results of each case in the last runs against one target: when it first broke, how often it is flaky.

    FOLDER is a folder of results, or a suite.

    \b
    Examples:
      carob compare --history
      carob compare --history carob-results --flaky
      carob compare --history --since 2026-01-01 --format json
    """
    from msgspec import structs

    from carob.features.compare import library
    from carob.features.compare.terminal import show_history

    if folder is not None and folder.is_file():
        folder, suite = None, suite or str(folder)
    history = library.history(folder, suite=suite or "", target=target or "", runs=runs, since=since or "")
    if flaky:
        history = structs.replace(history, cases=tuple(case for case in history.cases if case.is_flaky))
    show_history(history, form)
    return 0
