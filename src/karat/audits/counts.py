"""Killed out of tried."""

from __future__ import annotations

from dataclasses import dataclass

from karat.model.audit import Rate
from karat.repeats import wilson

DIGITS = 4


@dataclass
class Count:
    """A tally of mutants."""

    killed: int = 0
    tried: int = 0

    def add(self, killed: int, tried: int = 1) -> None:
        self.killed += killed
        self.tried += tried

    @property
    def rate(self) -> Rate:
        interval = wilson(self.killed, self.tried)
        return Rate(self.killed, self.tried, round(interval.low, DIGITS), round(interval.high, DIGITS))
