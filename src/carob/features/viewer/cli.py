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
def command(folder: Path | None, port: int, no_browser: bool) -> int:
    """Show runs in a browser: every case with its conversation, its tool calls and its checks.

    FOLDER is a folder of journals, one journal, or that of a guard; by default, the results of this folder. The pages
    are read-only and only available on this machine. A run in progress updates itself. Ctrl-C ends the viewer.

    \b
    Examples:
      carob view
      carob view carob-results/checkout-20260101T090000Z.jsonl --port 0
    """
    from carob.features.viewer import library

    viewer = library.open_viewer(folder, port=port)
    click.echo(f"{viewer.address}\nCtrl-C ends it.")
    if not no_browser:
        viewer.open_browser(lambda words: click.echo(f"carob: {words}", err=True))
    try:
        viewer.run()
    except KeyboardInterrupt:
        click.echo("")
    return ExitCode.OK
