"""`carob rescore`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from carob.cli.options import AT_LEAST_ONE, RUNS, options_of_runs, read_verbosity
from carob.cli.run import show_asking, worst_exit_code
from carob.system.gc_pause import gc_frozen

if TYPE_CHECKING:
    from carob.api import Journal
    from carob.model.suite import Suite
    from carob.terminal.screen import Screen


OF_A_RUN = ("results_dir", "reports", "allow_partial", "allow_unknown", "allow_unjudged", "trust_code")


@click.command()
@RUNS
@click.option("--suite", metavar="SUITE", help="Judge by the cases of this suite instead of the recorded ones.")
@click.option("--workers", type=AT_LEAST_ONE, default=1, help="Number of processes; it does not affect the verdicts.")
@click.option("--judge", is_flag=True, help="Ask the judge of carob.toml about the criteria first.")
@click.option("--labels-from", metavar="REV", default="", help="Let only the labels of this revision of git decide.")
@options_of_runs(OF_A_RUN)
def command(runs: tuple[str, ...], suite: str | None, quiet: bool, verbose: int, labels_from: str, **how: Any) -> int:
    """Judge recorded runs again, without an agent, and write a new journal and reports for each.

    RUN is a journal, a folder of them, @last (the default), @last-5 or @last-green.

    With --suite, the recorded answers are judged by the current expectations. A case that was not recorded is an ERROR.

    \b
    Examples:
      carob rescore carob-results/checkout-20260101T090000Z.jsonl
      carob rescore carob-results/checkout-20260101T090000Z.jsonl --suite checkout.json
      carob rescore before.jsonl after.jsonl --workers 2
    """
    import os
    import sys

    with gc_frozen():
        from carob import api
        from carob.terminal.screen import Screen

    screen = Screen.of(sys.stdout, os.environ, read_verbosity(quiet, verbose))
    from msgspec import structs

    project = structs.replace(api.find_project(), labels_from=labels_from)
    by = api.load_file(suite, project) if suite else None
    for warning in by.warnings if by else ():
        click.echo(warning, err=True)
    journals = [journal for run in runs for journal in api.find_journals(run, project)]
    if len(journals) > 1:
        api.refuse_one_file(how["reports"], project)
    return worst_exit_code([_rescore_one(journal, by, screen, **how) for journal in journals])


def _rescore_one(
    recorded: Journal, by: Suite | None, screen: Screen, *, results_dir: Path | None, judge: bool, **how: Any
) -> int:
    """Judge one journal, and show what came of it: a line for each case, unless those that passed are folded away.

    Repeats come together at the end.
    """
    from carob import api
    from carob.terminal.ending import show_ending
    from carob.terminal.screen import CaseLines

    config = api.read_config(recorded.project)
    folder = results_dir or api.default_results_dir(by.file if by else recorded.header.suite, config)
    lined = not screen.folds and recorded.header.repeat == 1
    result = api.rescore(
        recorded,
        by,
        results_dir=folder,
        each=CaseLines(screen) if lined else None,
        judge=show_asking if judge else None,
        **how,
    )
    if result.left_out:
        click.echo(f"carob: recorded but not in the suite, ignored: {', '.join(result.left_out)}", err=True)
    if recorded.summary.criteria is not None:
        from carob.criteria.changes import changed_verdicts
        from carob.criteria.decide import LabelReader

        labels = LabelReader(recorded.project.judging("", by.file if by else recorded.header.suite))
        changes = changed_verdicts(recorded.records(), result.journal.records())
        for line in (*labels.index().files.torn, *([changes] if changes else [])):
            show_asking(line)
    show_ending(result, screen)
    return result.exit_code
