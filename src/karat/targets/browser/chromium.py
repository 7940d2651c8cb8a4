"""Finding a browser that can be driven, and saying how to get one where there is none."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from karat.errors import ConfigError
from karat.text.wording import shorten, visible

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
HOW = "On Debian: apt-get install chromium-headless-shell. Elsewhere: playwright install chromium-headless-shell."
# Without a network of its own the browser must not phone home, and in containers it has little shared memory.
ARGUMENTS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


_PRINTED = re.compile(r"^.*?\[pid=\d+\]\[err\] (.*)$", re.M)
LONGEST = 300


def find(configured: str, own: str) -> str:
    """The browser to start: the configured one, else Debian's, else Playwright's own."""
    if configured:
        found = shutil.which(configured)
        if found is None:
            raise ConfigError(f"there is no browser at {configured}.", fix=HOW, slug="no-browser")
        return found
    on_path = next((path for name in NAMES if (path := shutil.which(name))), None)
    if on_path:
        return on_path
    if Path(own).exists():
        return own
    raise ConfigError("no browser was found.", fix=HOW, slug="no-browser")


def refusal(told: str) -> str:
    """Why a browser did not start, in one line: what it printed, else the first that its driver says."""
    printed = " ".join(" ".join(dict.fromkeys(_PRINTED.findall(told))).split())  # it is told twice
    return visible(shorten(printed or told.strip().split("\n", 1)[0], LONGEST)).rstrip(".")


def arguments() -> list[str]:
    """Root may not use Chromium's sandbox."""
    return [*ARGUMENTS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
