"""What a target can bear: a module of its own, for who reads a configuration and opens no target."""

from __future__ import annotations

from msgspec import Struct

FOREVER = 1e9
"""Seconds; JSON knows no infinity."""


class Limits(Struct, frozen=True, omit_defaults=True):
    """What a target can bear. None: no limit of its own."""

    max_concurrency: int | None = None
    per_minute: float | None = None
    why: str = ""
    """Why no more cases may run at once, if the target itself says so."""
    max_per_worker: int | None = None
    """How many cases may run at once in each process, where each has an agent of its own."""
    max_workers: int | None = None
    """In how many processes the target can be open at once."""
    why_workers: str = ""
