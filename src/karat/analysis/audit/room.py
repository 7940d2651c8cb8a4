"""Budgets with room: a figure that one run took is not a bound for the next."""

from __future__ import annotations

import math

TIMES = 3


def round_up(value: float) -> float | int:
    """The next number that people would choose: 1, 2, 5, 10, 20, 50, ..."""
    size = 10.0 ** math.floor(math.log10(value)) if value > 0 else 1.0
    chosen = next(step * size for step in (1, 2, 5, 10) if step * size >= value * 0.999999)
    return int(chosen) if chosen >= 1 else float(f"{chosen:.6g}")


def with_room(value: float) -> float | int:
    """A bound for what was seen once."""
    return round_up(value * TIMES)
