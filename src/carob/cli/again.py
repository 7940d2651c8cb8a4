"""`carob run --resume` and `--failed`"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from carob.cli.options import comma_list, most_failures, read_verbosity, resume_options

if TYPE_CHECKING:
    from carob.api import StatusName


@click.command()
@click.argument("run", default="@last")
@click.option("--suite", metavar="SUITE", help="The suite, if it is no longer where it was.")
@click.option("-t", "--target", help="The target, if its name has changed.")
@resume_options
def resume(run: str, **options: Any) -> int:
    """Finish a run that was interrupted or killed: only what is missing is run.

    RUN is a journal; by default, the last run here. Finished cases are kept if neither the case nor the target's
    options changed. The result is a new, complete journal; the old one is left as it is.

    \b
    Examples:
      carob run --resume
      carob run --resume carob-results/checkout-20260101T090000Z.jsonl
      carob run --resume /full/disk/run.jsonl --results-dir /other/disk
    """
    return go_on(run, (), **options)


STATUSES = ("pass", "fail", "partial", "error", "skip", "xfail")


def statuses(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> list[str]:
    names = [name.lower() for name in comma_list(ctx, param, value) or []]
    unknown = [name for name in names if name not in STATUSES]
    if unknown or not names:
        raise click.BadParameter(f"use one or more of {', '.join(STATUSES)}.")
    return names


@click.command()
@click.argument("run", default="@last")
@click.option("--status", multiple=True, default=("error,fail",), callback=statuses, metavar="S,...",
              help=f"Which cases to run again: {', '.join(STATUSES)}.")  # fmt: skip
@click.option("--suite", metavar="SUITE", help="The suite, if it is no longer where it was.")
@click.option("-t", "--target", help="The target, if its name has changed.")
@resume_options
def rerun(run: str, status: list[StatusName], **options: Any) -> int:
    """Run the cases with one of these statuses again, and keep the results of the others.

    RUN is a journal; by default, the last run here.

    \b
    Examples:
      carob run --failed
      carob run --failed carob-results/checkout-20260101T090000Z.jsonl
      carob run --failed carob-results/checkout-20260101T090000Z.jsonl --status error,partial
    """
    return go_on(run, status, **options)


def go_on(
    run: str,
    status: Sequence[StatusName],
    *,
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
    config = api.find_config()
    project = config.project
    journal = api.open_journal(run, project)
    loaded = api.load_file(suite, project) if suite else api.load_recorded_suite(journal, project)
    how["max_failures"] = most_failures(fail_fast, max_failures)
    again = partial(api.arerun_by, config, journal, loaded, target, status=status, **how)
    result, _ = run_with_progress(loaded, again, verbosity)
    return result.exit_code
