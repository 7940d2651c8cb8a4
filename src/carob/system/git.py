"""Asking git about a folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

TIMEOUT: Final = 5.0
# Nothing that a repository configures is run, and nothing in it is written.
_GIT: Final = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-optional-locks")


def ask_git(folder: Path, *arguments: str) -> bytes | None:
    """What git prints; None if it fails, is not there or takes too long."""
    command, environ = [*_GIT, "-C", str(folder), *arguments], {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT, check=False, env=environ
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None
