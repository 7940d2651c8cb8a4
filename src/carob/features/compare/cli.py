"""`carob compare`"""

from __future__ import annotations

from pathlib import Path

import click

from carob.cli.options import PATH, Share, format_options


@click.command()
@click.argument("base", default="@baseline")
@click.argument("new", nargs=-1)
@format_options
@click.option("--confidence", type=Share(), metavar="C", help="Confidence level (default: that of [gate], or 0.95).")
@click.option("--max-new-failures", type=int, metavar="N", help="Gate: at most N cases broke.")
@click.option(
    "--min-pass-rate", type=Share(), metavar="R", help="Gate: the new pass rate is at least R (at --confidence)."
)
@click.option(
    "--non-inferior",
    type=Share("0.05 or 5%"),
    metavar="D",
    help="Gate: the pass rate fell by at most D (at --confidence).",
)
@click.option(
    "--max-seconds-ratio", type=float, metavar="X", help="Gate: at most X times the seconds (at --confidence)."
)
@click.option("--max-tokens-ratio", type=float, metavar="X", help="Gate: at most X times the tokens (at --confidence).")
@click.option("--max-cost-ratio", type=float, metavar="X", help="Gate: at most X times the cost (at --confidence).")
@click.option("--results-dir", type=PATH, metavar="D",
              help="Folder to look for @last, @last-green, commits and tags in.")  # fmt: skip
@click.option("--mix-tapes", is_flag=True, help="Allow comparing a replayed run with a live one.")
def command(
    base: str, new: tuple[str, ...], form: str, output: Path | None, **options: float | int | Path | None
) -> int:
    """Compare two runs: what broke, what was fixed, what is flaky, and how certain that is.

    Without NEW, the last run is compared, and without BASE too, with the baseline of its suite.

    BASE and NEW are journals, folders of them, @last, @last-green, or a commit or tag that was run. BASE may also be
    @last-5 (the last five runs together), a baseline file, or @baseline for the suite's own. Several NEW runs are each
    compared with BASE, with one correction for their number. Exit code 1: a gate is broken or undecided; without gates,
    a new run is significantly worse, or a journal is incomplete or was changed.

    \b
    Examples:
      carob compare
      carob compare @last-5 --max-new-failures 0
      carob compare before.jsonl after.jsonl --format markdown --output comment.md
      carob compare @baseline before.jsonl after.jsonl --max-new-failures 0
    """
    from carob.features.compare import library
    from carob.features.compare.terminal import show_comparisons

    comparisons = [
        library.compare_runs(base, comparison, together=len(new) or 1, **options)  # type: ignore[arg-type]  # click has read each by its type
        for comparison in new or ("@last",)
    ]
    show_comparisons(comparisons, form, output)
    return max(comparison.exit_code for comparison in comparisons)
