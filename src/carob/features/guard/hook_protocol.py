"""What a hook and the coding agent that starts it agree on."""

from __future__ import annotations

from typing import Final

OK, BLOCK = 0, 2
DEADLINE: Final = 8
"""Seconds, less than hosts wait: one that gives up on a hook makes the call."""
LARGEST_EVENT: Final = 16 << 20
