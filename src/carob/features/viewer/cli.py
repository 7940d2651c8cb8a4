"""`carob view`"""

from __future__ import annotations

from pathlib import Path

import click

from carob.cli.options import PATH, PORTS
from carob.errors import ExitCode


@click.command()
@click.argument("folder", required=False, type=PATH)
@click.option("--port", type=PORTS, default=8642, metavar="N", help="Port to listen on; 0 for any free port.")
@click.option("--no-browser", is_flag=True, help="Print the address, but do not open a browser.")
@click.option("--label", metavar="NAME", default="", help="Let NAME label criteria and review checks in the pages.")
def command(folder: Path | None, port: int, no_browser: bool, label: str) -> int:
    """Show runs in a browser: every case with its conversation, its tool calls and its checks.

    FOLDER is a folder of journals, one journal, @last, or that of a guard; by default, the results of this folder. The
    pages are only available on this machine, and read-only without --label. A run in progress updates itself. Ctrl-C
    ends the viewer.

    \b
    Examples:
      carob view
      carob view carob-results/checkout-20260101T090000Z.jsonl --port 0
      carob view --label ana
    """
    from carob.features.viewer import library

    viewer = library.open_viewer(folder, port=port, label=label)
    click.echo(f"{viewer.address}\nCtrl-C ends it.")
    if not no_browser:
        viewer.open_browser(lambda words: click.echo(f"carob: {words}", err=True))
    try:
        viewer.run()
    except KeyboardInterrupt:
        click.echo("")
    return ExitCode.OK
