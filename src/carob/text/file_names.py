"""A file that is not there: which one next to its place was meant."""

from __future__ import annotations

import os
from itertools import islice

from carob.text.wording import likeness, visible

ALIKE = 0.8
MOST = 1000
"""As many files of a folder are looked at."""


def suggest_file(path: str) -> str:
    """How to correct the name of a file that is missing; `policy.yaml` may be meant as `policy.carob.yaml`."""
    folder, name = os.path.split(path)
    try:
        with os.scandir(folder or ".") as entries:
            there = [entry.name for entry in islice(entries, MOST)]
    except (OSError, ValueError):
        return "Check the path."
    stem = _stem(name)
    best = max(there, key=lambda other: (likeness(stem, _stem(other)), likeness(name, other)), default="")
    if likeness(stem, _stem(best)) < ALIKE:
        return "Check the path."
    return f"Did you mean '{visible(os.path.join(folder, best))}'?"


def _stem(name: str) -> str:
    """A name up to its first dot, as `carob draft` and `carob init` add endings to it; a hidden file has one before."""
    return name[:1] + name[1:].partition(".")[0]
