"""`carob tape`"""

from __future__ import annotations

import click

from carob.errors import ExitCode


@click.group()
def command() -> None:
    """Show and check the tapes of `carob run --tape record`, which `carob run --tape replay` plays.

    \b
    Examples:
      carob tape show shop.tape.yaml --case refund
      carob tape check shop.carob.yaml
      carob tape scan shop.tape.yaml
      carob tape seal shop.tape.yaml
    """


@command.command(short_help="Read a tape.")
@click.argument("tape")
@click.option("--case", help="Only the exchanges of this case, with requests and answers.")
def show(tape: str, case: str | None) -> int:
    """Print one line for each exchange; with --case, the last words that were sent and the answer."""
    from carob.api import read_tape
    from carob.text.wording import pluralize, visible

    recorded = read_tape(tape)
    exchanges = [exchange for exchange in recorded.exchanges if case in (None, exchange.case)]
    for exchange in exchanges:
        repeat = f" (repeat {exchange.repeat})" if exchange.repeat else ""
        click.echo(
            visible(f"{exchange.case}{repeat}  {exchange.request.title}  {exchange.answer.status}  {exchange.recorded}")
        )
        if case is not None:
            click.echo(visible(f"  asked     {exchange.request.gist}"))
            click.echo(visible(f"  answered  {exchange.answer.gist}"))
    if not exchanges and case is not None:
        click.echo(f"carob: no exchange of the case {visible(case)!r} is on the tape.", err=True)
        return ExitCode.NOTHING_SELECTED
    cases = {exchange.case for exchange in exchanges}
    click.echo(f"{pluralize(len(exchanges), 'exchange')} of {pluralize(len(cases), 'case')}")
    return ExitCode.OK


@command.command(short_help="Compare tapes with their suites.")
@click.argument("suites", nargs=-1, required=True, metavar="SUITE...")
def check(suites: tuple[str, ...]) -> int:
    """Find recordings of cases that a suite no longer has, cases without a recording, and recordings that expired."""
    from carob.api import check_tape, find_project, load_file
    from carob.text.wording import pluralize, visible

    sound, project = True, find_project()
    for name in suites:
        report = check_tape(load_file(name, project))
        sound = sound and report.is_sound
        for problem, cases in (
            ("not in the suite", report.orphans),
            ("not on the tape", report.missing),
            ("expired", report.expired),
        ):
            for case in cases:
                click.echo(visible(f"{report.path.name}: {case}: {problem}"))
        click.echo(f"{visible(report.path.name)}: {pluralize(report.exchanges, 'exchange')}")
    return ExitCode.OK if sound else ExitCode.FAILED


@command.command(short_help="Find secrets on tapes.")
@click.argument("tapes", nargs=-1, required=True, metavar="TAPE...")
def scan(tapes: tuple[str, ...]) -> int:
    """Find secrets: values of `secrets` and of variables such as `*_API_KEY`, and what has the form of a key.

    None is printed. The exit code is 1 if a tape holds one, so that CI keeps it out of a repository.
    """
    from carob.api import scan_tape
    from carob.text.wording import pluralize, visible

    count = 0
    for tape in tapes:
        for leak in scan_tape(tape):
            count += 1
            click.echo(visible(f"{tape}: {leak.case}: exchange {leak.number}, {leak.part}: {leak.why}"))
    click.echo(f"{pluralize(count, 'secret')} on {pluralize(len(tapes), 'tape')}")
    return ExitCode.FAILED if count else ExitCode.OK


@command.command(short_help="Accept a tape that was edited by hand.")
@click.argument("tape")
def seal(tape: str) -> int:
    """Accept what was edited by hand: without it, a tape that was changed is refused."""
    from carob.api import seal_tape
    from carob.text.wording import pluralize

    click.echo(f"{pluralize(seal_tape(tape), 'edited exchange')} accepted")
    return ExitCode.OK


@command.command(short_help="Record an MCP server that uses stdio.")
@click.argument("name")
@click.argument("server", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
def stdio(name: str, server: tuple[str, ...]) -> int:
    """Be the MCP server that COMMAND starts, for an agent that is on a tape.

    Give it to the agent in place of the command: without a tape it is the server itself.

    \b
    Example:
      carob tape stdio orders -- python orders_server.py
    """
    import os

    from carob.api import serve_stdio

    return serve_stdio(name, server, os.environ)
