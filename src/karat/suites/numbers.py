"""Which numbers a journal can hold."""

from __future__ import annotations

import math

OUT_OF_RANGE = "the number does not fit in 64 bits. Write it as a string."


def holds(number: int | float) -> bool:
    return math.isfinite(number) if isinstance(number, float) else -(1 << 63) <= number < 1 << 64
