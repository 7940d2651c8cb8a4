"""`carob resume`"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from carob.cli.options import LAST, most_failures, read_verbosity, resume_options
from carob.errors import UsageError

if TYPE_CHECKING:
    from carob.api import StatusName


@click.command()
@click.argument("journal", required=False)
@LAST
@click.option("--suite", metavar="SUITE", help="The suite, if it is no longer where it was.")
@click.option("-t", "--target", help="The target, if its name has changed.")
@resume_options
def command(journal: str | None, **options: Any) -> int:
    """Finish a run that was interrupted or killed: only what is missing is run.

    Finished cases are kept if neither the case nor the target's options changed. The result is a new, complete
    journal; the old one is left as it is.

    \b
    Examples:
      carob resume --last
      carob resume carob-results/checkout-20260101T090000Z.jsonl
      carob resume /full/disk/run.jsonl --results-dir /other/disk
    """
    return go_on(journal, (), **options)


def go_on(
    path: str | None,
    status: Sequence[StatusName],
    *,
    last: bool,
    suite: str | None,
    target: str | None,
    fail_fast: bool,
    max_failures: int | None,
    quiet: bool,
    verbose: int,
    **how: Any,
) -> int:
    """Run what is missing, and what came out with one of these statuses."""
    from carob import api
    from carob.terminal.live_run import run_with_progress

    verbosity = read_verbosity(quiet, verbose)
    if last is (path is not None):
        message = "a journal cannot be combined with --last." if path else "no journal is given."
        raise UsageError(message, fix="Name one, or use --last for the last run here.", slug="no-journal")
    config = api.find_config()
    project = config.project
    journal = api.open_journal(path or api.last_journal(config), project)
    loaded = api.load_file(suite, project) if suite else api.load_recorded_suite(journal, project)
    how["max_failures"] = most_failures(fail_fast, max_failures)
    rerun = partial(api.arerun_by, config, journal, loaded, target, status=status, **how)
    result, _ = run_with_progress(loaded, rerun, verbosity)
    return result.exit_code
