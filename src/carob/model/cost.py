"""The cost of a turn: as reported by the target, or computed from its tokens."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct

from carob.model.trace import Tokens

COST = "cost_usd"
"""The metadata key of a trace that holds its cost in US dollars."""
MILLION = 1_000_000
NANO = 10**9
"""Costs are added up in whole billionths: a sum of floats depends on the order in which cases happen to finish."""
TokenPrices: TypeAlias = tuple[float, float]
"""What a million tokens cost in dollars, those that go in and those that come out."""


def reported_cost(metadata: Mapping[str, object]) -> float | None:
    """What whoever answered said that it cost."""
    reported = metadata.get(COST)
    if isinstance(reported, bool) or not isinstance(reported, int | float):
        return None
    return float(reported) if math.isfinite(reported) and reported >= 0 else None


def cost_usd(metadata: Mapping[str, object], tokens: Tokens | None, prices: TokenPrices | None) -> float | None:
    """Return the reported cost, else that of the tokens at these prices in USD per million, else None."""
    reported = reported_cost(metadata)
    if reported is not None or prices is None or tokens is None or tokens.input is None or tokens.output is None:
        return reported
    return round((tokens.input * prices[0] + tokens.output * prices[1]) / MILLION, 12)


class Spent(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What runs of cases took, added up; what tokens cost is only known where the prices are.

    `counted` of the `runs` say their tokens, `reported` what they cost. Of those that report no cost, `unreported` say
    both the tokens that go in and those that come out.
    """

    runs: int = 0
    counted: int = 0
    input: int = 0
    output: int = 0
    reported: int = 0
    nanodollars: int = 0
    unreported: int = 0
    unreported_input: int = 0
    unreported_output: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})

    def cost_usd(self, prices: TokenPrices | None) -> float | None:
        """What is known of the cost; None if nothing is."""
        priced = self.unreported if prices else 0
        if not self.reported + priced:
            return None
        tokens = (self.unreported_input * prices[0] + self.unreported_output * prices[1]) / MILLION if prices else 0.0
        return round(self.nanodollars / NANO + tokens, 9)

    def count_unknown(self, prices: TokenPrices | None) -> int:
        """Runs of which the cost is not known."""
        return self.runs - self.reported - (self.unreported if prices else 0)


NOTHING_SPENT = Spent()
ONE_RUN = Spent(runs=1)


def count_spent(tokens: Tokens | None, reported: object) -> Spent:
    """What one run took, by what its trace says."""
    cost = reported_cost({COST: reported})
    if tokens is None and cost is None:
        return ONE_RUN
    into, out = (max(tokens.input or 0, 0), max(tokens.output or 0, 0)) if tokens else (0, 0)
    is_counted = tokens is not None and (tokens.input is not None or tokens.output is not None)
    is_complete = tokens is not None and tokens.input is not None and tokens.output is not None and cost is None
    return Spent(
        runs=1,
        counted=int(is_counted),
        input=into,
        output=out,
        reported=int(cost is not None),
        nanodollars=round((cost or 0.0) * NANO),
        unreported=int(is_complete),
        unreported_input=into if is_complete else 0,
        unreported_output=out if is_complete else 0,
    )
