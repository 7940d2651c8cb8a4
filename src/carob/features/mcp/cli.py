"""`carob mcp`"""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--allow-run", is_flag=True, help="Also let it run cases against the targets in carob.toml.")
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="The project (default: this folder). Files outside it are not read.",
)
def command(allow_run: bool, root: Path | None) -> None:
    """Let a coding agent use Carob: an MCP server on stdin and stdout, for the project in this folder.

    Without --allow-run, it only reads: it explains failures, lists suites and cases, validates, lints and audits.
    It needs the extra "mcp"; without it, this command prints what installs it. `carob help mcp` shows how agents are
    configured.

    \b
    Examples:
      carob mcp
      carob mcp --allow-run
      carob mcp --root checkout-agent
    """
    from carob.features.mcp.project import serve_project

    serve_project((root or Path()).resolve(), allow_run=allow_run)
