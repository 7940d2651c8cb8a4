"""`karat history`"""

from __future__ import annotations

from pathlib import Path

import click


@click.command(short_help="Show the last runs of a suite case by case: what broke when, what is flaky.")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--suite", default="", metavar="SUITE", help="Runs of this suite (default: the one that was run last).")
@click.option(
    "-t", "--target", default="", metavar="T", help="Runs against this target (default: that of the last run)."
)
@click.option("--runs", type=click.IntRange(min=1), default=20, show_default=True, help="Maximum number of runs.")
@click.option("--since", default="", metavar="DATE", help="Only runs since this date, such as 2026-11-01.")
@click.option("--flaky", is_flag=True, help="Only flaky cases.")
@click.option("--format", "form", type=click.Choice(["terminal", "json"]), default="terminal", show_default=True)
def command(folder: Path | None, suite: str, target: str, runs: int, since: str, flaky: bool, form: str) -> int:
    """Show the results of each case in the last runs against one target: when it first broke, how often it is flaky.

    \b
    Examples:
      karat history
      karat history karat-results --flaky
      karat history --since 2026-01-01 --format json
    """
    from msgspec import structs

    from karat import api
    from karat.analysis.compare.terminal import show_history

    history = api.history(folder, suite=suite, target=target, runs=runs, since=since)
    if flaky:
        history = structs.replace(history, cases=tuple(case for case in history.cases if case.is_flaky))
    show_history(history, form)
    return 0
