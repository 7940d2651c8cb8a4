"""What a turn cost: what was told of it, or what its tokens come to."""

from __future__ import annotations

import math
from collections.abc import Mapping

from karat.model.trace import Tokens

COST = "cost_usd"
"""Where the metadata of a trace tells what it cost, in US dollars."""
MILLION = 1_000_000


def told_cost(metadata: Mapping[str, object]) -> float | None:
    """What whoever answered said that it cost."""
    told = metadata.get(COST)
    if isinstance(told, bool) or not isinstance(told, int | float):
        return None
    return float(told) if math.isfinite(told) and told >= 0 else None


def cost_usd(metadata: Mapping[str, object], tokens: Tokens | None, prices: tuple[float, float] | None) -> float | None:
    """What was told; else what the tokens cost at these prices in USD per million, input and output; else not known."""
    told = told_cost(metadata)
    if told is not None or prices is None or tokens is None or tokens.input is None or tokens.output is None:
        return told
    return round((tokens.input * prices[0] + tokens.output * prices[1]) / MILLION, 12)
