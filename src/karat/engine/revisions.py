"""The git commit of a folder or a file, if there is one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from karat.model.run import Revision

PATIENCE = 5.0
MOST_TAGS = 20
# Nothing that a repository configures is run, and nothing in it is written.
_GIT = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-optional-locks")


def revision(directory: Path) -> Revision | None:
    """The state of a folder's tracked files, or of one file; None if git does not know it."""
    folder, name = (directory, "") if directory.is_dir() else (directory.parent, directory.name)
    asked = ["--", f"./{name}"] if name else ["--untracked-files=no"]
    status = _git(folder, "status", "--porcelain=v2", "--branch", *asked)
    lines = status.splitlines() if status else []
    commit = next((line.split()[2] for line in lines if line.startswith("# branch.oid ")), "")
    if not commit or commit == "(initial)":
        return None
    tags = _git(folder, "tag", "--points-at", "HEAD") or ""
    dirty = any(not line.startswith("#") for line in lines)
    return Revision(commit, dirty, tuple(tags.split()[:MOST_TAGS]))


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        completed = subprocess.run(
            [*_GIT, "-C", str(folder), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return completed.stdout.decode(errors="replace") if completed.returncode == 0 else None
