"""The grammar of dates: whatever is written in one of its forms is read back as the same day."""

from collections.abc import Callable
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dyno_agent.language.dates import find_mentions
from dyno_agent.language.periods import Period, read_period
from dyno_agent.language.request import read_request
from dyno_agent.rules import Window

MONDAY = date(2026, 3, 2)
MONTHS = "January February March April May June July August September October November December"


def month(day: date) -> str:
    return MONTHS.split()[day.month - 1]


FORMS: dict[str, Callable[[date], str]] = {
    "iso": lambda day: day.isoformat(),
    "iso with slashes": lambda day: f"{day.year}/{day.month}/{day.day}",
    "month first": lambda day: f"{month(day)} {day.day}, {day.year}",
    "short month first": lambda day: f"{month(day)[:3]} {day.day} {day.year}",
    "day first": lambda day: f"{day.day} {month(day)} {day.year}",
    "ordinal": lambda day: f"{day.day}th of {month(day)} {day.year}",
    "dotted": lambda day: f"{day.day:02}.{day.month:02}.{day.year}",
}
days = st.dates(date(2020, 1, 1), date(2035, 12, 31))
forms = st.sampled_from(sorted(FORMS))


@given(days, forms)
def test_a_day_is_read_back(day: date, form: str) -> None:
    (mention,) = find_mentions(f"book it on {FORMS[form](day)}, please", MONDAY)
    assert mention.window == Window(day, day)


@given(days, st.integers(0, 40), forms, forms)
def test_a_range_is_read_back(first: date, length: int, one: str, other: str) -> None:
    last = first + timedelta(days=length)
    assert read_period(f"from {FORMS[one](first)} to {FORMS[other](last)}", MONDAY) == Period(first, last)


@given(days)
def test_a_slashed_date_is_never_guessed(day: date) -> None:
    (mention,) = find_mentions(f"{day.day:02}/{day.month:02}/{day.year}", MONDAY)
    if day.day > 12 or day.day == day.month:
        assert mention.window == Window(day, day)
    else:
        assert mention.either == (date(day.year, day.day, day.month), day)


@given(st.text(max_size=200))
def test_no_text_breaks_the_grammar(text: str) -> None:
    read_request(text, MONDAY)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("today", "2026-03-02", None),
        ("day after tomorrow", "2026-03-04", None),
        ("in ten days", "2026-03-12", None),
        ("2 weeks from now", "2026-03-16", None),
        ("this Friday", "2026-03-06", None),
        ("Monday", "2026-03-09", None),
        ("next week", "2026-03-09", "2026-03-15"),
        ("last month", "2026-02-01", "2026-02-28"),
        ("during December", "2026-12-01", "2026-12-31"),
        ("February 2024", "2024-02-01", "2024-02-29"),
        ("Jan 5", "2027-01-05", None),
        ("12-14 March", "2026-03-12", "2026-03-14"),
        ("March 12th through 14th", "2026-03-12", "2026-03-14"),
        ("2026-03-12 for five days", "2026-03-12", "2026-03-16"),
        ("a 3-day test from 2026-03-12", "2026-03-12", "2026-03-14"),
        ("for one week from 2026-03-12", "2026-03-12", "2026-03-18"),
        ("until 2026-03-12", None, "2026-03-12"),
        ("it may march on", None, None),
        ("vehicle 42 of 4800 lbs", None, None),
    ],
)
def test_periods(text: str, first: str | None, last: str | None) -> None:
    period = read_period(text, MONDAY)
    assert (period.first and str(period.first), period.last and str(period.last)) == (first, last)
    assert period.question is None


def test_a_date_without_a_year_lies_on_the_likely_side() -> None:
    assert read_period("March 1", MONDAY).first == date(2027, 3, 1)
    assert read_period("March 1", MONDAY, past=True).first == date(2026, 3, 1)
    assert read_period("March 3", MONDAY, past=True).first == date(2025, 3, 3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("03/04/2026", "do you mean 4 March 2026 (2026-03-04) or 3 April 2026 (2026-04-03)?"),
        ("next Friday", "do you mean 6 March 2026 (2026-03-06) or 13 March 2026 (2026-03-13)?"),
        ("2026-02-29", "'2026-02-29' is not a valid date"),
        ("32 March", "'32 March' is not a valid date"),
        ("9999-12-31 for 10 days", "'9999-12-31' is not a valid date"),
        ("31.02.2026", "'31.02.2026' is not a valid date"),
    ],
)
def test_what_cannot_be_told_is_asked(text: str, words: str) -> None:
    assert words in (read_period(text, MONDAY).question or "")
