"""`carob init --inspect`"""

from __future__ import annotations

import click

from carob.cli.options import assignments
from carob.errors import ExitCode


@click.command()
@click.argument("where", metavar="URL|TARGET")
@click.option(
    "--prompt",
    "prompts",
    multiple=True,
    metavar="TEXT",
    help="The prompt to send (default: a greeting). A service takes several: one that uses a tool, one where it fails.",
)
@click.option("--name", metavar="NAME", help="Name of the target.")
@click.option("--as", "kind", metavar="KIND", help="The kind of service at the URL, if Carob guesses wrong.")
@click.option(
    "-o",
    "--option",
    "options",
    multiple=True,
    callback=assignments,
    metavar="KEY=VALUE",
    help="An option of the target that you already know, such as `steps` for a login.",
)
@click.option("--write", is_flag=True, help="Add the target to carob.toml instead of printing it.")
def command(
    where: str, prompts: tuple[str, ...], name: str | None, kind: str | None, options: dict[str, object], write: bool
) -> int:
    """Inspect an agent that has no target yet: show what Carob sees of it, and write a target that works.

    Carob sends the prompt once to see the answer, and again to test the target; a service gets a second prompt too.
    What Carob saw goes to stderr, the target to stdout; --write adds it to carob.toml and changes nothing else there.

    \b
    Examples:
      carob init --inspect langgraph:my_graph.py:graph
      carob init --inspect langgraph:my_graph.py:graph --name desk >> carob.toml

    \b
    Of a web app:
      carob init --inspect http://127.0.0.1:8000 --prompt "What can you do?" --write
      carob init --inspect browser:app --prompt Hi -o start="./serve --port {port}"

    \b
    Of a service:
      carob init --inspect http://127.0.0.1:8080/chat --prompt "Where is A-17?" --prompt "And B-99?"
    """
    from carob.cli.main import print_error
    from carob.features.setup.library import add_target, inspect

    inspection = inspect(where, prompt=prompts, name=name, kind=kind, options=options)
    for label, lines in inspection.sightings:
        for number, line in enumerate(lines):
            print_error(f"{label if not number else '':<22} {line}".rstrip())
    if not inspection.works:
        print_error(
            f"carob: no target was written: {inspection.problem}."
            " Add options with -o; see `carob init --inspect --help`."
        )
        return ExitCode.FAILED
    if write:
        print_error(f"added [targets.{inspection.name}] to {add_target(inspection)}")
    else:
        click.echo(inspection.toml)
    return ExitCode.OK
