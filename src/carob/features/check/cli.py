"""`carob check`"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, get_args

import click

from carob.cli.options import AT_LEAST_ONE, PATH, Share
from carob.options import HOW_TO_RUN, ExecutorName
from carob.system.gc_pause import gc_frozen

GROUPS = ("day", "week", "model", "version", "user")


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option(
    "--rules", "rules", multiple=True, metavar="FILE", help="A file of rules (default: `rules` of carob.toml)."
)
@click.option("--suite", metavar="FILE", help="A suite: its rules, and what its `defaults` expect.")
@click.option("--by", type=click.Choice(GROUPS), help="Show figures by this, and what changed.")
@click.option("--since", default="", show_default=False, metavar="T", help="Only since 24h, 7d, 2w, or a date.")
@click.option(
    "--where", default="", show_default=False, metavar="CEL",
    help="Only conversations for which this holds, such as 'metadata.plan == \"pro\"'.",
)  # fmt: skip
@click.option("--sample", type=AT_LEAST_ONE, metavar="N", help="Judge N conversations, drawn at random.")
@click.option(
    "--max-broken",
    type=Share("0.5% or 0.005", may_be_all=False),
    metavar="SHARE",
    help="Gate: at most this share breaks each rule, such as 0.5%.",
)
@click.option("--allow-unknown", is_flag=True, help="Without a gate: accept conversations in which a rule is unknown.")
@click.option(
    "-o", "--output", "outputs", multiple=True, type=PATH, metavar="FILE",
    help="Write .html, .json, .csv, .parquet (each verdict) or .jsonl (a journal for `carob view`). Repeatable.",
)  # fmt: skip
@click.option(
    "--keep", type=AT_LEAST_ONE, default=1000, metavar="N", help="The most conversations that the journal keeps."
)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.option("--format", "format", default="", show_default=False, metavar="NAME",
              help="The format of the sources, if Carob cannot tell.")  # fmt: skip
@click.option(
    "--workers", type=AT_LEAST_ONE, metavar="N",
    help="Processes: one reads, the others judge (default: 1). On Ray: files at once (default: one per processor).",
)  # fmt: skip
@click.option(
    "--executor", type=click.Choice(get_args(ExecutorName)), default="processes",
    help="Where conversations are judged: on this machine, or on a Ray cluster, which reads the files too.",
)  # fmt: skip
@click.option("--ray-address", metavar="A", help=HOW_TO_RUN["ray_address"].describe())
@click.option(
    "--keep-personal-data", is_flag=True, help="Do not mask email addresses, phone, card and account numbers and keys."
)
def command(sources: tuple[str, ...], outputs: tuple[Path, ...], force: bool, **how: Any) -> int:
    """Judge recorded conversations by rules: what share of them broke a rule, which ones, and since when.

    A SOURCE is a file, a folder, or - for standard input: an export of an observability platform, spans as OTLP, or
    messages. Rules are in a file with `carob: 1` and `rules`. A rule is held, broken, unknown, or not triggered in a
    conversation. With --by, Carob looks for a change that chance does not explain.

    \b
    Examples:
      carob check export.jsonl --rules policy.carob.yaml
      carob check exports/ --rules policy.carob.yaml --by day -o page.html
      carob check spans.jsonl --rules policy.carob.yaml --since 7d --max-broken 0.5%
      carob check export.jsonl --rules policy.carob.yaml -o broken.jsonl && carob view .

    Exit codes: 0 no rule was broken or the gate is met, 1 a rule is broken or unknown, or the gate is broken or
    undecided, 4 usage or a file that cannot be read, 5 nothing triggered any rule.
    """
    with gc_frozen():
        from carob import api
        from carob.cli.main import print_error
        from carob.features.check import library
        from carob.features.check.terminal import Progress, write_check
        from carob.terminal.screen import wants_colour

    for path in outputs:
        api.refuse_taken(path, force)
    progress = Progress(sys.stderr, api.expand_sources(sources)) if sys.stderr.isatty() else None
    try:
        report = library.check_conversations(sources, outputs=outputs, on_progress=progress, **how)
    finally:
        if progress is not None:
            progress.end()
    write_check(report, sys.stdout, colour=wants_colour(sys.stdout, os.environ))
    for path in outputs:
        more = f": {report.kept}" if path.suffix == ".jsonl" else ""
        print_error(f"written: {path}{more}")
    return report.exit_code
