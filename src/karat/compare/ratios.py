"""Quantities of two runs by their ratio: sums alone are kept, so that a million cases take no room."""

from __future__ import annotations

import math

from karat.compare.stats import t_quantile
from karat.model.comparison import Bounds, Measure


class Ratio:
    """How often the new run takes what the base takes, over the cases of which both are known."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._cases = 0
        self._base = self._new = self._base_squares = self._new_squares = self._products = 0.0

    def add(self, base: float, new: float) -> None:
        self._cases += 1
        self._base += base
        self._new += new
        self._base_squares += base * base
        self._new_squares += new * new
        self._products += base * new

    def measure(self, confidence: float) -> Measure:
        cases = self._cases
        return Measure(
            name=self._name,
            cases=cases,
            base=self._base / cases,
            new=self._new / cases,
            ratio=self._bounds(confidence) if self._base > 0 and self._new > 0 else None,
        )

    def _bounds(self, confidence: float) -> Bounds:
        """By the spread of what each case is off the ratio, on a scale on which twice and half are equally far."""
        cases, ratio = self._cases, self._new / self._base
        if cases < 2:
            return Bounds(ratio, 0.0, math.inf)
        squares = self._new_squares - 2 * ratio * self._products + ratio * ratio * self._base_squares
        error = math.sqrt(max(squares, 0.0) * cases / (cases - 1)) / self._new
        spread = math.exp(t_quantile(confidence, cases - 1) * error)
        return Bounds(ratio, ratio / spread, ratio * spread)
