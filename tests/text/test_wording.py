"""Figures as people read them."""

from __future__ import annotations

import pytest

from carob.features.check.report import interval_words
from carob.scoring.intervals import Estimate
from carob.terminal.bar import span
from carob.text.wording import dollars, percent, visible


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (dollars(12.3), "$12.30"),
        (dollars(1234.5), "$1,234.50"),
        (dollars(0.0123), "$0.0123"),
        (dollars(0.00001), "under $0.0001"),
        (dollars(0), "$0.0000"),
        (percent(1), "100%"),
        (percent(0), "0%"),
        (percent(0.99999), "99.9%"),
        (percent(0.00001), "0.1%"),
        (visible("a\n\x1b\ud83d"), "a\\n\\x1b\\ud83d"),
        (visible("a\u3164b\U000e0100"), "a\\u3164b\\U000e0100"),
        (visible("naïve 👩\u200d👧"), "naïve 👩\u200d👧"),
        (span(119), "119s"),
        (span(720), "12m"),
        (span(3 * 3600), "3h"),
        (interval_words(None), "–"),
        (interval_words(Estimate(0.03, 0.022, 0.04)), "3% (2.2% to 4%)"),
    ],
)
def test_a_figure_is_no_more_exact_than_it_says(words: str, expected: str) -> None:
    assert words == expected
