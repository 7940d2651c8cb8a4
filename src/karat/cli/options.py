"""Options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from karat.errors import UsageError

if TYPE_CHECKING:
    from karat.console.screen import Loudness

Command = TypeVar("Command", bound=Callable[..., object])


class Seconds(click.FloatRange):
    """A time span over zero that ends."""

    name = "number of seconds"

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        seconds = super().convert(value, param, ctx)
        if not math.isfinite(seconds):
            self.fail(f"{value!r} is not a valid {self.name}.", param, ctx)
        return seconds


POSITIVE = Seconds()


class Repeats(click.IntRange):
    """How often, or `auto`."""

    name = "number of runs, or 'auto'"

    def __init__(self) -> None:
        super().__init__(min=1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == "auto" else super().convert(value, param, ctx)


def comma_list(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> list[str] | None:
    """`A,B` → ["A", "B"], also of an option given several times; one given without a name in it selects nothing."""
    return [part.strip() for part in ",".join(value).split(",") if part.strip()] if value else None


def assignments(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> dict[str, object]:
    """`KEY=VALUE` pairs; a value that is JSON is read as such, any other is text."""
    from karat.traces.clean import jsonable, loads

    found: dict[str, object] = {}
    for pair in value:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{pair!r} is not KEY=VALUE.")
        try:
            found[key] = loads(text)
        except ValueError:
            found[key] = text
    checked: dict[str, object] = jsonable(found)
    return checked


def most_failures(fail_fast: bool, max_failures: int | None) -> int | None:
    """How many failures end a run."""
    if fail_fast and max_failures is not None:
        raise UsageError("--fail-fast is --max-failures 1, and another number is given.", fix="Keep one of the two.")
    return 1 if fail_fast else max_failures


def results_dir(default: str) -> Callable[[Command], Command]:
    return click.option(
        "--results-dir",
        type=click.Path(path_type=Path),
        metavar="D",
        help=f"Where the journal and the reports go (default: {default}).",
    )


RESULTS_DIR = results_dir("results_dir of karat.toml, or karat-results")
REPORT = click.option(
    "--report",
    "reports",
    multiple=True,
    metavar="NAME[=PATH]",
    help="A further report, beside the journal or at a place of its own (several times for several).",
)
ALLOWANCES = (
    click.option("--allow-partial", is_flag=True, default=None,
                 help="Let a PARTIAL pass whose threshold held and in which nothing is unknown."),
    click.option("--allow-unknown", is_flag=True, default=None, help="Let pass what could not be decided."),
)  # fmt: skip
LOUDNESS = (
    click.option("-q", "--quiet", is_flag=True, help="Only the verdict, and a line for each case that did not pass."),
    click.option("-v", "--verbose", count=True,
                 help="Every case and every failure; -vv: all that was asked, called and answered, whole."),
)  # fmt: skip
REPEAT = Repeats()
AUTO = (
    click.option("--max-repeats", type=click.IntRange(min=2), default=50, show_default=True,
                 help="With --repeat auto: runs of a case at most."),
    click.option("--min-pass-rate", type=float, metavar="R",
                 help="With --repeat auto: for cases that have none (default: 0.8)."),
    click.option("--confidence", type=float, metavar="C", help="With --repeat auto: how sure (default: 0.95)."),
)  # fmt: skip
EACH_CASE = (
    click.option("--timeout", type=POSITIVE, metavar="S", help="Seconds for one case (default: the target's, or 300)."),
    click.option(
        "--repeat",
        type=REPEAT,
        default=1,
        show_default=True,
        help="Runs of each case; 'auto': until its pass rate is known.",
    ),
    *AUTO,
)
EACH_CASE_AS_BEFORE = (
    click.option("--timeout", type=POSITIVE, metavar="S", help="Seconds for one case (default: as in the journal)."),
    click.option("--repeat", type=REPEAT, default=1, help="Runs of each case, if more than before."),
    *AUTO,
)
HOW_TO_RUN = (
    click.option("--run-timeout", type=POSITIVE, metavar="S", help="Seconds for the run of a suite; resume the rest."),
    click.option("--concurrency", type=click.IntRange(min=1), default=1, show_default=True,
                 help="Cases at once per worker."),
    click.option("--workers", type=click.IntRange(min=0), default=1, show_default=True,
                 help="Processes; 0 runs in this one, for debugging."),
    click.option("--executor", type=click.Choice(["processes", "ray"]), default="processes", show_default=True,
                 help="Where the workers are: on this machine, or on a Ray cluster (one per processor)."),
    click.option("--ray-address", metavar="A",
                 help="The Ray cluster, or 'auto' for one that runs here; without it, one is started."),
    click.option("--shuffle", type=int, metavar="SEED", help="Run in an order that the seed decides."),
    click.option("--rate", metavar="30/min", help="Start no more cases than this."),
    click.option("--retries", type=click.IntRange(min=0), default=0, show_default=True,
                 help="Further attempts after an error (never after a failed check)."),
    click.option("--fail-fast", is_flag=True, help="Stop at the first case that fails or errs."),
    click.option("--max-failures", type=click.IntRange(min=1), metavar="N", help="Stop after N such cases."),
    click.option("-o", "--option", "options", multiple=True, callback=assignments, metavar="KEY=VALUE",
                 help="An option of the target; overrides karat.toml."),
)  # fmt: skip


LAST = click.option("--last", is_flag=True, help="The journal of the last run here, in place of JOURNAL.")
SELECTION = (
    click.option("--cases", multiple=True, callback=comma_list, metavar="A,B",
                 help="Only the cases with these ids; 'refund-*' takes all that begin so."),
    click.option("--category", "categories", multiple=True, callback=comma_list, metavar="C,D",
                 help="Only the cases of these categories."),
    click.option("--tag", "tags", multiple=True, callback=comma_list, metavar="T,U",
                 help="Only the cases with one of these tags."),
    click.option("-k", "keyword", metavar="EXPRESSION",
                 help="Only cases whose id, category or tags hold these words: 'refund and not slow'."),
)  # fmt: skip


def selection(command: Command) -> Command:
    return _with(command, SELECTION)


def allowances(command: Command) -> Command:
    return _with(command, (*ALLOWANCES, *LOUDNESS))


def loudness(quiet: bool, verbose: int) -> Loudness:
    """How much is to be told."""
    from karat.console.screen import Loudness

    if quiet and verbose:
        raise UsageError("--quiet and --verbose are both given.", fix="Keep one of the two.", slug="bad-option")
    return Loudness.QUIET if quiet else Loudness(min(verbose, Loudness.WHOLE))


def run_options(command: Command) -> Command:
    return _with(command, (*EACH_CASE, *HOW_TO_RUN, RESULTS_DIR, REPORT, *ALLOWANCES, *LOUDNESS))


def resume_options(command: Command) -> Command:
    return _with(
        command,
        (*EACH_CASE_AS_BEFORE, *HOW_TO_RUN, results_dir("beside the old journal"), REPORT, *ALLOWANCES, *LOUDNESS),
    )


def _with(command: Command, options: Sequence[Callable[[Command], Command]]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command
