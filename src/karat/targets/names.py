"""The nearest known name, for messages about an unknown one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

LONGEST = 64
"""Names longer than this are nobody's typing error, and comparing them costs time."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence naming the nearest known name, or the empty string."""
    if len(name) > LONGEST:
        return ""
    lowered = {candidate.lower(): candidate for candidate in known}
    near = get_close_matches(name.lower(), list(lowered), n=1, cutoff=0.6)
    return f"Did you mean '{lowered[near[0]]}'?" if near else ""
