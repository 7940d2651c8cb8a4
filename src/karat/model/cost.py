"""The cost of a turn: as reported by the target, or computed from its tokens."""

from __future__ import annotations

import math
from collections.abc import Mapping

from karat.model.trace import Tokens

COST = "cost_usd"
"""The metadata key of a trace that holds its cost in US dollars."""
MILLION = 1_000_000


def reported_cost(metadata: Mapping[str, object]) -> float | None:
    """What whoever answered said that it cost."""
    reported = metadata.get(COST)
    if isinstance(reported, bool) or not isinstance(reported, int | float):
        return None
    return float(reported) if math.isfinite(reported) and reported >= 0 else None


def cost_usd(metadata: Mapping[str, object], tokens: Tokens | None, prices: tuple[float, float] | None) -> float | None:
    """Return the reported cost, else that of the tokens at these prices in USD per million, else None."""
    reported = reported_cost(metadata)
    if reported is not None or prices is None or tokens is None or tokens.input is None or tokens.output is None:
        return reported
    return round((tokens.input * prices[0] + tokens.output * prices[1]) / MILLION, 12)
