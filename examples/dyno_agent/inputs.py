"""From the words that a model puts into a tool call to values that the lab works with."""

from collections.abc import Sequence
from datetime import date

from dyno_agent.policy import DRIVES, MAX_BOOKING_DAYS, STATUSES, TEST_TYPES, WEIGHT_CLASSES, is_plausible
from dyno_agent.results import InputProblem, failed, missing, shown
from dyno_agent.rules import Window


def require(**given: object) -> None:
    """Every one of these arguments is needed."""
    absent = [name for name, value in given.items() if value in (None, "")]
    if absent:
        raise InputProblem(missing(absent))


def read_day(name: str, value: str) -> date:
    problem = InputProblem(failed(f"Invalid date: {name} is {shown(value)!r}, write it as YYYY-MM-DD."))
    try:
        day = date.fromisoformat(value)
    except ValueError as error:
        raise problem from error
    if not is_plausible(day):
        raise problem
    return day


def read_window(start_date: str, end_date: str | None) -> Window:
    """The days asked for; without an end the first day alone."""
    first = read_day("start_date", start_date)
    window = Window(first, read_day("end_date", end_date) if end_date else first)
    if window.last < window.first:
        raise InputProblem(failed(f"Invalid dates: the end {window.last} is before the start {window.first}."))
    return window


def read_optional_window(start_date: str | None, end_date: str | None) -> Window:
    """A period whose ends may both be open."""
    first = read_day("start_date", start_date) if start_date else date.min
    window = Window(first, read_day("end_date", end_date) if end_date else date.max)
    if window.last < window.first:
        raise InputProblem(failed(f"Invalid dates: the end {window.last} is before the start {window.first}."))
    return window


def read_booking_window(start_date: str, end_date: str | None, today: date) -> Window:
    """The days of a new booking: neither over already nor endless."""
    window = read_window(start_date, end_date)
    if window.first < today:
        raise InputProblem(failed(f"Invalid dates: {window.first} is in the past, today is {today}."))
    if (window.last - window.first).days >= MAX_BOOKING_DAYS:
        raise InputProblem(failed(f"Invalid dates: a test may take {MAX_BOOKING_DAYS} days at most."))
    return window


def read_test_type(value: str) -> str:
    return _known("test type", value, TEST_TYPES)


def read_drive(value: str) -> str:
    return _known("drive", value, DRIVES)


def read_weight_class(value: str) -> str:
    return _known("weight class", value, tuple(WEIGHT_CLASSES))


def read_status(value: str) -> str:
    return _known("status", value, STATUSES)


def _known(noun: str, value: str, choices: Sequence[str]) -> str:
    for choice in choices:
        if choice.casefold() == value.strip().casefold():
            return choice
    raise InputProblem(failed(f"Invalid {noun}: {shown(value)!r}. Known are {', '.join(choices)}."))
