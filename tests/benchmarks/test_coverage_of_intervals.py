"""Intervals hold the true rate as often as docs/statistics.md says."""

from __future__ import annotations

import pytest

from benchmarks.intervals import DESIGNS, RATES, Design, coverage

TRIALS = 150
LEAST = 0.94
MARGIN = 0.045
"""More than two standard errors of so few trials; the table of the docs has 2,000."""


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_an_interval_holds_the_true_rate(design: Design) -> None:
    rates = {rate: coverage(design, rate, TRIALS) for rate in RATES[1::2]}
    assert {rate: share for rate, share in rates.items() if share < LEAST - MARGIN} == {}
