"""`carob`: finds the command, runs it, and turns what went wrong into one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import click

from carob.cli.streams import final_exit_code, patient_streams
from carob.cli.usage import explain, suggest_command, suggest_new_name
from carob.errors import CarobError, ExitCode, SuiteError
from carob.plugins.features import Command, each_row, load, own_features
from carob.system.portable import require_processes
from carob.version import __version__, commit

HEADINGS = (
    "Start",
    "Test an agent",
    "See what happened",
    "Judge and guard conversations",
    "Test the tests",
    "Suites and editors",
)
CORE = (
    Command(
        "run",
        "Test an agent",
        "Run suites against an agent and judge every case.",
        "carob.cli.run:command",
        needs_processes=True,
    ),
    Command(
        "run --resume",
        "Test an agent",
        "Finish a run that was interrupted or killed.",
        "carob.cli.again:resume",
        needs_processes=True,
    ),
    Command(
        "run --failed",
        "Test an agent",
        "Run the failed cases of a run again.",
        "carob.cli.again:rerun",
        needs_processes=True,
    ),
    Command("rescore", "Test an agent", "Judge recorded runs again, without an agent.", "carob.cli.rescore:command"),
    Command(
        "tape",
        "Test an agent",
        "Show and check tapes: recorded answers of models and services.",
        "carob.cli.tape:command",
    ),
    Command(
        "report",
        "See what happened",
        "Write a report of recorded runs: HTML, JUnit, GitHub, GitLab, CSV, JSON lines and others.",
        "carob.cli.report:command",
    ),
    Command(
        "lint --errors-only",
        "Test the tests",
        "Report only what keeps a suite from being read.",
        "carob.cli.validate:command",
    ),
    Command(
        "lint --schema",
        "Test the tests",
        "Print or write the JSON Schema of a suite format, for editors.",
        "carob.cli.schema:command",
    ),
    Command(
        "audit --self",
        "Test the tests",
        "Run the examples of every check of Carob and of the project.",
        "carob.cli.self_test:command",
    ),
    Command(
        "convert", "Suites and editors", "Write a suite of any format as Carob 1 in YAML.", "carob.cli.convert:command"
    ),
)
"""The commands that every installation has; features bring the others."""
COMPLETE = "_CAROB_COMPLETE"
"""Set by the shell where it wants a line completed, or the script that does so."""
NOWHERE = "carob: the current folder no longer exists. Change to another one."


class Commands(click.Group):
    """Imports the module of a command when that command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [row.name for row in every_command() if " " not in row.name]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        row = find_command(cmd_name)
        if row is None:
            return None
        if row.needs_processes:
            require_processes()
        command: click.Command = load(row.loads)
        command.short_help = row.summary
        for form in forms_of(cmd_name):
            _show_form(command, form)
        if COMPLETE in os.environ:
            from carob.cli.completion import attach  # late: it loads what only completing needs

            attach(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Every command under what one does with it."""
        rows = [row for row in every_command() if " " not in row.name]
        groups = {row.group for row in rows}
        for heading in dict.fromkeys((*(name for name in HEADINGS if name in groups), *(row.group for row in rows))):
            with formatter.section(heading):
                formatter.write_dl([(row.name, row.summary) for row in rows if row.group == heading])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        options = args[: args.index("--")] if "--" in args else args
        form = next((row for row in forms_of(args[0]) if row.name.partition(" ")[2] in options), None)
        if form is not None:
            args = [form.name, *args[1:]]
            args.remove(form.name.partition(" ")[2])
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            known = suggest_new_name(args) or suggest_command(args[0], self.list_commands(ctx))
            raise click.UsageError(f"{error.message} {known}".rstrip(), ctx) from error


def find_command(name: str) -> Command | None:
    """The command of this name; other packages are asked for one that Carob does not have."""
    return next((row for row in every_command() if row.name == name), None)


def every_command() -> Iterator[Command]:
    return each_row(CORE, lambda feature: feature.commands)


def forms_of(name: str) -> list[Command]:
    """The forms of a command of Carob's own. Those of a command of the core are in the core."""
    is_of_core = any(row.name == name for row in CORE)
    rows = CORE if is_of_core else own_commands()
    return [row for row in rows if row.name.startswith(f"{name} ")]


def own_commands() -> tuple[Command, ...]:
    return (*CORE, *(row for feature in own_features() for row in feature.commands))


def _show_form(command: click.Command, form: Command) -> None:
    """List a form among the options of its command."""
    flag = form.name.partition(" ")[2]
    if all(flag not in option.opts for option in command.params):
        said = f"{form.summary} See carob {form.name} --help."
        command.params.append(click.Option([flag], is_flag=True, expose_value=False, help=said))


def show_version(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not context.resilient_parsing:
        of = commit()
        click.echo(f"carob {__version__}" + (f" ({of})" if of else ""))
        context.exit()


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=show_version,
    help="Show the version and exit.",
)
@click.pass_context
def carob(context: click.Context) -> int:
    """Contract tests for AI agents: run the real agent, judge every case with deterministic checks.

    \b
    Start here:
      carob init                                       find the agent, write a suite, run it
      carob lint suite.json                            is the suite sound?
      carob run suite.json --target python:agent:ask   run it and judge the answers
      carob rescore carob-results/JOURNAL.jsonl        judge a recorded run again, no agent

    \b
    Exit codes: 0 every case passed, 1 one did not, 2 interrupted (resume it),
    3 Carob failed or could not write, 4 usage or suite error, 5 no case selected.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        return ExitCode.USAGE
    return ExitCode.OK


def main() -> None:
    """The command line of this process."""
    out = patient_streams()
    sys.exit(final_exit_code(out, run(sys.argv[1:])))


def run(arguments: list[str]) -> int:
    """Run one command line; the exit code."""
    try:
        if COMPLETE in os.environ:
            return _complete(arguments)
        return int(carob.main(arguments, prog_name="carob", standalone_mode=False) or 0)
    except SuiteError as error:
        print_error(str(error))
        return ExitCode.USAGE
    except CarobError as error:
        print_error(NOWHERE if _is_nowhere() else f"carob: {error}")
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return ExitCode.USAGE
    except click.ClickException as error:
        print_error(f"carob: {explain(error, arguments)}")
        return ExitCode.USAGE
    except (KeyboardInterrupt, click.Abort):
        print_error("carob: interrupted")
        return ExitCode.INTERRUPTED
    except Exception:  # noqa: BLE001 - what gets here is our own bug, and its traceback is wanted
        if _is_nowhere():
            print_error(NOWHERE)
            return ExitCode.USAGE
        import traceback

        traceback.print_exc()
        print_error("carob: this is a bug in Carob; please report it with the lines above")
        return ExitCode.INTERNAL
    except BaseException as error:  # noqa: BLE001 - raised by code of the agent's that the event loop calls, not Carob
        error_text = " ".join(f"{type(error).__name__}: {error}".split())
        print_error(
            f"carob: {error_text} ended the run, outside its cases; without --workers 0 it would end only a worker"
        )
        return ExitCode.INTERNAL


def _complete(arguments: list[str]) -> int:
    """What the shell asks for at a Tab."""
    try:
        carob.main(arguments, prog_name="carob", complete_var=COMPLETE, standalone_mode=False)
    except SystemExit as ended:
        return int(ended.code or 0)
    return ExitCode.OK


def print_error(text: str) -> None:
    """Say what is wrong. A message may quote a file, an address or an agent: nothing in it may steer the terminal, and
    no password of an address is shown.
    """
    from carob.redaction.redactor import Redactor
    from carob.text.wording import visible

    click.echo("\n".join(map(visible, Redactor().text(text).split("\n"))), err=True)


def _is_nowhere() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False
