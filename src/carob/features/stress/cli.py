"""`carob stress`"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from carob.cli.options import AT_LEAST_ONE, PATH, comma_list, options_of_runs, read_verbosity, selection

OF_A_RUN = ("timeout", "concurrency", "workers", "rate", "tape", "guard", "baseline", "options", "results_dir")


@click.command()
@click.argument("suite", metavar="SUITE")
@click.option(
    "-t", "--target", help="The agent: a spec such as langgraph:module:graph, or the name of a target in carob.toml."
)
@click.option(
    "--max-runs",
    type=AT_LEAST_ONE,
    default=200,
    metavar="N",
    help="Maximum number of runs with a fault. The most important come first; the rest is reported.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed for random choices of faults.")
@click.option(
    "--faults", multiple=True, callback=comma_list, metavar="A,B", help="Only these faults: 'lost answer,inject*'."
)
@click.option("--from", "base", metavar="RUN", help="Start from this journal instead of running the suite first.")
@click.option("--resume", metavar="RUN", help="Finish the interrupted stress run of this journal.")
@click.option("--injections", type=PATH, metavar="FILE", help="A TOML file with other texts to inject.")
@click.option("--write", type=PATH, metavar="FILE", help="Write each broken cell as a Carob 1 case with its fault.")
@click.option("--force", is_flag=True, help="With --write: overwrite an existing file.")
@selection
@options_of_runs(OF_A_RUN)
def command(
    suite: str,
    base: str | None,
    resume: str | None,
    write: Path | None,
    force: bool,
    quiet: bool,
    verbose: int,
    **how: Any,
) -> int:
    """Break an agent's tools and models, one fault at a time, and check how it reacts.

    Carob first runs the suite without faults. Then it breaks each tool and model that a passing case used, in each way
    that applies: the call fails, times out, loses its answer, or returns nothing, garbage, old data, another record, or
    text with injected instructions. Each run is a case with one fault; if the fault never took effect, it is
    "not reached".

    Whatever happens, the agent must not do what the case forbids, claim what it did not do, invent numbers, cause an
    unrequested effect or the same effect twice, leak a planted secret, or retry too often. It must end in time and
    admit what failed. `effects` in the suite says which tools change something.

    \b
    Examples:
      carob stress shop.carob.yaml --target langgraph:desk.py:agent
      carob stress shop.carob.yaml -t langgraph:desk.py:agent --faults 'lost answer' --max-runs 40
      carob stress shop.carob.yaml -t langgraph:desk.py:agent --cases 'refund*' --write faults.yaml

    Exit codes: 0 nothing broke, 1 something did, 2 interrupted (--resume), 4 usage, 5 no case could be stressed.
    """
    from carob import api
    from carob.features.stress import library
    from carob.features.stress.terminal import stress_with_progress

    verbosity = read_verbosity(quiet, verbose)
    if write is not None:
        api.refuse_place(write, force)
    loaded = api.load_file(suite, api.find_project())
    start = partial(library.astress, suite, base=base, resume=resume, **how)
    result, code = stress_with_progress(loaded, start, verbosity)
    if write is not None and result is not None:
        count = library.write_broken(result, write)
        click.echo(f"  {write}: {count} case{'s' * (count != 1)}" if count else "  nothing broke: no case is written")
    return code
