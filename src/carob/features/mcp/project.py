"""The MCP server, and how it starts: in the folder of the project, with the secrets of its configuration."""

from __future__ import annotations

import os
from pathlib import Path

from carob.api import find_config
from carob.engine.rescoring import configured_redactor
from carob.errors import UsageError
from carob.system.installing import install_extra


def serve_project(root: Path, *, allow_run: bool) -> None:
    """Serve a project until stdin ends."""
    try:
        import anyio  # both need the extra

        from carob.features.mcp.serving import build_server, serve
    except ImportError as error:
        raise UsageError(
            f"the MCP server needs {error.name}.",
            fix=f"Install the extra: {install_extra('mcp')}.",
            slug="missing-extra",
        ) from error
    os.chdir(root)
    anyio.run(serve, build_server(root, configured_redactor(find_config()), allow_run=allow_run))
