"""Options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from carob.errors import UsageError
from carob.options import HOW_TO_RUN, SELECTION, ExecutorName, Option, Repeats, TapeMode

if TYPE_CHECKING:
    from carob.terminal.screen import Verbosity

Command = TypeVar("Command", bound=Callable[..., object])

PATH = click.Path(path_type=Path)
AT_LEAST_ONE = click.IntRange(min=1)
RUNS = click.argument("runs", nargs=-1, metavar="[RUN]...", callback=lambda _, __, value: value or ("@last",))
"""Recorded runs: by default the last one."""
PORTS = click.IntRange(0, 65535)
FORMATS = ("terminal", "json", "markdown", "html")
SUFFIXES = {".json": "json", ".md": "markdown", ".html": "html", ".htm": "html"}
"""The format of a file by the end of its name, where `--format` names none."""


def format_options(command: Command) -> Command:
    """`--format` and `--output` of a command that shows a report."""
    said = "Write the report to a file, and text to the terminal."
    to_file = click.option("--output", type=PATH, metavar="FILE", is_eager=True, help=said)
    said = "What is printed, or written (default: what the end of FILE says, or terminal)."
    form = click.option("--format", "form", type=click.Choice(FORMATS), callback=_choose_format, help=said)
    return form(to_file(command))


def _choose_format(context: click.Context, _: click.Parameter, form: str | None) -> str:
    output = context.params.get("output")
    return form or SUFFIXES.get(output.suffix if output else "", "terminal")


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


class Share(click.ParamType):  # type: ignore[type-arg]  # generic only since click 8.4
    """`0.5%` or `0.005`, at least 0 and at most 1."""

    def __init__(self, example: str = "0.95 or 95%", *, may_be_all: bool = True) -> None:
        self.name = f"share, such as {example}"
        self._may_be_all = may_be_all

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value).strip()
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            share = math.nan
        if not (0 <= share < 1 or (share == 1 and self._may_be_all)):
            self.fail(f"{value!r} is not a {self.name}.", param, ctx)
        return share


class RepeatsParameter(click.IntRange):
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
    if not value:
        return {}
    from carob.text.clean import jsonable, loads

    pairs: dict[str, object] = {}
    for pair in value:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{pair!r} is not KEY=VALUE.")
        try:
            pairs[key] = loads(text)
        except ValueError:
            pairs[key] = text
    checked: dict[str, object] = jsonable(pairs)
    return checked


def most_failures(fail_fast: bool, max_failures: int | None) -> int | None:
    """How many failures end a run."""
    if fail_fast and max_failures is not None:
        raise UsageError("--fail-fast means --max-failures 1, but another number is given.", fix="Keep one of the two.")
    return 1 if fail_fast else max_failures


TYPES: dict[Any, dict[str, Any]] = {
    str | None: {},
    int: {"type": click.INT},
    int | None: {"type": click.INT},
    float: {"type": Seconds()},
    float | None: {"type": Seconds()},
    bool | None: {"is_flag": True},
    str | Path | None: {"type": PATH},
    Repeats: {"type": RepeatsParameter()},
    ExecutorName: {"type": click.Choice(get_args(ExecutorName))},
    TapeMode | None: {"type": click.Choice(get_args(TapeMode))},
    Sequence[str]: {"multiple": True},
    Sequence[str] | None: {"multiple": True, "callback": comma_list},
    Mapping[str, object] | None: {"multiple": True, "callback": assignments},
}
"""How an option of each type is read from a command line."""


def click_option(option: Option, *, again: bool = False) -> Callable[[Command], Command]:
    """The option of a command that an option of a run is; `again` for those that go on from an earlier run."""
    how = TYPES[option.type]
    if option.least is not None and option.type is not Repeats:
        how = {"type": click.IntRange(min=option.least)}
    elif option.under < math.inf:
        how = {"type": Share()}
    return click.option(
        *option.spellings,
        option.name,
        default=None if "multiple" in how or (again and option.is_pace) else option.default,
        show_default=not (again and option.help_again),
        metavar=option.metavar,
        help=option.describe(again=again),
        **how,
    )


LOUDNESS = (
    click.option("-q", "--quiet", is_flag=True,
                 help="Print only the verdict, and one line for each case that did not pass."),
    click.option("-v", "--verbose", count=True, show_default=False,
                 help="Print every case and every failure; -vv: with complete prompts, calls and answers."),
)  # fmt: skip
FAIL_FAST = click.option("--fail-fast", is_flag=True, help="Stop at the first case that fails or ends in an error.")


def selection(command: Command) -> Command:
    return _with(command, map(click_option, SELECTION.values()))


def options_of_runs(names: Iterable[str]) -> Callable[[Command], Command]:
    """These options of a run, and how much to print."""
    return lambda command: _with(command, [*(click_option(HOW_TO_RUN[name]) for name in names), *LOUDNESS])


def read_verbosity(quiet: bool, verbose: int) -> Verbosity:
    """How much to print."""
    from carob.terminal.screen import Verbosity

    if quiet and verbose:
        raise UsageError("--quiet and --verbose are both given.", fix="Keep one of the two.", slug="bad-option")
    return Verbosity.QUIET if quiet else Verbosity(min(verbose, Verbosity.WHOLE))


def run_options(command: Command) -> Command:
    return _with(command, [*map(click_option, HOW_TO_RUN.values()), FAIL_FAST, *LOUDNESS])


def resume_options(command: Command) -> Command:
    again = (click_option(option, again=True) for option in HOW_TO_RUN.values())
    return _with(command, [*again, FAIL_FAST, *LOUDNESS])


def _with(command: Command, options: Iterable[Callable[[Command], Command]]) -> Command:
    for option in reversed(list(options)):
        command = option(command)
    return command
