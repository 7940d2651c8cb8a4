"""An environment of its own for each counterpart: software of others as PyPI or npm have it, never among ours."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("CAROB_COUNTERPARTS", ROOT / ".counterparts"))
UV = os.environ.get("UV") or str(ROOT / ".tools" / "bin" / "uv")


def python_with(name: str, *requirements: str) -> Path:
    """The Python of the environment `name`, which has these requirements; made where it is not there or differs."""
    folder = FOLDER / name
    wanted, stamp = "\n".join(requirements), folder / "requirements.txt"
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.is_file() or stamp.read_text() != wanted:
            _uv("venv", "--clear", "--python", sys.executable, str(folder))
            _uv("pip", "install", "--python", str(folder / "bin" / "python"), *requirements)
            stamp.write_text(wanted)
    return folder / "bin" / "python"


def install_by_npm(folder: Path, *packages: str) -> None:
    """Put packages of npm beside the scripts of a folder, which is where Node looks for them."""
    if shutil.which("npm") is None:
        pytest.skip("no npm: apt-get install nodejs npm")
    subprocess.run(["npm", "install", "--silent", "--no-audit", *packages], cwd=folder, check=True)


def _uv(*arguments: str) -> None:
    done = subprocess.run([UV, *arguments, "--quiet"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"uv {' '.join(arguments)}: {done.stderr}"
