"""The library of the viewer: what `carob` offers of it in Python."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from carob.api import find_config
from carob.engine.rescoring import (
    default_results_dir,
    find_run,
)

if TYPE_CHECKING:
    from carob.features.viewer.serving import ViewerServer


def open_viewer(folder: str | Path | None = None, *, port: int = 0, label: str = "") -> ViewerServer:
    """Web pages over journals, for a browser on this machine: `run` answers, `stop` ends, `address` has the token.

    `label`: the person who labels and reviews in them; without one they are read-only.
    """
    from carob.features.viewer.serving import viewer_of

    config = find_config()
    usual = default_results_dir("suite.json", config)
    if str(folder or "").startswith("@"):
        folder = find_run(str(folder), config.project)
    return viewer_of(None if folder is None else Path(folder), usual, port, os.environ, config.project, label)
